# %% [markdown]
# # From my satellite to a design review
#
# Whether a controller meets its requirements on a satellite that is known to a few percent, how
# sure that is, and what to improve. This needs `rbgym[agents,campaign]`, and writes three plots.

# %%
import numpy as np

from rbgym.agents import campaign
from rbgym.agents.campaigns import Replay, pictures

# %% [markdown]
# The satellite of [my satellite](my_satellite.md), behind gyros, a star tracker, an estimator and a
# computer that takes half a second.

# %%
nominal = {
    "satellite": {
        "body": {"inertia": [20.0, 18.0, 15.0]},  # kg m^2
        "wheels": {"torque": 0.1, "momentum": 4.0, "inertia": 6e-3, "coulomb": 1e-3},
        "dt": 0.5,  # control period [s]
    },
    "sensor": {
        "gyro": {"angle_walk": 3e-5, "bias": 5e-5},  # rad/sqrt(s), rad/s
        "star_tracker": {
            "across_boresight": 5e-5,
            "about_boresight": 3e-4,
            "period": 0.5,
        },  # rad, s
    },
    "actuator": {"delay": {"seconds": 0.5}},
}

# %% [markdown]
# What is not known exactly, and what the mission asks for: three sigma of the attitude error, 95 %
# of the settling times, and nearly all slews, each shown with 95 % confidence.

# %%
spread = {
    "inertia": {"factor": {"normal": {"mean": 1.0, "std": 0.02}}},  # of each principal moment
    "axes": {"normal": {"mean": 0.0, "std": 0.02}},  # principal axes [rad]
    "misalignment": {"normal": {"mean": 0.0, "std": 0.005}},  # of the wheels' mounting [rad]
    "actuator_scale": {"normal": {"mean": 1.0, "std": 0.03}},  # strength of each wheel
    "friction": {"log_uniform": [0.5, 2.0]},
    "delay": {"uniform": [0.6, 1.0]},
    "wheel_momentum": {"uniform": [-1.0, 1.0]},  # N m s
}
require = {
    "ape_deg": {"quantile": 0.9973, "at_most": 0.15},
    "settling_s": {"quantile": 0.95, "at_most": 80.0},
    "success": {"at_least": 0.99},
}

# %% [markdown]
# Two laws fly the same 1,536 satellites from the same starts.

# %%
report = campaign(
    "ReactionWheelSlew-v1", ["pd", "pid"], 1536, "runs/review",
    env_kwargs=nominal, spread=spread, require=require, estimator=True, impossible="redraw",
)  # fmt: skip
for law, verdicts in report.verdicts.items():
    for requirement, said in verdicts.items():
        value = f"{said.value:.4g} ({said.low:.4g} to {said.high:.4g})"
        print(f"{law:4} {requirement!s:34} {value:28} margin {said.margin:+.3g}: {said.verdict}")

# %%
for law, effects in report.effects.items():
    print(law, [f"{one.name}: {one.of} {one.value:+.2f}" for one in effects[:3]])

# %% [markdown]
# The attitude error over time, the share of runs up to each value, and what drives what.

# %%
pictures.envelope(report).savefig("envelope.png")

# %%
pictures.cumulative(report).savefig("cumulative.png")

# %%
pictures.tornado(report).savefig("tornado.png")

# %% [markdown]
# The worst run of `pd`, flown again to the last bit, and its satellite.

# %%
rows = report.campaign.columns["pd"]
worst = int(np.argmax(rows["ape_deg"]))
again = Replay.of(report.campaign, worst, "pd")
print(worst, again.differs(report.campaign), f"friction {rows['friction'][worst]:.2f}")

# %% [markdown]
# [Monte Carlo campaigns](../campaign.md) says what else can be drawn, and does it at a terminal.
