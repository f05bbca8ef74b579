"""Targets of what acts and what is judged: controllers, networks, rollouts, cards."""

import tempfile
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np

import rbgym
from fuzzing.contract import Target, all_finite
from fuzzing.core import BODY, target
from fuzzing.environments import created
from rbgym import agents
from rbgym.agents import controllers
from rbgym.agents.controllers import (
    AttitudeLQR,
    AttitudePD,
    AttitudePID,
    AxisPD,
    BangBang,
    BDot,
    Detour,
    Estimating,
    GeometricTracking,
    Hysteretic,
    Idle,
    MagneticRate,
    PosePD,
    PrecessionLQR,
    QuaternionFeedback,
    RateDamping,
    SpinByScale,
    SpinLQR,
    SwingUp,
    UprightLQR,
)
from rbgym.agents.export import export_c, export_onnx
from rbgym.agents.judge import card, evaluation
from rbgym.agents.policies import Network, trained
from rbgym.agents.train import train
from rbgym.agents.train.evolution import rollouts
from rbgym.agents.train.evolution.search import search
from rbgym.agents.train.sb3.adapter import VectorEnvAdapter, make_sb3_env
from rbgym.eigenaxis import eigenaxis_time
from rbgym.envs.actuators import Scaling
from rbgym.envs.parts.sensors import Instruments

SLEW = "AttitudeSlew-v1"
NETWORK = Network.random((7, 4, 3), 0)
_ALSO = (rbgym.IntegrationError, gym.error.Error)
_CASE = {"body": BODY, "torque_limit": (0.1, 0.2, 0.1), "rate_limit": 5.0, "dt": 0.02}
_GAINS = {"frequency": 0.4, "damping": 1.0}
_TOP = rbgym.HeavyTop(0.5)


def _obeyed(cls: Any, columns: int, **given: Any) -> Any:
    """Made, and asked for commands."""
    law = cls(**given)
    return law.predict(np.full((2, columns), 0.5))[0]


def _laws() -> list[Target]:
    precessing, spinning = (created(i).goal for i in ("SteadyPrecession-v0", "IntermediateAxis-v0"))
    pose = {"force_limit": 1.0, "distance": 0.1, "speed": 0.1, "approach": 0.4, "near": 0.35,
            "creep": 0.1}  # fmt: skip
    given: list[tuple[Any, int, dict[str, Any]]] = [
        (AttitudePD, 7, {**_CASE, **_GAINS}),
        (AxisPD, 7, {**_CASE, **_GAINS, "potential": _TOP, "spin_time": 0.1}),
        (RateDamping, 7, {**_CASE, "time": 1.0}),
        (QuaternionFeedback, 7, {**_CASE, **_GAINS, "slew_rate": 0.5}),
        (AttitudePID, 7, {**_CASE, **_GAINS, "integral_time": 10.0}),
        (Hysteretic, 7, {**_CASE, **_GAINS, "delta": 0.1}),
        (GeometricTracking, 10, {**_CASE, **_GAINS}),
        (AttitudeLQR, 7, {**_CASE, "tolerances": (0.2, 0.1)}),
        (UprightLQR, 7, {**_CASE, "potential": _TOP, "tolerances": (0.03, 1.0, 1.0)}),
        (SpinLQR, 7, {**_CASE, "goal": spinning, "tolerances": (0.3, 0.3, 0.3)}),
        (PrecessionLQR, 7, {**_CASE, "body": rbgym.RigidBody([2.0, 2.0, 1.5]), "goal": precessing,
                            "tolerances": (0.1, 1.0, 1.0, 5.0)}),
        (BangBang, 7, {**_CASE, "layer": 0.1, "braking": 0.9, "slew_rate": 0.5}),
        (SwingUp, 7, {**_CASE, "potential": _TOP, "gain": 20.0, "capture": 0.3,
                      "damping_time": 0.1, "catch": "lqr", "tolerances": (0.03, 1.0, 1.0)}),
        (MagneticRate, 10, {"gain": 1.0, "dipole": 1.0, "field": 3e-5, "rate_limit": 1.0,
                            "width": 7}),
        (BDot, 10, {"gain": 1.0, "dipole": 1.0, "field": 3e-5, "dt": 1.0, "width": 7}),
        (Detour, 10, {**_CASE, **_GAINS, "cones": [((0.0, 0.0, 1.0), 0.3)], "column": 7,
                      "margin": 0.1}),
        (SpinByScale, 10, {"body": BODY, "scaling": Scaling(1.0), "strength": 1.0,
                          "rate_limit": 5.0, "spin_scale": 5.0, **_GAINS}),
        (PosePD, 13, {**_CASE, **_GAINS, **pose}),
        (Idle, 7, {"channels": 3}),
    ]  # fmt: skip
    found = []
    for cls, columns, values in given:
        numeric = set(values) - {"body", "potential", "scaling", "goal", "catch"}
        found.append(target(
            f"rbgym.agents.controllers.{cls.__name__}", partial(_obeyed, cls, columns), **values,
            _numeric=tuple(numeric), _optional=("slew_rate", "layer"), _also=_ALSO,
            _plain=True, _spoken={"width": ("observation",)},
        ))  # fmt: skip
    return found


