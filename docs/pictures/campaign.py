"""Fly the campaign of docs/campaign.md; write its table into the page, and its picture.

python docs/pictures/campaign.py
"""

import contextlib
import io
import re
import tempfile
from pathlib import Path

import yaml

from rbgym.agents import campaign
from rbgym.agents.campaigns import pictures
from rbgym.agents.judge import plots

PAGE = Path(__file__).resolve().parents[1] / "campaign.md"
BEGIN, END = "<!-- table:begin -->", "<!-- table:end -->"


def main() -> None:
    """Write both."""
    page = PAGE.read_text("utf-8")
    spread, require = map(yaml.safe_load, re.findall(r"```yaml\n(.*?)```", page, re.DOTALL))
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as told:
        report = campaign(
            "ReactionWheelSlew-v1", ["pd", "bang_bang"], 1280, folder, spread=spread,
            require=require, env_kwargs={"sensor": {"attitude": 2e-5, "rate": 1e-5}},
        )  # fmt: skip
        report.print()
        plots.save(
            pictures.envelope(report), PAGE.parent / "pictures" / "campaign" / "envelope.png"
        )
    table = told.getvalue().partition("requirements\n")[2].rstrip()
    before, rest = page.split(BEGIN)
    block = f"{BEGIN}\n\n```text\n{table}\n```\n\n{END}"
    PAGE.write_text(before + block + rest.split(END)[1], "utf-8")


if __name__ == "__main__":
    main()
