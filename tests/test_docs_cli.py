"""The page of the command line is that of the commands."""

import importlib.util
from pathlib import Path

import pytest

pytest.importorskip("typer")

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = (DOCS / "cli.md").read_text("utf-8")


@pytest.fixture(scope="module")
def generate():
    spec = importlib.util.spec_from_file_location("generate_cli", DOCS / "generate_cli.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_of_the_commands_is_current(generate, capsys):
    assert generate.main(check=True) == 0, capsys.readouterr().out


def test_a_page_with_another_option_or_example_fails_the_check(
    generate, tmp_path, monkeypatch, capsys
):
    for old, new in (("`--dt <float>`", "`--step <float>`"), ("-i quat_em", "-i akw")):
        page = tmp_path / "cli.md"
        page.write_text(PAGE.replace(old, new), "utf-8")
        monkeypatch.setattr(generate, "PAGE", page)
        assert generate.main(check=True) == 1
        assert "is not current" in capsys.readouterr().out
        assert generate.main(check=False) == 0
        assert page.read_text("utf-8") == PAGE