def _made() -> list[Target]:
    slew = created(SLEW)
    found = [
        target("rbgym.agents.controllers.make", controllers.make, name="pd", env=slew,
               frequency=0.4, damping=1.0, _numeric=("frequency", "damping"),
               _spoken={"name": ("controller",)}),
        target("rbgym.agents.controllers.for_env", controllers.for_env, env=slew),
        target("rbgym.agents.controllers.Controller.predict", Idle(3).predict,
               observation=np.full((2, 7), 0.5), state=None, episode_start=None,
               deterministic=True, _numeric=("observation",), _attacked=("observation",)),
        target("rbgym.agents.controllers.Estimating", Estimating, policy=Idle(3),
               sensor=Instruments(), rate_limit=2.0, _numeric=("rate_limit",)),
        target("rbgym.agents.controllers.Estimating.predict",
               Estimating(Idle(3), Instruments(), rate_limit=2.0).predict,
               observation=np.full((2, 7), 0.5), state=None, episode_start=None,
               deterministic=True, _numeric=("observation",), _attacked=("observation",)),
    ]  # fmt: skip
    for name in controllers.for_env(slew):
        law = controllers.make(name, slew)
        found.append(target(
            f"rbgym.agents.controllers.make({name!r}).predict", law.predict,
            observation=np.full((2, 7), 0.5), episode_start=np.ones(2, bool),
            _numeric=("observation",), _fine=_actions, _plain=True,
        ))  # fmt: skip
    found.append(target(
        "rbgym.eigenaxis.eigenaxis_time", eigenaxis_time, angle=1.0, axis=(0, 0, 1.0),
        inertia=(1.0, 2.0, 2.5), torque_limit=(0.1, 0.1, 0.1), rate_limit=0.5,
        _numeric=("angle", "axis", "inertia"), _plain=True,
        _fine=lambda _: None,
    ))  # fmt: skip
    return found


def _actions(result: Any) -> None:
    all_finite(result[0])


def _networks() -> list[Target]:
    layers = tuple((np.ones((3, 7)), np.zeros(3)) for _ in range(1))
    arrays, config = NETWORK.to_arrays()
    seen = np.full((2, 7), 0.5)
    vector = NETWORK.parameters()
    return [
        target("rbgym.agents.policies.Network", _acting, layers=layers, activation="tanh",
               output="clip", normalizer=None),
        target("rbgym.agents.policies.Network.random", Network.random, sizes=(7, 4, 3), seed=0,
               activation="tanh", output="clip", _numeric=("sizes", "seed"),
               _fine=lambda _: None),
        target("rbgym.agents.policies.Network.with_parameters", NETWORK.with_parameters,
               vector=vector, _numeric=("vector",), _spoken={"vector": ("layers",)},
               _fine=lambda _: None),
        target("rbgym.agents.policies.Network.predict", NETWORK.predict, observation=seen,
               _numeric=("observation",), _fine=_actions),
        target("rbgym.agents.policies.Network.from_arrays", Network.from_arrays, arrays=arrays,
               config=config, _spoken={"arrays": ("layers",), "config": ("activation", "output")},
               _fine=lambda _: None),
        target("rbgym.agents.policies.Network.from_model", Network.from_model, model=None,
               normalizer=None, _attacked=("model",)),
    ]  # fmt: skip


