"""How many dispersed slews a second `rbgym campaign` flies, and a Monte Carlo of Basilisk.

python docs/studies/campaign_beside_basilisk.py [--runs 4096] [--jobs 2]  # bsk, rbgym[campaign]

ReactionWheelSlew-v1 in both: four wheels with Coulomb friction, attitude and rates that are shown
with noise, a law at 2 Hz, 100 s; inertia, friction, first rates and attitude differ. Basilisk steps
its physics at 0.1 s by RK4 with `simpleNav` and `mrpFeedback`; once in processes that share the
runs, once by its own Monte Carlo controller. rbgym flies it like that, and behind gyros, a star
tracker, a filter and a delay. By the clock on the wall, compilation and the start of processes
excluded by a first, small campaign.
"""

import argparse
import json
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from Basilisk.architecture import messaging
from Basilisk.fswAlgorithms import attTrackingError, inertial3D, mrpFeedback, rwMotorTorque
from Basilisk.simulation import reactionWheelStateEffector, simpleNav, spacecraft
from Basilisk.utilities import SimulationBaseClass, macros, simIncludeRW
from Basilisk.utilities.MonteCarlo.Controller import Controller
from Basilisk.utilities.MonteCarlo.RetentionPolicy import RetentionPolicy

ENV, LAW = "ReactionWheelSlew-v1", "quaternion_feedback"
SPREAD = {
    "inertia": {"factor": {"normal": {"mean": 1.0, "std": 0.02}}},
    "friction": {"log_uniform": [0.5, 2.0]},
    "angular_velocity": {"uniform": [-0.005, 0.005]},
    "attitude_angle": {"uniform": [0.2, 3.1]},
}
NOISE = {"attitude": 2e-5, "rate": 1e-5}  # rad, rad/s
WITH_FILTER = {
    "sensor": {
        "gyro": {"angle_walk": 1e-5, "rate_walk": 1e-7, "bias": 1e-4},
        "star_tracker": {"across_boresight": 5e-5, "about_boresight": 3e-4, "period": 0.5},
    },
    "actuator": {"delay": {"seconds": 0.5}},
}
PHYSICS, CONTROL, LASTS = 0.1, 0.5, 100.0  # s
BODY = "BODY_OF_SLEW"  # environment variable: its numbers, for processes that do not import rbgym


class Slew(SimulationBaseClass.SimBaseClass):
    """A satellite of Basilisk's, with what it draws."""

    def __init__(self) -> None:
        super().__init__()
        own, rng = json.loads(os.environ[BODY]), np.random.default_rng()
        inertia = np.array(own["moments"]) * rng.normal(1.0, 0.02, 3)
        process = self.CreateNewProcess("process")
        for name, period in (("physics", PHYSICS), ("control", CONTROL)):
            process.addTask(self.CreateNewTask(name, macros.sec2nano(period)))
        self.body = spacecraft.Spacecraft()
        hub, axis = self.body.hub, rng.normal(size=3)
        hub.mHub, hub.IHubPntBc_B = own["mass"], np.diag(inertia).tolist()
        sigma = axis / np.linalg.norm(axis) * np.tan(rng.uniform(0.2, 3.1) / 4.0)
        hub.sigma_BNInit = sigma[:, np.newaxis].tolist()
        hub.omega_BN_BInit = rng.uniform(-0.005, 0.005, (3, 1)).tolist()
        wheels, friction = simIncludeRW.rwFactory(), 2.0 ** rng.uniform(-1.0, 1.0)
        for k, one in enumerate(own["axes"]):
            wheels.create(
                "custom", one, u_max=own["torque"], maxMomentum=own["momentum"],
                Omega_max=own["momentum"] / own["inertia"] / macros.RPM, useRWfriction=True,
                fCoulomb=own["coulomb"] * friction, RWModel=messaging.BalancedWheels, label=f"w{k}",
            )  # fmt: skip
        effector = reactionWheelStateEffector.ReactionWheelStateEffector()
        wheels.addToSpacecraft("wheels", effector, self.body)
        shown, target = simpleNav.SimpleNav(), inertial3D.inertial3D()
        deviations = np.zeros(18)
        deviations[6:9], deviations[9:12] = NOISE["attitude"] / 4.0, NOISE["rate"]
        shown.PMatrix = np.diag(deviations).tolist()
        shown.walkBounds = [[1e-3]] * 18
        shown.scStateInMsg.subscribeTo(self.body.scStateOutMsg)
        error, law = attTrackingError.attTrackingError(), mrpFeedback.mrpFeedback()
        error.attNavInMsg.subscribeTo(shown.attOutMsg)
        error.attRefInMsg.subscribeTo(target.attRefOutMsg)
        law.K, law.P, law.Ki = 0.02, 0.06, -1.0
        known = messaging.VehicleConfigMsgPayload()
        known.ISCPntB_B = np.diag(inertia).ravel().tolist()
        self.known, self.wheels = messaging.VehicleConfigMsg().write(known), wheels
        config = wheels.getConfigMessage()
        law.guidInMsg.subscribeTo(error.attGuidOutMsg)
        law.vehConfigInMsg.subscribeTo(self.known)
        law.rwParamsInMsg.subscribeTo(config)
        law.rwSpeedsInMsg.subscribeTo(effector.rwSpeedOutMsg)
        split = rwMotorTorque.rwMotorTorque()
        split.controlAxes_B = np.eye(3).ravel().tolist()
        split.vehControlInMsg.subscribeTo(law.cmdTorqueOutMsg)
        split.rwParamsInMsg.subscribeTo(config)
        effector.rwMotorCmdInMsg.subscribeTo(split.rwMotorTorqueOutMsg)
        self.seen = self.body.scStateOutMsg.recorder(macros.sec2nano(CONTROL))
        self.msgRecList = {"seen": self.seen}
        self.models = effector, self.body, shown, self.seen
        self.software = target, error, law, split
        for task, models in (("physics", self.models), ("control", self.software)):
            for one in models:
                self.AddModelToTask(task, one)


