"""The task NutationDamping-v0 in MuJoCo: `python -m benchmarks.nutation`.

What MuJoCo makes of a satellite that nutates freely, and what is learned there: the observations,
rewards and ends are rbgym's, the body is MuJoCo's. A policy is then judged on the truth. Writes
nutation.json; a run that was interrupted goes on.
"""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

from benchmarks.bodies import mujoco_quiet
from benchmarks.record import MEASURED, Say, main
from rbgym.agents.judge.evaluation import evaluate
from rbgym.agents.run_folder import RunFolder
from rbgym.agents.train import load_policy, train
from rbgym.envs.tasks.nutation import NutationDampingEnv, NutationDampingVectorEnv

TASK = "NutationDamping-v0"
TRUTH = {"integrator": "exact", "substeps": 32}
INTEGRATORS = ("Euler", "implicitfast", "RK4")
PERIODS = (0.002, 0.01, 0.02, 0.05, 0.1)  # of the integrator [s]; the control period has 0.1 s
LEARNED = (("implicitfast", 0.02), ("implicitfast", 0.01), ("Euler", 0.002))
SEEDS = 0, 1, 2
_BODY = '<body><freejoint/><inertial pos="0 0 0" mass="1" diaginertia="{} {} {}"/></body>'
_MJCF = """<mujoco><option gravity="0 0 0" timestep="{dt!r}" integrator="{integrator}">
<flag contact="disable" autoreset="disable"/></option><worldbody>{bodies}</worldbody></mujoco>"""


class InMuJoCoVectorEnv(NutationDampingVectorEnv):  # type: ignore[misc, valid-type]
    """The task with MuJoCo's motion: bodies on free joints, the torque held in body axes."""

    def __init__(
        self,
        *,
        engine: str,
        period: float,
        autoreset_mode: Any = AutoresetMode.NEXT_STEP,
        **kwargs: Any,
    ) -> None:
        super().__init__(autoreset_mode=autoreset_mode, **kwargs)
        mujoco, self.periods = mujoco_quiet(), round(self.dt / period)
        bodies = _BODY.format(*self.body.moments) * self.num_envs
        text = _MJCF.format(dt=period, integrator=engine, bodies=bodies)
        self.model = mujoco.MjModel.from_xml_string(text)
        self.data = mujoco.MjData(self.model)
        # What rbgym does without substeps: take the commands and judge.
        episodes: Any = self.episodes
        episodes.stepping = episodes.stepping._replace(substeps=0)
        self._of_rbgym, episodes.period = episodes.period, self._period

    def _period(self, buffer: Any, commands: Any, outputs: Any, judging: Any, *blocks: int) -> None:
        """One control period, of the bodies by MuJoCo, all at once; all else by rbgym."""
        batch, data = self.episodes.batch, self.data
        if blocks != (0, batch.blocks):
            raise ValueError(f"num_envs must be small enough to step at once, got {self.num_envs}")
        found, n = batch.measure(), self.num_envs
        places, speeds = (np.zeros((n, k)) for k in (7, 6))
        places[:, 3:], speeds[:, 3:] = found["quaternion"], found["angular_velocity"]
        data.qpos[:], data.qvel[:] = places.ravel(), speeds.ravel()
        pushed = np.zeros((n, 6))
        pushed[:, 3:] = self.torque_limit * np.clip(commands, -1.0, 1.0)
        data.qfrc_applied[:] = pushed.ravel()
        mujoco_quiet().mj_step(self.model, data, nstep=self.periods)
        q, omega = data.qpos.reshape(n, 7)[:, 3:], data.qvel.reshape(n, 6)[:, 3:]
        fine = np.flatnonzero(np.isfinite(omega).all(axis=1) & (np.abs(omega) < 1e6).all(axis=1))
        q = q[fine] / np.linalg.norm(q[fine], axis=1, keepdims=True)
        batch.set_state(q, omega[fine], lanes=fine)
        self._of_rbgym(buffer, commands, outputs, judging, *blocks)


class InMuJoCoEnv(NutationDampingEnv):
    """Only the vector env is stepped by MuJoCo; this one lends its spaces."""

    def __init__(self, *, engine: str, period: float, **kwargs: Any) -> None:
        super().__init__(**kwargs)


NAME = "NutationInMuJoCo-v0"
gym.register(
    id=NAME,
    entry_point="benchmarks.nutation:InMuJoCoEnv",
    vector_entry_point="benchmarks.nutation:InMuJoCoVectorEnv",
    max_episode_steps=600,
)


def figures(policy: Any, env_id: str, episodes: int = 256, **physics: Any) -> dict[str, Any]:
    """Success and return on the test set, and the rate across the axis that is left [rad/s]."""
    one = evaluate(policy, env_id, episodes, **physics)
    return {
        "success": one.success_rate,
        "return": one.mean_return,
        "rate": float(np.nanmean(one.played.rate_error[-1])),
    }


def measure(quick: bool, say: Say) -> dict[str, Any]:
    """Doing nothing under each integrator and period; then what is learned."""
    found: dict[str, Any] = {"free": {}, "learned": {}}
    found["free"]["exact"] = figures("idle", TASK, 64, **TRUTH)
    for engine in INTEGRATORS:
        for period in PERIODS[2:3] if quick else PERIODS:
            say(f"{engine} {period}")
            here = {"engine": engine, "period": period}
            found["free"][f"{engine} {period:g}"] = figures("idle", NAME, 64, **here)
    for seed in () if quick else SEEDS:
        for engine, period in LEARNED:
            here, name = {"engine": engine, "period": period}, f"{engine} {period:g} {seed}"
            say(f"PPO in MuJoCo, {name}")
            out = MEASURED.parent / "fidelity_map" / f"mujoco-{name.replace(' ', '-')}"
            train(NAME, "ppo", out=out, seed=seed, timesteps=1_000_000, env_kwargs=here,
                  evaluate_every=0, progress=False)  # fmt: skip
            policy = load_policy(RunFolder(out))
            both = {"own": figures(policy, NAME, **here), "truth": figures(policy, TASK, **TRUTH)}
            found["learned"][name] = both
    return found


if __name__ == "__main__":
    main("nutation", measure)
