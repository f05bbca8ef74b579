"""Targets of what acts and what is judged: controllers, networks, rollouts, cards."""

import tempfile
from dataclasses import asdict
from functools import partial

import numpy as np

import rbgym
from fuzzing.contract import target
from fuzzing.core import BODY
from fuzzing.environments import created
from rbgym import agents
from rbgym.agents import controllers
from rbgym.agents.export import export_c, export_onnx
from rbgym.agents.judge import card, evaluation
from rbgym.agents.policies import Attitude, Integral, Network, SunDirection, Trend, trained
from rbgym.agents.train import hyperparameters_of, rollouts, train
from rbgym.agents.train.sb3.adapter import VectorEnvAdapter, make_sb3_env
from rbgym.eigenaxis import eigenaxis_time
from rbgym.envs.actuators import Scaling
from rbgym.envs.parts.sensors import Instruments

SLEW = "AttitudeSlew-v1"
NETWORK = Network.random((7, 4, 3), 0)
SEEN = np.full((2, 7), 0.5)


def _obeyed(name, columns, **given):
    """Made, and asked for commands."""
    return getattr(controllers, name)(**given).predict(np.full((2, columns), 0.5))[0]


def _laws():
    goals = {name: created(name).goal for name in ("SteadyPrecession-v0", "IntermediateAxis-v0")}
    case = {"body": BODY, "torque_limit": (0.1, 0.2, 0.1), "rate_limit": 5.0, "dt": 0.02}
    linear = {**case, "frequency": 0.4, "damping": 1.0}
    top = {**case, "potential": rbgym.HeavyTop(0.5), "tolerances": (0.03, 1.0, 1.0)}
    coils = {"gain": 1.0, "dipole": 1.0, "field": 3e-5, "width": 7}
    precession = {
        **case,
        "body": rbgym.RigidBody([2.0, 2.0, 1.5]),
        "goal": goals["SteadyPrecession-v0"],
        "tolerances": (0.1, 1.0, 1.0, 5.0),
    }
    swing = {**top, "gain": 20.0, "capture": 0.3, "damping_time": 0.1, "catch": "lqr"}
    pose = {"force_limit": 1.0, "distance": 0.1, "speed": 0.1, "approach": 0.4, "near": 0.35,
            "creep": 0.1}  # fmt: skip
    spin = {"body": BODY, "scaling": Scaling(1.0), "strength": 1.0, "rate_limit": 5.0,
            "spin_scale": 5.0, "frequency": 0.4, "damping": 1.0}  # fmt: skip
    # The columns of what each reads, and its arguments.
    given = {
        "AttitudePD": (7, linear),
        "AxisPD": (7, {**linear, "potential": rbgym.HeavyTop(0.5), "spin_time": 0.1}),
        "RateDamping": (7, {**case, "time": 1.0}),
        "QuaternionFeedback": (7, {**linear, "slew_rate": 0.5}),
        "AttitudePID": (7, {**linear, "integral_time": 10.0}),
        "Hysteretic": (7, {**linear, "delta": 0.1}),
        "GeometricTracking": (10, linear),
        "AttitudeLQR": (7, {**case, "tolerances": (0.2, 0.1)}),
        "UprightLQR": (7, top),
        "SpinLQR": (7, {**case, "goal": goals["IntermediateAxis-v0"], "tolerances": (0.3,) * 3}),
        "PrecessionLQR": (7, precession),
        "BangBang": (7, {**case, "layer": 0.1, "braking": 0.9, "slew_rate": 0.5}),
        "SwingUp": (7, swing),
        "MagneticRate": (10, {**coils, "rate_limit": 1.0}),
        "BDot": (10, {**coils, "dt": 1.0}),
        "Detour": (10, {**linear, "cones": [((0.0, 0.0, 1.0), 0.3)], "column": 7, "margin": 0.1}),
        "SpinByScale": (10, spin),
        "SunPointing": (9, {**linear, "normals": [(0, 0, 1.0)] * 6, "rates": 0, "cells": 3}),
        "PosePD": (13, {**linear, **pose}),
        "Idle": (7, {"channels": 3}),
    }
    for name, (columns, values) in given.items():
        made = target(f"rbgym.agents.controllers.{name}", partial(_obeyed, name, columns), **values)
        yield made.but(plain=True)


