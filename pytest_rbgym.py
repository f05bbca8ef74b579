"""The pytest plugin of rbgym, as far as every run of pytest loads it: one option and one hook.

It stands beside the package, not in it, because pytest imports installed plugins in every run of
every project, and importing anything of `rbgym` imports numba. See `rbgym.testing.plugin`.
"""

from collections.abc import Mapping
from typing import Any

import pytest

OPTION = "--rbgym-fidelity"


class Hooks:
    """The hook that a conftest.py implements."""

    @staticmethod
    def pytest_rbgym_subjects(config: pytest.Config) -> Mapping[str, Any] | None:
        """Return the simulators to judge, by name; called under --rbgym-fidelity only.

        Each is a `rbgym.testing.StepSubject` or `rbgym.testing.EnvSubject`, or a function without
        arguments that returns one of these or an environment. Import rbgym inside the hook.
        """


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Make the hook known, with or without the option: a conftest.py may always implement it."""
    pluginmanager.add_hookspecs(Hooks)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.getgroup("rbgym").addoption(
        OPTION,
        action="store_true",
        help="judge the simulators that the hook pytest_rbgym_subjects of a conftest.py returns",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Load the rest, and with it rbgym, where it was asked for."""
    if config.getoption(OPTION):
        from rbgym.testing import plugin

        config.pluginmanager.register(plugin, "rbgym-fidelity")