def execute(slew: Slew) -> float:
    """Fly it; the attitude error at the end [deg]."""
    slew.InitializeSimulation()
    slew.ConfigureStopTime(macros.sec2nano(LASTS))
    slew.ExecuteSimulation()
    return float(np.degrees(4.0 * np.arctan(np.linalg.norm(slew.seen.sigma_BN[-1]))))


def fly_many(runs: int) -> list[float]:
    return [execute(Slew()) for _ in range(runs)]


def by_processes(runs: int, jobs: int) -> None:
    with multiprocessing.Pool(jobs) as pool:
        pool.map(fly_many, [runs // jobs] * jobs, chunksize=1)


def by_controller(runs: int, jobs: int, folder: str) -> None:
    """Basilisk's own Monte Carlo, which keeps the attitude of each run in a file."""
    monte_carlo, kept = Controller(), RetentionPolicy()
    monte_carlo.setSimulationFunction(Slew)
    monte_carlo.setExecutionFunction(execute)
    monte_carlo.setExecutionCount(runs)
    monte_carlo.setThreadCount(jobs)
    monte_carlo.setShouldArchiveParameters(True)
    monte_carlo.setArchiveDir(f"{folder}/archive")
    kept.addMessageLog("seen", ["sigma_BN"])
    monte_carlo.addRetentionPolicy(kept)
    if failed := monte_carlo.executeSimulations():
        raise RuntimeError(f"Basilisk could not fly {len(failed)} of {runs} runs")


def read_numbers() -> None:
    """Put the numbers of the task's satellite where every process finds them."""
    import gymnasium as gym

    base = gym.make(ENV).unwrapped
    wheels = base.resolved["actuator"]["ReactionWheels"]
    own = {name: one["value"] for name, one in wheels.items() if "value" in one}
    body = {"moments": base.body.moments.tolist(), "mass": base.body.mass}
    os.environ[BODY] = json.dumps(own | body)


def main() -> None:
    from rbgym.agents import campaign

    read_numbers()
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=4096, help="of rbgym; Basilisk flies an eighth")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    given = parser.parse_args()
    few, found = given.runs // 8, dict[str, float]()

    def fly(folder: str, runs: int, **kwargs: Any) -> None:
        campaign(ENV, LAW, runs, folder, spread=SPREAD, jobs=given.jobs, **kwargs)

    def timed(name: str, runs: int, call: Callable[..., None], *given: Any, **more: Any) -> None:
        started = time.perf_counter()
        call(*given, **more)
        found[name] = round(runs / (time.perf_counter() - started), 1)
        print(f"{name}: {found[name]} runs a second", flush=True)

    with tempfile.TemporaryDirectory() as home:
        noisy: dict[str, Any] = {"env_kwargs": {"sensor": NOISE}}
        filtered: dict[str, Any] = {"env_kwargs": WITH_FILTER, "estimator": True}
        for k, kwargs in enumerate((noisy, filtered)):
            fly(f"{home}/first-{k}", 512 * given.jobs, **kwargs)
        timed("rbgym", given.runs, fly, f"{home}/noisy", given.runs, **noisy)
        timed("rbgym, filter and delay", given.runs, fly, f"{home}/all", given.runs, **filtered)
        timed("Basilisk, processes", few, by_processes, few, given.jobs)
        timed("Basilisk, its controller", few // 8, by_controller, few // 8, given.jobs, home)
        print(f"Basilisk ends within {np.median(fly_many(16)):.3f} deg in the median of 16 runs")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
