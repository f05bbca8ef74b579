"""What a step of many environments is made of: `python -m benchmarks.parts`."""

import statistics
from typing import Any

import gymnasium as gym

from benchmarks import peers
from benchmarks.record import Told, main
from rbgym.envs.kernels import NOTHING_SAVED, Outputs

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "RigidTop-v0, akw, 1 substep": ("RigidTop-v0", {"integrator": "akw", "substeps": 1}),
    "RigidTop-v0": ("RigidTop-v0", {}),
    "AttitudeSlew-v1": ("AttitudeSlew-v1", {}),
}
COUNTS = 1, 1024, 65536


def parts(env_id: str, lanes: int, rounds: int, **options: Any) -> dict[str, float]:
    """Nanoseconds of CPU time an env-step: of the physics, of judging it, beginnings included but
    for one env, and of all; medians. Each part walks over all bodies by itself, and copies nothing
    for `info`."""
    env: Any = gym.make_vec(env_id, num_envs=lanes, **options).unwrapped
    env.reset(seed=0)
    env.action_space.seed(0)
    actions, episodes = env.action_space.sample(), env.episodes
    outputs = Outputs(*env.step(actions)[:4], *NOTHING_SAVED)
    each = max(1, 4096 // lanes)
    found: dict[str, list[float]] = {"physics": [], "judging": [], "all": []}

    def timed(name: str, work: Any) -> None:
        begun = peers.CLOCK()
        for _ in range(each):
            work()
        found[name].append(1e9 * (peers.CLOCK() - begun) / each / lanes)

    buffer = episodes.batch.buffer
    for _ in range(rounds):
        timed("physics", lambda: episodes.advance(buffer, episodes.commands))
        timed("judging", lambda: episodes.judge(buffer, outputs))
        timed("all", lambda: env.step(actions))
    return {name: float(f"{statistics.median(row):.4g}") for name, row in found.items()}


def measure(quick: bool, told: Told) -> dict[str, Any]:
    """Each case by its number of environments."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for name, (env_id, options) in CASES.items():
        told(name)
        found[name] = {
            str(lanes): parts(env_id, lanes, 20 if quick else 200, **options) for lanes in COUNTS
        }
    return {"nanoseconds": found, "skipped": {}}


if __name__ == "__main__":
    main("parts", measure)
