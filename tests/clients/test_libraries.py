"""What docs/libraries.md shows runs with the libraries that are here: `make test-clients`, and
RLlib's in the environment with Ray."""

import importlib.util
import os
import shlex
import subprocess
import sys

import pytest

import pages

PAGE = pages.DOCS / "libraries.md"
BLOCKS = [block for block in pages.blocks(PAGE) if block.note.startswith("with: ")]


def run(words, folder):
    own = {"RAY_USAGE_STATS_ENABLED": "0", "MINARI_DATASETS_PATH": str(folder / "data")}
    done = subprocess.run(
        words, cwd=folder, env=os.environ | own, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.note)
def test_the_block_of_a_library_runs(block, tmp_path):
    if importlib.util.find_spec(block.note.removeprefix("with: ")) is None:
        pytest.skip(f"is not installed: {block.note}")
    (tmp_path / "block.py").write_text(block.code)
    run([sys.executable, "block.py"], tmp_path)


def test_the_command_of_rl_zoo_runs(tmp_path):
    pytest.importorskip("rl_zoo3")
    (line,) = (one for one in pages.commands(PAGE) if one.startswith("python -m rl_zoo3"))
    run([sys.executable, *shlex.split(line)[1:]], tmp_path)
