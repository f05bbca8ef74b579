"""The pages show the catalogue as it is, and their examples run and print what they say."""

import re
import subprocess
import sys
from dataclasses import fields

import pytest

import pages
import rbgym
from pages import ROOT
from rbgym import integrators, potentials
from rbgym.envs.arguments import Arguments

LINK = re.compile(r"\]\((?![a-z]+://)([^)#]*)#?([^)]*)\)")


def run(*arguments, **kwargs):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, **kwargs)


def test_an_outdated_page_fails_the_check(tmp_path):
    (tmp_path / "docs").mkdir()
    for page in ("docs/integrators.md", "docs/generate.py", "docs/measured.json"):
        (tmp_path / page).write_text((ROOT / page).read_text("utf-8"), "utf-8")
    page, script = tmp_path / "docs" / "integrators.md", str(tmp_path / "docs" / "generate.py")
    whole = page.read_text("utf-8")
    page.write_text(whole.replace("| [`quat_em`]", "| [`quat_me`]"), "utf-8")
    stale = run(script, "--check", cwd=tmp_path)
    assert stale.returncode == 1
    assert "integrators.md" in stale.stdout
    assert run(script, cwd=tmp_path).returncode == 0
    assert page.read_text("utf-8") == whole


@pytest.mark.parametrize(
    ("script", "check"),
    [*((f"generate{what}", True) for what in ("", "_controllers", "_integrators", "_satellites")),
     ("generate_tasks", True), ("generate_validation", ["--check"]),
     ("generate_notebooks", ["--check"])],
)  # fmt: skip
def test_the_pages_that_scripts_write_are_current(script, check, capsys, monkeypatch):
    monkeypatch.syspath_prepend(pages.DOCS)
    assert pages.loaded(script).main(check) == 0, capsys.readouterr().out


def test_every_integrator_has_equations_and_says_when_to_use_it():
    found = {file.stem: pages.text(file) for file in (ROOT / "docs" / "equations").iterdir()}
    assert set(found) == set(integrators.names())
    for said in found.values():
        assert "```math" in said.partition("## When to use it")[0]
        assert said.partition("## When to use it")[2].strip()


def test_the_version_to_cite_is_that_of_the_package():
    assert f"version: {rbgym.__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")


def test_the_reference_has_all_public_names():
    reference = "".join(file.read_text("utf-8") for file in (ROOT / "docs" / "api").iterdir())
    for name in set(rbgym.__all__) - set(potentials.__all__):
        assert re.search(rf"rbgym\.{name}\b", reference), name


def test_one_table_names_every_argument_of_a_task():
    rows = re.findall(r"^\| (`[^|]*`) \|", pages.text(pages.DOCS / "hooks.md"), re.MULTILINE)
    told = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert {field.name for field in fields(Arguments)} <= told


@pytest.mark.parametrize("page", pages.PAGES, ids=pages.name)
def test_links_to_files_and_headings_of_the_repository_lead_somewhere(page):
    for link, anchor in LINK.findall(pages.text(page)):
        target = page.parent / link if link else page
        assert target.exists(), link
        if anchor and target.suffix == ".md":
            assert anchor in headings(target), f"{link}#{anchor}"


def headings(page):
    """Anchors of the headings, as GitHub makes them."""
    found = re.findall(r"^#+ (.*)$", pages.text(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}
