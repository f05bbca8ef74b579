# %% [markdown]
# # A satellite that wakes up
#
# A 3U CubeSat leaves its dispenser, tumbles, and knows no attitude. One law brings it to
# its target, and flies as C too. This needs `rbgym[agents]` and gcc, and takes 20 s.
#
# ![A 3U CubeSat detumbles, turns its panels to the Sun, and points](../pictures/wake_up.gif)

# %%
import ctypes
import subprocess
from pathlib import Path

import gymnasium as gym
import matplotlib.pyplot as plt
import numpy as np

import rbgym  # noqa: F401  (registers the environments)
from rbgym.agents import controllers
from rbgym.agents.export import export_c
from rbgym.quaternion import angle_between

# %% [markdown]
# Five degrees a second; gravity gradient, air, light and a dipole of its own push it. Gyros drift,
# six coarse cells see the Sun until the Earth hides it, and a magnetometer sees the field. A clock
# and models on board know where both are in the world. The attitude is not shown.

# %%
env = gym.make(
    "DetumbleToPoint-v0",
    difficulty="medium",
    orbit={"model": "igrf"},
    initial={"least_rate": 0.087, "rate": 0.0873},  # rad/s
).unwrapped
for name, column in env.columns.items():
    print(f"{name:18} {column.size} {column.frame or '-'}")

# %% [markdown]
# `supervisor` detumbles by the coils, here to 1 degree/s, turns the panels to the Sun by the
# wheels, and points once its filter is sure of the attitude.

# %%
supervisor = controllers.make("supervisor", env, calm=np.radians(1.0))
STEPS = 5693  # an orbit, one command a second


def flown(answer):
    """What was seen, the state and the law's memory in each second of an orbit."""
    (observation, _), memory, states, memories = env.reset(seed=4), None, [], []
    for _ in range(STEPS):
        action, memory = answer(observation, memory)
        states.append(env.state)
        memories.append(memory)
        observation, *_ = env.step(action)
    return states, memories


states, watches = flown(supervisor.predict)
modes = np.array([watch.mode[0] for watch in watches])
for mode, words in enumerate(("detumble", "find the Sun", "point")):
    print(f"{words:14} from {np.argmax(modes == mode):4} s, for {np.sum(modes == mode):4} s")

# %% [markdown]
# The rates, the distance from the target, and the error of the filter. The attitude is
# known with the first reading in which Sun and field are far enough apart; in the shadow of the
# Earth gyros and field hold it.

# %%
truth = np.array([state["quaternion"] for state in states])
target = np.array([state["target_quaternion"] for state in states])
rates = np.linalg.norm([state["angular_velocity"] for state in states], axis=1)
held = np.array([watch.fix.attitude[0] for watch in watches])
known = np.array([watch.fix.known[0] for watch in watches])
dark = np.array([not watch.fix.sun.any() for watch in watches])

figure, (above, below) = plt.subplots(2, 1, figsize=(8, 5), sharex=True, layout="constrained")
above.semilogy(np.degrees(rates), label="rate [degrees/s]")
above.semilogy(np.degrees(angle_between(truth, target)), label="off the target [degrees]")
filtered = np.where(known, np.degrees(angle_between(truth, held)), np.nan)
above.semilogy(filtered, label="error of the filter [degrees]")
above.legend()
below.step(np.arange(STEPS), modes, where="post")
below.set_yticks([0, 1, 2], ["detumble", "find the Sun", "point"])
below.set_xlabel("time [s]")
for axes in (above, below):
    axes.fill_between(np.arange(STEPS), 0, 1, where=dark, alpha=0.15, color="black",
                      transform=axes.get_xaxis_transform(), linewidth=0)  # fmt: skip
figure.savefig("wake_up.png")

# %% [markdown]
# The same law as one C99 file: filter, modes and laws, without heap. It flies the
# same orbit in a loop with the environment.

# %%
export_c("flight", supervisor, env)
build = ["gcc", "-std=c99", "-O2", "-shared", "-fPIC", "-DRBGYM_DOUBLE", "flight/policy.c"]
subprocess.run([*build, "-o", "flight/policy.so", "-lm"], check=True)
code = ctypes.CDLL(Path("flight/policy.so").resolve())
# Room for an rbgym_memory, and more.
memory, command = (ctypes.c_double * 128)(), (ctypes.c_double * 6)()
code.rbgym_begin(memory)


def in_c(observation, state):
    code.rbgym_act(memory, (ctypes.c_double * len(observation))(*observation), command)
    return np.array(command, np.float32), state


in_c_flown, _ = flown(in_c)
apart = angle_between(truth, np.array([state["quaternion"] for state in in_c_flown]))
print(f"C and Python are at most {apart.max():.0e} rad apart")
