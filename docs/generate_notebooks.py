"""Write notebooks, and the pages that show them, from scripts in examples/.

python docs/generate_notebooks.py          # write docs/notebooks: NAME.ipynb and NAME.md
python docs/generate_notebooks.py --check  # exit 1 if one of them is not current
python docs/generate_notebooks.py --run [NAME ...]  # run these scripts, or all, for what they print
                                                    # and draw, then write

A script is in cells: `# %%` begins one of code, `# %% [markdown]` one of text. What it prints is
kept in docs/notebooks/printed.json, its figures in docs/pictures/notebooks. The scripts are run by
tests/agents/test_examples.py.
"""

import contextlib
import io
import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
EXAMPLES, PAGES = DOCS.parent / "examples", DOCS / "notebooks"
PICTURES, PRINTED = DOCS / "pictures" / "notebooks", PAGES / "printed.json"
# A tutorial's name, and its script.
NOTEBOOKS = {
    "first_policy": "train_and_judge.py",
    "design_review": "design_review.py",
    "own_scheme": "own_scheme.py",
    "flight_code": "flight_code.py",
    "wake_up": "wake_up.py",
}
SAVED = re.compile(r'savefig\("([\w.]+)"\)')

Cell = tuple[bool, str]  # whether it is code, and its text


def cells(script: str) -> list[Cell]:
    """The cells of an example."""
    text = (EXAMPLES / script).read_text("utf-8")
    found = []
    for part in re.split(r"^# %%", text, flags=re.MULTILINE)[1:]:
        kind, _, body = part.partition("\n")
        body = body.strip("\n")
        if "[markdown]" in kind:
            body = re.sub(r"^# ?", "", body, flags=re.MULTILINE)
        found.append(("[markdown]" not in kind, body))
    return found


def run(script: str) -> list[str]:
    """What each cell prints; its figures are copied."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    printed, home = [], Path.cwd()
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for is_code, body in cells(script):
                out = io.StringIO()
                if is_code:
                    with contextlib.redirect_stdout(out):
                        exec(compile(body, script, "exec"), namespace)
                printed.append(out.getvalue())
        finally:
            os.chdir(home)
        for figure in Path(folder).glob("*.png"):
            (PICTURES / figure.name).write_bytes(figure.read_bytes())
    return printed


def page(script: str, printed: list[str]) -> str:
    """The notebook as Markdown. Blocks are `py`: tests run those of `python`, and the script."""
    parts = [f"<!-- made by docs/generate_notebooks.py from examples/{script} -->"]
    for (is_code, body), out in zip(cells(script), printed, strict=True):
        if not is_code:
            parts.append(body)
            continue
        parts.append(f"```py\n{body}\n```")
        if out:
            parts.append(f"prints\n\n```text\n{out.rstrip()}\n```")
        parts += [f"![{file}](../pictures/notebooks/{file})" for file in SAVED.findall(body)]
    name = next(name for name, one in NOTEBOOKS.items() if one == script)
    parts.append(
        f"As a notebook: [`docs/notebooks/{name}.ipynb`]({name}.ipynb); as a script: "
        f"[`examples/{script}`](../../examples/{script})."
    )
    return "\n\n".join(parts) + "\n"


def notebook(script: str, printed: list[str]) -> str:
    """The notebook as Jupyter reads it."""
    made = []
    for k, ((is_code, body), out) in enumerate(zip(cells(script), printed, strict=True)):
        cell: dict[str, Any] = {"id": f"cell-{k}", "metadata": {}, "source": body}
        if is_code:
            stream = {"output_type": "stream", "name": "stdout", "text": out}
            cell |= {"execution_count": None, "outputs": [stream] if out else []}
        made.append({"cell_type": "code" if is_code else "markdown", **cell})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def main(arguments: list[str]) -> int:
    """Write or check; the exit status."""
    if "--run" in arguments:
        found = json.loads(PRINTED.read_text("utf-8"))
        for name in arguments[1:] or NOTEBOOKS:
            found[NOTEBOOKS[name]] = run(NOTEBOOKS[name])
        PRINTED.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    printed = json.loads(PRINTED.read_text("utf-8"))
    stale = []
    for name, script in NOTEBOOKS.items():
        for made, ending in ((page, "md"), (notebook, "ipynb")):
            file, text = PAGES / f"{name}.{ending}", made(script, printed[script])
            if not file.is_file() or file.read_text("utf-8") != text:
                stale.append(file)
                if "--check" not in arguments:
                    file.write_text(text, "utf-8")
    if "--check" in arguments and stale:
        names = ", ".join(file.name for file in stale)
        print(f"{names} not current: run python docs/generate_notebooks.py --run")
    return int("--check" in arguments and bool(stale))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
