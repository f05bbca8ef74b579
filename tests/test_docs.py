"""The pages show the catalogue as it is, and their examples run and print what they say."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text("utf-8")
EXAMPLE = re.compile(r"```python\n(.*?)```\n(?:\nprints\n\n```text\n(.*?)```)?", re.DOTALL)
LINK = re.compile(r"\]\(([^)#]+)[^)]*\)")


def run(*arguments, **kwargs):
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, **kwargs
    )


def test_the_tables_of_integrators_are_current():
    done = run(str(ROOT / "docs" / "generate.py"), "--check", cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_outdated_page_fails_the_check(tmp_path):
    (tmp_path / "docs").mkdir()
    for page in ("README.md", "docs/integrators.md", "docs/generate.py", "docs/measured.json"):
        (tmp_path / page).write_text((ROOT / page).read_text("utf-8"), "utf-8")
    readme, script = tmp_path / "README.md", str(tmp_path / "docs" / "generate.py")
    readme.write_text(README.replace("| `quat_em`", "| `quat_me`"), "utf-8")
    stale = run(script, "--check", cwd=tmp_path)
    assert stale.returncode == 1
    assert "README.md" in stale.stdout
    assert run(script, cwd=tmp_path).returncode == 0
    assert readme.read_text("utf-8") == README


def test_the_readme_has_an_example_with_its_output():
    assert any(output for _, output in EXAMPLE.findall(README))


SHOWN = (
    "docs/actuators.md",
    "docs/controllers.md",
    "docs/rendering.md",
    "docs/rollouts.md",
    "docs/training.md",
)
PAGES = README + "".join((ROOT / page).read_text("utf-8") for page in SHOWN)


@pytest.mark.parametrize(("code", "output"), EXAMPLE.findall(PAGES))
def test_examples_run_and_print_what_the_pages_say(code, output, tmp_path):
    done = run("-W", "error", "-c", code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert not output or done.stdout == output


@pytest.mark.parametrize("page", ["README.md", "docs/integrators.md", *SHOWN])
def test_links_to_files_of_the_repository_lead_somewhere(page):
    file = ROOT / page
    for link in LINK.findall(file.read_text("utf-8")):
        assert "://" in link or (file.parent / link).exists(), link
