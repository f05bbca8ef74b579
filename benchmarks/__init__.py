"""Speed, memory and fidelity, measured side by side with others in one run.

Not part of the package. `python -m benchmarks --quick` runs every script, `python -m
benchmarks.single` one; each writes a JSON file. `python -m benchmarks.page FOLDER` takes such files
over and writes docs/performance.md.
"""
