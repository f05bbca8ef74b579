# %% [markdown]
# # From law to policy to flight code
#
# A law is judged, then the policy that the package ships; the better one becomes one C99 file,
# which is compiled, checked, and flown in the loop. This needs `rbgym[agents]` and gcc, takes half
# a minute and writes flight_code.png.

# %%
import ctypes
import json
import subprocess
from pathlib import Path

import gymnasium as gym
import numpy as np

import rbgym.agents
from rbgym.agents import controllers
from rbgym.agents.export import export_c
from rbgym.agents.judge import evaluate

TASK = "AttitudeSlew-v1"

# %% [markdown]
# The law that settles first of those that fit, and the policy, on the same starts. The policy
# learned from such a law, then from the gradient of the reward: `rbgym train AttitudeSlew-v1`.

# %%
candidates = {"law": "bang_bang", "policy": rbgym.agents.load(TASK)}
for name, one in candidates.items():
    found = evaluate(one, TASK, episodes=256)
    print(f"{name}: {100 * found.success_rate:.0f} %, settled after {found.settling_time:.1f} s")

# %% [markdown]
# One C file, without heap, and its contract: what each number that it reads and
# writes means. A full command is a torque in N m.

# %%
env = gym.make(TASK).unwrapped
export_c("flight", candidates["policy"], env)
contract = json.loads(Path("flight/policy.json").read_text("utf-8"))
for part in (*contract["observation"], *contract["action"]):
    print(part["name"], part["size"], part["unit"], part["frame"], np.round(part["scale"], 4))
print(len(Path("flight/policy.c").read_text("utf-8").splitlines()), "lines of C")

# %% [markdown]
# Its self-test compares the commands of the C code with those of `predict`: they agree within
# 1.2e-7 of a full command.

# %%
build = ["gcc", "-std=c99", "-O2", "-Wall", "-Werror", "flight/policy.c"]
subprocess.run([*build, "-DRBGYM_SELF_TEST", "-o", "flight/test", "-lm"], check=True)
print(subprocess.run(["flight/test"], check=True, capture_output=True, text=True).stdout.strip())

# %% [markdown]
# Then the loop: the C code flies a slew, and so do the policy in Python and the law.

# %%
subprocess.run([*build, "-shared", "-fPIC", "-o", "flight/policy.so", "-lm"], check=True)
code = ctypes.CDLL(Path("flight/policy.so").resolve())
memory, command = (ctypes.c_float * 64)(), (ctypes.c_float * 3)()
code.rbgym_begin(memory)


def in_c(observation, state):
    """The answer of the C code, with the signature of `predict`."""
    code.rbgym_act(memory, (ctypes.c_float * len(observation))(*observation), command)
    return np.array(command), state


def fly(answer):
    """Errors of one slew: time [s], attitude [rad], rates [rad/s]."""
    (observation, info), state, errors = env.reset(seed=7), None, []
    for _ in range(60):
        errors.append((info["attitude_error"], info["rate_error"]))
        action, state = answer(observation, state)
        observation, _, _, _, info = env.step(action)
    return rbgym.plot.Errors(env.dt * np.arange(60), *np.array(errors).T)


law = controllers.make(candidates["law"], env)
flown = {"law": fly(law.predict), "policy": fly(candidates["policy"].predict), "C": fly(in_c)}
apart = np.abs(flown["C"].attitude - flown["policy"].attitude).max()
print(f"C and Python are at most {apart:.0e} rad apart")

# %%
figure = rbgym.plot.pointing(flown, title="one slew")
figure.savefig("flight_code.png")
figure

# %% [markdown]
# [Flight code](../export.md) says which laws and networks can be written as C, and how equal they
# are.
