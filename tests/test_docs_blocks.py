"""Every Python block of every page runs and prints what the page says."""

import ast
import builtins
import contextlib
import importlib
import io
import os
import re
import subprocess
import sys

import pytest

import pages

pytestmark = pytest.mark.interpreted

pytest.importorskip("stable_baselines3")

RUN = [page for page in pages.PAGES if pages.blocks(page) and not pages.is_interpreted(page)]
# Pages whose blocks take thousands of steps, or derivatives; all others need no compiling.
COMPILED = {"README.md", *(f"docs/{name}.md" for name in (
    "campaign", "controllers", "derivatives", "libraries", "rendering", "rollouts", "satellites",
    "start", "testing", "training",
))}  # fmt: skip
MARKED = [
    pytest.param(page, id=name, marks=[pytest.mark.compiled] * (name in COMPILED))
    for page, name in zip(RUN, map(pages.name, RUN), strict=True)
]
INTERPRETED = [page for page in pages.PAGES if pages.is_interpreted(page)]
NEXT = "--- next block ---\n"
# Runs every argument as a program of its own.
EACH = f"""
def each(programs, main, fresh):
    for program in programs:
        main.clear()
        main.update(fresh)
        exec(program, main)
        print(end={NEXT!r})

import sys
each(sys.argv[1:], globals(), dict(globals()))
"""
ALONE = "-W", "error"


def prepared(block):
    """The block compiled, with its lines numbered as in the page."""
    return compile("\n" * (block.line - 1) + block.code, block.page, "exec", dont_inherit=True)


def run(block, namespace):
    """What the block prints, run in this process."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(prepared(block), namespace)
    return printed.getvalue()


def unknown_names(block):
    """Names in a block that are nowhere defined, and imports that do not exist."""
    given = re.search(r"given: (.*)", block.note)
    known = {*dir(builtins), *(given[1].split(", ") if given else ())}
    used = set()
    for node in ast.walk(ast.parse(block.code)):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    importlib.import_module(alias.name)
                    known.add((alias.asname or alias.name).partition(".")[0])
            case ast.ImportFrom(module=module, names=names):
                for alias in names:
                    assert hasattr(importlib.import_module(module), alias.name), alias.name
                    known.add(alias.asname or alias.name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
                known.add(name)
            case ast.Name(id=name, ctx=ast.Store()):
                known.add(name)
            case ast.Name(id=name):
                used.add(name)
    return used - known


@pytest.mark.parametrize("page", MARKED)
def test_the_blocks_of_a_page_run_and_print_what_it_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {}
    for block in pages.blocks(page):
        if block.note.startswith("with: "):
            prepared(block)
            continue
        if block.note.startswith("not run: "):
            prepared(block)
            assert not unknown_names(block), f"{block.page}:{block.line}"
            continue
        if block.note != "continues":
            namespace = {"__name__": "__main__"}
        printed = run(block, namespace)
        assert block.output in (None, printed), f"{block.page}:{block.line} prints {printed}"


@pytest.mark.parametrize("page", INTERPRETED, ids=pages.name)
def test_the_blocks_of_a_page_with_classes_of_its_own_run_without_compiling(page, tmp_path):
    blocks = pages.blocks(page)
    command = [sys.executable, *ALONE, "-c", EACH, *(block.code for block in blocks)]
    env = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stderr
    for block, printed in zip(blocks, done.stdout.split(NEXT), strict=False):
        assert block.output in (None, printed), f"{block.page}:{block.line} prints {printed}"


def test_a_block_with_a_name_that_is_nowhere_defined_is_found():
    code = "print(cluster, nowhere)\n"
    block = pages.Block("x.md", 1, "not run: here; given: cluster", code, None)
    assert unknown_names(block) == {"nowhere"}
