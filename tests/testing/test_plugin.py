"""`pytest --rbgym-fidelity`: named passes and failures, and nothing at all without the option."""

import pytest

import rbgym.testing.plugin  # noqa: F401  (here once, so that no run inside this one imports it anew)
from rbgym.testing import CHECKS

pytest_plugins = ["pytester"]

CONFTEST = """
import numpy as np

def pytest_rbgym_subjects(config):
    import step_functions as steps
    from rbgym.testing import Limits, StepSubject

    def subject(step, **options):
        return StepSubject(step, steps.INERTIA, steps=100, **options)

    return {subjects}
"""
GOOD = "'good': subject(steps.exact)"
NAIVE = "'naive': subject(steps.world_rates)"


@pytest.fixture
def run(pytester):
    """Run pytest inside pytest with these subjects, warnings being errors."""

    def run(subjects, *arguments):
        pytester.makeconftest(CONFTEST.replace("{subjects}", subjects))
        pytester.makepyfile(test_ordinary="def test_ordinary(): pass")
        return pytester.runpytest_inprocess("-Werror", "-p", "no:cacheprovider", *arguments)

    return run


def test_pytest_finds_the_installed_plugin_by_itself(request):
    plugin = request.config.pluginmanager.get_plugin("rbgym")
    assert plugin is not None, "install the project again: its entry point is missing"
    assert plugin.__name__ == "pytest_rbgym"


def test_each_check_of_each_subject_is_a_named_test(run):
    result = run("{" + GOOD + ", " + NAIVE + "}", "--rbgym-fidelity", "-v")
    failing = ("momentum", "order", "equivariance")
    lines = [
        f"rbgym-fidelity::{name}::{check} {'FAILED' if bad else 'PASSED'}*"
        for name in ("good", "naive")
        for check in CHECKS
        for bad in [name == "naive" and check in failing]
    ]
    result.stdout.fnmatch_lines(["test_ordinary.py::test_ordinary PASSED*", *lines])
    result.assert_outcomes(passed=10, failed=3)
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_a_failure_shows_the_verdict_and_the_hint_without_a_traceback(run):
    result = run("{" + NAIVE + "}", "--rbgym-fidelity", "-k", "momentum")
    result.assert_outcomes(failed=1, deselected=6)
    told = " - momentum *" if pytest.version_tuple >= (9,) else ""  # 8 names the test alone
    result.stdout.fnmatch_lines(
        [
            "momentum * <= 1e-12 *BROKEN*",
            "of naive, 100 steps of 0.05 s",
            "hint: *world axes",
            f"FAILED rbgym-fidelity::naive::momentum{told}",
        ]
    )
    result.stdout.no_fnmatch_line("*plugin.py*")


def test_without_the_option_nothing_is_collected(run):
    result = run("{" + NAIVE + "}")
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*fidelity*")


def test_without_the_option_nothing_heavy_is_imported(pytester):
    pytester.makepyfile(
        """
        import sys

        def test_light():
            assert "pytest_rbgym" in sys.modules
            assert not {"rbgym", "numba", "gymnasium", "numpy"} & set(sys.modules)
        """
    )
    # Plugins of others may import NumPy.
    quiet = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-p", "no:xdist")
    pytester.runpytest_subprocess(*quiet).assert_outcomes(passed=1)


def test_a_run_of_its_own_judges_without_ordinary_tests(pytester, monkeypatch, request):
    monkeypatch.setenv("PYTHONPATH", str(request.config.rootpath / "tests"))
    pytester.makeconftest(CONFTEST.replace("{subjects}", "{" + GOOD + "}"))
    result = pytester.runpytest_subprocess("-Werror", "-p", "no:cacheprovider", "--rbgym-fidelity")
    result.assert_outcomes(passed=6)
    result.stdout.fnmatch_lines(["collected 6 items"])
    assert result.ret == pytest.ExitCode.OK


def test_what_has_no_limit_or_cannot_be_measured_is_skipped(run):
    limits = "'loose': subject(steps.one_way, limits=Limits(time_reversal=None))"
    result = run("{" + limits + "}", "--rbgym-fidelity", "-rs")
    result.assert_outcomes(passed=6, skipped=1)
    result.stdout.fnmatch_lines(["*limits.time_reversal is None*"])


def test_a_factory_may_return_an_environment(run):
    made = "{'top': lambda: __import__('gymnasium').make('RigidTop-v0', integrator='quat_em')}"
    result = run(made, "--rbgym-fidelity", "-rs")
    result.assert_outcomes(passed=6, skipped=1)
    result.stdout.fnmatch_lines(["*order cannot be measured*"])


def test_a_factory_may_return_a_subject(run):
    run("{'lazy': lambda: subject(steps.exact)}", "--rbgym-fidelity").assert_outcomes(passed=7)


def test_a_subject_that_raises_shows_its_own_traceback_alone(run):
    result = run("{'broken': subject(lambda q, omega, dt: omega[7])}", "--rbgym-fidelity")
    result.assert_outcomes(passed=1, failed=6)
    result.stdout.fnmatch_lines(["*IndexError*", "conftest.py:*: IndexError"])
    result.stdout.no_fnmatch_line("*step_subject.py*")


@pytest.mark.parametrize(
    ("subjects", "message"),
    [
        ("{}", "*returns a dict of at least one subject*"),
        ("{'naive': 7}", "*the subject 'naive'*must be a StepSubject*got 7*"),
        ("{'a::b': subject(steps.exact)}", "*names*got 'a::b'*"),
    ],
)
def test_a_wrong_answer_to_the_hook_is_a_usage_error(run, subjects, message):
    result = run(subjects, "--rbgym-fidelity")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])
