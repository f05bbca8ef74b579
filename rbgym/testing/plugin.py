"""`pytest --rbgym-fidelity`: one test for each simulator and each check.

A conftest.py says which simulators:

    def pytest_rbgym_subjects(config):
        from rbgym.testing import EnvSubject, Limits, StepSubject

        return {
            "mine": StepSubject(my_step, inertia=[6, 8, 3], dt=0.01),
            "my env": EnvSubject(lambda: gym.make("Mine-v0"), limits=Limits(energy=1e-9)),
        }

The tests are called rbgym-fidelity::mine::energy and so on, for each name in
`rbgym.testing.CHECKS`; `-k` picks among them. What cannot be measured, or has no limit, is skipped.
Without the option nothing of this is imported; see pytest_rbgym.py.
"""

from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from rbgym.testing.env_subject import ENVIRONMENTS, EnvSubject
from rbgym.testing.limits import CHECKS
from rbgym.testing.step_subject import StepSubject
from rbgym.testing.trial import Fidelity, Simulator, as_subject, measure


@pytest.hookimpl(tryfirst=True)  # before -k and -m choose
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Add the tests of every subject; UsageError without one, or for anything else."""
    for name, given in _subjects(config).items():
        node = SubjectNode.from_parent(session, name=name, nodeid=f"rbgym-fidelity::{name}")
        node.given = given
        items.extend(session.genitems(node))


def _subjects(config: pytest.Config) -> dict[str, Any]:
    subjects: dict[str, Any] = {}
    for group in config.hook.pytest_rbgym_subjects(config=config):
        for name, given in group.items():
            if not isinstance(name, str) or not name or "::" in name or name in subjects:
                raise pytest.UsageError(
                    "names that pytest_rbgym_subjects returns must be strings without '::', each "
                    f"once, got {name!r}"
                )
            if not isinstance(given, StepSubject | EnvSubject) and not callable(given):
                raise pytest.UsageError(
                    f"the subject {name!r} of pytest_rbgym_subjects must be a StepSubject, an "
                    f"EnvSubject or a function without arguments that returns one, got {given!r}"
                )
            subjects[name] = given
    if not subjects:
        raise pytest.UsageError(
            "--rbgym-fidelity needs a conftest.py whose hook pytest_rbgym_subjects(config) returns "
            "a dict of at least one subject"
        )
    return subjects


class SubjectNode(pytest.Collector):
    """One subject, whose tests share what is measured of it."""

    given: Simulator | Callable[[], Any]

    def collect(self) -> Iterator[pytest.Item]:
        """One test for each check."""
        return (CheckItem.from_parent(self, name=check) for check in CHECKS)

    @cached_property
    def fidelity(self) -> Fidelity:
        """What is measured, by the first of the tests."""
        subject = self.given
        if not isinstance(subject, StepSubject | EnvSubject):
            made = subject()
            if isinstance(made, ENVIRONMENTS):
                made.close()
                made = EnvSubject(subject)
            subject = as_subject(made)
        return measure(subject, name=self.name)


class BrokenError(AssertionError):
    """A check found the subject wanting."""


class CheckItem(pytest.Item):
    """One check of one subject."""

    parent: SubjectNode

    def runtest(self) -> None:
        """Fail with the verdict where it is broken, skip where there is none."""
        fidelity = self.parent.fidelity
        verdict = fidelity.verdicts[CHECKS.index(self.name)]
        if verdict.limit is None:
            pytest.skip(f"limits.{self.name} is None")
        if verdict.passed is None:
            pytest.skip(f"{self.name} cannot be measured of this subject")
        if not verdict.passed:
            hints = "".join(f"\nhint: {hint}" for hint in fidelity.hints)
            raise BrokenError(f"{verdict}\nof {fidelity.name}, {fidelity.run}{hints}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *args: Any) -> Any:
        """The verdict alone; where the subject itself failed, its part of the traceback."""
        if isinstance(excinfo.value, BrokenError):
            return str(excinfo.value)
        here = Path(__file__).parent
        ours = [i for i, entry in enumerate(excinfo.traceback) if Path(entry.path).parent == here]
        theirs = excinfo.traceback[max(ours, default=-1) + 1 :]
        excinfo.traceback = theirs or excinfo.traceback[-1:]
        return super().repr_failure(excinfo, *args)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Where pytest says it is: it has no file."""
        return self.path, None, self.nodeid
