"""Ten thousand calls broken off; `make soak` runs it."""

import pytest
from gymnasium.vector import AutoresetMode

from fuzzing.interrupting import HOOKS, Interrupter

COUNT = 420
TASKS = "AttitudeSlew-v1", "RigidTop-v0", "ScalableSpin-v0"


@pytest.mark.parametrize("hooks", [{}, HOOKS], ids=["named", "hooks"])
@pytest.mark.parametrize("mode", [None, *AutoresetMode], ids=lambda mode: mode and mode.name)
@pytest.mark.parametrize("env_id", TASKS)
def test_no_step_goes_on_from_what_is_half_done(env_id, mode, hooks):
    kwargs = hooks if mode is None else hooks | {"autoreset_mode": mode}
    Interrupter(env_id, mode is not None, seed=7, **kwargs).interrupt(COUNT)