def _acting(**given: Any) -> None:
    all_finite(Network(**given).predict(np.full((2, 7), 0.5))[0])


def _refused(function: Any, **given: Any) -> None:
    """Cheap as long as it is refused, or so small that it does not matter."""
    function(**given)


def _works() -> list[Target]:
    small = {"episodes": 1, "env_kwargs": {"max_episode_steps": 2}}
    env_id = {
        "env_id": ("env",), "seeds": ("seed",), "env_kwargs": ("arguments", "max_episode_steps")
    }  # fmt: skip
    return [
        target("rbgym.agents.rollout", agents.rollout, networks=NETWORK, env_id=SLEW, **small,
               _attacked=("networks",), _fine=lambda _: None),
        target("rbgym.agents.train.rollout", agents.rollout, networks=NETWORK, env_id=SLEW,
               seed=0, seeds=[1, 2], **small, _also=_ALSO, _spoken={**env_id, "seed": ("seeds",)},
               _fine=lambda _: None),
        target("rbgym.agents.train.rollout_test_set", rollouts.rollout_test_set,
               networks=NETWORK, env_id=SLEW, **small, _also=_ALSO, _spoken=env_id,
               _fine=lambda _: None),
        target("rbgym.agents.load", agents.load, name=SLEW,
               _fine=lambda _: None),
        target("rbgym.agents.policies.load", trained.load, name="x.zip",
               _attacked=("name",)),
        target("rbgym.agents.judge.evaluate", evaluation.evaluate, policy="idle",
               env_id=SLEW, episodes=1, max_episode_steps=2, _also=_ALSO,
               _spoken={**env_id, "policy": ("controller",)}, _fine=lambda _: None),
        target("rbgym.agents.judge.make_card", card.make_card, env_id=SLEW, targets=["idle"],
               **small, _also=_ALSO, _spoken={**env_id, "targets": ("target", "policy")},
               _attacked=("env_id", "targets", "episodes"),
               _fine=lambda _: None),
        target("rbgym.agents.train.search", search, env_id=SLEW, network=NETWORK, generations=1,
               population=4, episodes=1, sigma=0.5, seed=0,
               env_kwargs={"max_episode_steps": 2}, _also=_ALSO, _spoken=env_id,
               _numeric=("sigma", "generations", "population", "episodes", "seed"),
               _fine=lambda _: None),
        target("rbgym.agents.train.train", train, env_id="No-v0", algo="ppo",
               out="/nowhere", seed=0, timesteps=8, _also=_ALSO,
               _attacked=("algo",), _spoken={"algo": ("env_id",)}),
    ]  # fmt: skip


def _exported() -> list[Target]:
    return [
        target(f"rbgym.agents.export.{export.__name__}", partial(_written, export),
               policy=NETWORK, env=created(SLEW), about={"policy": "a"},
               _attacked=("policy", "env", "about"), _fine=lambda _: None)
        for export in (export_c, export_onnx)
    ]  # fmt: skip


def _written(export: Any, **given: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        export(folder, **given)


def _adapted() -> list[Target]:
    more: dict[str, Any] = {"_also": _ALSO, "_fine": lambda _: None}
    return [
        target("rbgym.agents.train.make_sb3_env", make_sb3_env, env_id=SLEW, num_envs=2, seed=0,
               _numeric=("num_envs",), **more),
        target("rbgym.agents.train.VectorEnvAdapter", VectorEnvAdapter,
               vector_env=created(SLEW, True, num_envs=2, autoreset_mode="SameStep"), **more),
    ]  # fmt: skip


def targets() -> list[Target]:
    """All of them."""
    return [*_laws(), *_made(), *_networks(), *_works(), *_exported(), *_adapted()]
