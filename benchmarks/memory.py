"""Memory of one environment among many: `python -m benchmarks.memory`."""

from typing import Any

from benchmarks.record import Missing, Say, fresh, main

LANES = 65536
CARTPOLE = "Gymnasium CartPoleVectorEnv"
CASES = {
    "rbgym RigidTop-v0": "RigidTop-v0",
    "rbgym AttitudeSlew-v1": "AttitudeSlew-v1",
    "rbgym ReactionWheelSlew-v1": "ReactionWheelSlew-v1",
    CARTPOLE: "CartPole-v1",
    "EnvPool CartPole-v1": "envpool",
}
# How the process grows by a batch that was stepped [B an env], beyond imports and a small batch;
# the actions are not counted.
_SCRIPT = """
import gc, os, sys
import gymnasium as gym, numpy as np, rbgym
name, lanes = sys.argv[1], int(sys.argv[2])

def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

def stepped(lanes):
    if name == "envpool":
        import envpool
        env = envpool.make("CartPole-v1", env_type="gymnasium", num_envs=lanes, num_threads=1)
        actions = np.zeros(lanes, int)
    else:
        env = gym.make_vec(name, num_envs=lanes, vectorization_mode="vector_entry_point")
        one = env.single_action_space
        actions = np.zeros((lanes, *one.shape), one.dtype)
    env.reset()
    return env, actions, [env.step(actions) for _ in range(4)][-1]

small = stepped(64)
gc.collect()
before = resident()
large = stepped(lanes)
gc.collect()
print((resident() - before - large[1].nbytes) / lanes)
"""


def measure(quick: bool, say: Say) -> dict[str, Any]:
    """Growth of a process by case [B an env]."""
    found, skipped = {}, {}
    for name in list(CASES)[:1] if quick else CASES:
        say(f"memory of {name}")
        try:
            found[name] = round(fresh(_SCRIPT, CASES[name], str(LANES)))
        except Missing as error:
            skipped[name] = str(error)
    return {"lanes": LANES, "bytes": found, "skipped": skipped}


if __name__ == "__main__":
    main("memory", measure)
