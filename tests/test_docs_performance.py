"""The page of performance is that of its results, and the arithmetic in it is counted right."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rbgym.quaternion import cross, dot, qmul

ROOT = Path(__file__).resolve().parents[1]
VECTOR, QUATERNION = (1.0, 2.0, 3.0), (0.1, 0.2, 0.3, 0.4)


@pytest.fixture(autouse=True)
def _from_the_root(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)


@pytest.fixture
def page():
    from benchmarks import page

    return page


def test_the_pages_are_those_of_the_results(page, capsys):
    assert page.main(["--check"]) == 0, capsys.readouterr().out
    assert "Not measured" not in page.PAGE.read_text("utf-8") + page.RECORD.read_text("utf-8")


@pytest.mark.parametrize(
    ("name", "figure", "other"),
    [
        ("RECORD", "| at least 3.3 |", "| at least 0.33 |"),
        ("PAGE", "| CartPole in C, float32 | 0.453 |", "| CartPole in C, float32 | 4.53 |"),
    ],
)
def test_a_page_with_another_figure_fails_the_check(
    page, name, figure, other, tmp_path, monkeypatch
):
    copy = tmp_path / "performance.md"
    text = getattr(page, name).read_text("utf-8")
    assert figure in text
    copy.write_text(text.replace(figure, other), "utf-8")
    monkeypatch.setattr(page, name, copy)
    assert page.main(["--check"]) == 1


def test_every_result_is_of_a_whole_run_and_names_no_place_of_a_machine(page):
    found = page.results()
    assert tuple(found) == page.NAMES
    for one in found.values():
        assert not one["quick"]
        assert not re.search(r'"[^"]*(?<!\w)/\w+/[^"]*"', json.dumps(one))


def test_the_reason_of_a_target_is_told_while_it_is_missed(page, monkeypatch):
    from benchmarks import tables
    from benchmarks.targets import REASONS, targets

    found = page.results()
    assert set(REASONS) <= {target.key for target in targets(found)}
    for wanted, told in ((1e9, True), (1e-9, False)):
        monkeypatch.setitem(REASONS, "c", "It is a test.")
        aims = [t._replace(wanted=wanted) if t.key == "c" else t for t in targets(found)]
        monkeypatch.setattr(tables, "targets", lambda _, aims=aims: aims)
        assert ("It is a test." in tables.aims(found)) == told


def test_quick_results_are_not_taken_over(page, tmp_path):
    for name, one in page.results().items():
        text = json.dumps(one | {"quick": name == "memory"})
        (tmp_path / f"{name}.json").write_text(text, "utf-8")
    with pytest.raises(ValueError, match="without --quick"):
        page.adopt(tmp_path)


def test_every_engine_of_the_page_follows_the_exact_motion_with_small_steps(page):
    rows = page.results()["fidelity"]["rows"]
    assert len(rows) > 24
    for name, row in rows.items():
        coarse, fine = row["agreement"]["errors"]
        assert fine < 1e-9 or np.log10(coarse / fine) > 0.9, name


def test_every_scheme_reaches_less_than_its_limit(page):
    rows = page.results()["roofline"]["schemes"]
    assert all(0.0 < row["reached"] < 1.0 for row in rows.values())


@pytest.mark.parametrize(
    ("function", "arguments", "adds", "multiplies"),
    [(cross, (VECTOR, VECTOR[::-1]), 3, 6), (dot, (VECTOR, VECTOR[::-1]), 2, 3),
     (qmul, (QUATERNION, QUATERNION[::-1]), 12, 16)],
)  # fmt: skip
def test_the_arithmetic_of_a_known_formula_is_counted(function, arguments, adds, multiplies):
    from benchmarks.counted import operations

    found = operations(function, *arguments)
    assert (found["add"], found["multiply"]) == (adds, multiplies)
    assert found["divide"] == found["root"] == found["compare"] == 0


def test_what_a_compiler_saves_is_not_counted():
    from benchmarks.counted import operations

    def formula(x, y):
        unused = x * y * y
        twice = x * y + -(y * x) * 1.0 + 0.0
        return twice, y / 4.0, 1.0 / x if unused > 0.0 else x

    found = operations(formula, 2.0, 3.0)
    # unused steers a choice, so that its products count; y x is x y again.
    assert found == {"add": 1, "multiply": 3, "divide": 1, "root": 0, "compare": 1}


def test_roots_that_kernels_take_are_counted():
    from benchmarks.counted import operations
    from rbgym.integrators import elliptic

    def length(x, y):
        return elliptic.math.sqrt(x * x + y * y)

    assert operations(length, 3.0, 4.0) == {
        "add": 1, "multiply": 2, "divide": 0, "root": 1, "compare": 0
    }  # fmt: skip


def test_a_value_read_again_in_a_pass_is_loaded_once_and_in_another_pass_again():
    from benchmarks.counted import counting
    from benchmarks.flops import Rows
    from rbgym.engine.rows import LANES

    rows = np.ones(2 * LANES).astype(object).view(Rows)
    with counting() as counts:
        for _ in range(2):
            for lane in range(2):
                x = rows[lane] * rows[lane + LANES]
                rows[lane + LANES] = x + rows[lane] * rows[lane]
    assert dict(rows.accesses) == {"loads": 8, "stores": 4}
    assert counts["multiply"] == 8
    assert counts["add"] == 4
    read, written = rows.touched
    assert (len(read), len(written)) == (4, 2)


def test_the_reference_of_work_and_precision_is_what_others_published():
    from benchmarks import solvers
    from benchmarks.work_precision import CASES

    # Bruels, Cardona & Arnold (2012), their own run with a step of 2e-6; to the digits given.
    top = CASES["heavy top of Brüls et al."]
    q, _ = solvers.reference(top.motion, 0.2)
    published = np.array([-0.70827915, 0.43878109, 0.54572840, 0.08939975])
    assert np.abs(q - published * np.sign(q @ published)).max() < 1e-8
    free = CASES["free body"].motion
    q, omega = solvers.reference(free, 1.0, 200)
    exact, rates = free.exact(1.0)
    assert abs(abs(q @ exact) - 1.0) < 1e-15
    assert np.abs(omega / rates - 1.0).max() < 1e-13


def test_a_curve_is_read_between_its_points_by_logarithms():
    from benchmarks.tables_physics import cost_of, error_at

    curve = [[8.0, 1.0 / 64.0], [1.0, 1.0], [2.0, 0.25], [16.0, 0.5]]  # the last one is worse
    assert error_at(curve, 4.0) == pytest.approx(1.0 / 16.0)
    assert error_at(curve, 100.0) == pytest.approx(1.0 / 64.0)
    assert error_at(curve, 0.5) is None
    assert cost_of(curve, 1.0 / 16.0) == pytest.approx(4.0)
    assert cost_of(curve, 2.0) == pytest.approx(1.0)
    assert cost_of(curve, 1e-9) is None


def test_the_arithmetic_of_a_step_is_counted_by_the_engine_itself():
    command = [sys.executable, "-m", "benchmarks.flops", "quat_em", "exact"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["quat_em"]["corrections"] == 2.0  # of Newton's method: a predictor and its check
    assert found["exact"]["corrections"] == 0.0
    assert all(100 < counts["multiply"] < 2000 for counts in found.values())