def _made():
    slew, idle = created(SLEW), controllers.Idle(3)
    estimating = controllers.Estimating(idle, Instruments(), rate_limit=2.0, dt=0.1)
    yield target("rbgym.agents.controllers.make", controllers.make, name="pd", env=slew,
                 frequency=0.4, damping=1.0)  # fmt: skip
    yield target("rbgym.agents.controllers.at_work", controllers.at_work, policy=idle, env=slew)
    yield target("rbgym.agents.controllers.for_env", controllers.for_env, env=slew)
    yield target("rbgym.agents.controllers.validity", controllers.validity, name="pd", env=slew)
    yield target("rbgym.agents.controllers.Controller.predict", idle.predict, observation=SEEN)
    yield target("rbgym.agents.controllers.Estimating", controllers.Estimating, policy=idle,
                 sensor=Instruments(), rate_limit=2.0, dt=0.1, valid=7)  # fmt: skip
    yield target("rbgym.agents.controllers.Estimating.predict", estimating.predict,
                 observation=SEEN)  # fmt: skip
    waking = created("DetumbleToPoint-v0")
    whole = controllers.make("supervisor", waking)
    finding = controllers.Acquiring
    yield target("rbgym.agents.controllers.Acquiring", finding, **asdict(whole.filter))
    yield target("rbgym.agents.controllers.Acquiring.for_env", finding.for_env, env=waking)
    yield target("rbgym.agents.policies.Attitude", Attitude, filter=whole.filter)
    yield target("rbgym.agents.controllers.Supervisor", controllers.Supervisor, calm=0.02, sure=0.1,
                 filter=whole.filter, damping=whole.damping, pointing=whole.pointing)  # fmt: skip
    for name in controllers.for_env(slew):
        yield target(f"rbgym.agents.controllers.make({name!r}).predict",
                     partial(_actions, controllers.make(name, slew)), observation=SEEN,
                     episode_start=np.ones(2, bool)
                     ).but(plain=True, loose=("episode_start",))  # fmt: skip
    yield target("rbgym.eigenaxis.eigenaxis_time", eigenaxis_time, angle=1.0, axis=(0, 0, 1.0),
                 inertia=(1.0, 2.0, 2.5), torque_limit=(0.1, 0.1, 0.1), rate_limit=0.5
                 ).but(plain=True, finite=False, loose=("torque_limit", "rate_limit"))  # fmt: skip


def _actions(policy, **given):
    return policy.predict(**given)[0]


def _acting(**given):
    return _actions(Network(**given), observation=SEEN)


def _networks():
    arrays, config = NETWORK.to_arrays()
    yield target("rbgym.agents.policies.Network", _acting, layers=((np.ones((3, 7)), np.zeros(3)),),
                 activation="tanh", output="clip", normalizer=None, memory=None)  # fmt: skip
    yield target("rbgym.agents.policies.Integral", Integral, column=1, edge=0.1, share=0.5
                 ).but(finite=False)  # fmt: skip
    yield target("rbgym.agents.policies.Trend", Trend, column=1, width=2, share=0.5
                 ).but(finite=False)  # fmt: skip
    yield target("rbgym.agents.policies.SunDirection", SunDirection, column=3, rates=0,
                 normals=np.eye(3), turn=0.1, share=0.5).but(finite=False)  # fmt: skip
    yield target("rbgym.agents.policies.Network.random", Network.random, sizes=(7, 4, 3), seed=0,
                 activation="tanh", output="clip").but(finite=False)  # fmt: skip
    yield target("rbgym.agents.policies.Network.with_parameters", NETWORK.with_parameters,
                 vector=NETWORK.parameters()).but(finite=False)  # fmt: skip
    yield target("rbgym.agents.policies.Network.predict", partial(_actions, NETWORK),
                 observation=SEEN)  # fmt: skip
    yield target("rbgym.agents.policies.Network.from_arrays", Network.from_arrays, arrays=arrays,
                 config=config).but(finite=False)  # fmt: skip
    yield target("rbgym.agents.policies.Network.from_model", Network.from_model, model=None)


def _works():
    small = {"env_id": SLEW, "episodes": 1, "env_kwargs": {"max_episode_steps": 2}}
    of_network = partial(agents.rollout, **small)
    yield target("rbgym.agents.rollout", of_network, networks=NETWORK)
    yield target("rbgym.agents.train.rollout", agents.rollout, networks=NETWORK, **small, seed=0,
                 seeds=[1, 2]).but(loose=("seed",))  # fmt: skip
    yield target("rbgym.agents.train.rollout_test_set", rollouts.rollout_test_set,
                 networks=NETWORK, **small)  # fmt: skip
    yield target("rbgym.agents.load", agents.load, name=SLEW)
    yield target("rbgym.agents.policies.load", trained.load, name="x.zip")
    yield target("rbgym.agents.judge.evaluate", evaluation.evaluate, policy="idle", env_id=SLEW,
                 episodes=1, max_episode_steps=2)  # fmt: skip
    yield target("rbgym.agents.judge.make_card", card.make_card, **small, targets=["idle"]).but(
        attacked=("env_id", "targets", "episodes")
    )
    yield target("rbgym.agents.train.train", partial(train, "No-v0", out="/nowhere"),
                 algo="ppo")  # fmt: skip
    for export in (export_c, export_onnx):
        yield target(f"rbgym.agents.export.{export.__name__}", partial(_written, export),
                     policy=NETWORK, env=created(SLEW), about={"policy": "a"})  # fmt: skip
    yield target("rbgym.agents.train.hyperparameters_of", hyperparameters_of, env_id=SLEW,
                 algo="ppo", changes={})  # fmt: skip
    yield target("rbgym.agents.train.make_sb3_env", make_sb3_env, env_id=SLEW, num_envs=2, seed=0)
    yield target("rbgym.agents.train.VectorEnvAdapter", VectorEnvAdapter,
                 vector_env=created(SLEW, True, num_envs=2, autoreset_mode="SameStep"))  # fmt: skip


def _written(export, **given):
    with tempfile.TemporaryDirectory() as folder:
        export(folder, **given)


def targets():
    works = [made.but(finite=False) for made in _works()]
    return [*_laws(), *_made(), *_networks(), *works]
