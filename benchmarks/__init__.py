"""Speed, memory and fidelity of rbgym and of others, measured in one run.

Not part of the package. `python -m benchmarks` runs every part, `python -m benchmarks.memory` one;
each writes a JSON file. `python -m benchmarks.page FOLDER` takes such files over and writes
docs/records/performance.md. `python -m benchmarks.prices TREE` compares this tree with another one.
"""
