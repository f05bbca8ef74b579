"""Training that imitates a law and climbs from there; what its network is shown."""

import json

import gymnasium as gym
import numpy as np
import pytest

from refusals import refused

pytest.importorskip("stable_baselines3")

import torch
from safetensors.numpy import load_file

import rbgym.agents
from rbgym.agents import controllers
from rbgym.agents.cases import SPLITS, starts_of, training_seeds
from rbgym.agents.judge import evaluate
from rbgym.agents.policies import Network
from rbgym.agents.policies.network import Normalizer
from rbgym.agents.train import analytic, auto, run
from rbgym.agents.train.imitation import Imitation
from rbgym.agents.train.sight import normalizer_for

# Of a task whose episodes are short.
TASK = "Detumble-v1"
SMALL = {
    "lanes": 16, "rounds": 2, "epochs": 2, "n_envs": 8, "horizon": 4, "iterations": 6, "warm": 2,
    "net_arch": [16],
}  # fmt: skip


def held(folder):
    return load_file(folder / "policy.safetensors")


@pytest.mark.slow
def test_a_network_learns_what_a_law_does_and_ends_no_worse(tmp_path):
    numbers, said = torch.get_rng_state(), list[str]()
    more = {"lanes": 64, "rounds": 3, "iterations": 40, "warm": 10, "net_arch": [64], "epochs": 6}
    done = auto.learn(TASK, out=tmp_path, changes=SMALL | more, report=said.append)
    found = done.results
    assert found["idle"]["success_rate"] == 0.0
    assert found["teacher"]["law"] in controllers.for_env(gym.make(TASK))
    # The first look is at what was imitated, and the best look is what is kept.
    first, *_ = looks = [(one["success_rate"], one["mean_return"]) for one in found["judgements"]]
    assert first[1] > found["idle"]["mean_return"]
    policy = rbgym.agents.load(tmp_path)
    assert policy.network.output == "clip"
    kept = evaluate(policy, TASK, split="validation")
    assert (kept.success_rate, kept.mean_return) == pytest.approx(max(looks), rel=1e-12)
    tested = evaluate(policy, TASK)
    assert found["test"]["mean_return"] == pytest.approx(tested.mean_return, rel=1e-12)
    assert found["timesteps"] == 3 * 64 * 100 + 40 * 8 * 4
    assert said[0].startswith("teacher ")
    assert said[1].startswith("imitated: success ")
    assert (torch.get_rng_state() == numbers).all()


@pytest.mark.slow
def test_an_interrupted_training_ends_with_the_same_weights(tmp_path, monkeypatch):
    whole = auto.learn(TASK, out=tmp_path / "whole", changes=SMALL)
    judge, looks = analytic.Learner.judge, list[int]()

    def interrupted(learner, config):
        looks.append(learner.iteration)
        if learner.iteration == 4:
            raise KeyboardInterrupt
        judge(learner, config)

    monkeypatch.setattr(analytic.Learner, "judge", interrupted)
    with pytest.raises(KeyboardInterrupt):
        auto.learn(TASK, out=tmp_path / "cut", changes=SMALL)
    monkeypatch.undo()
    resumed = auto.learn(TASK, out=tmp_path / "cut", changes=SMALL)
    assert looks[0] == 0
    assert resumed.results["timesteps"] == whole.results["timesteps"]
    for name, value in held(tmp_path / "whole").items():
        np.testing.assert_array_equal(value, held(tmp_path / "cut")[name], err_msg=name)
    assert auto.learn(TASK, out=tmp_path / "cut", changes=SMALL).resumed_from is None


@pytest.mark.interpreted
def test_without_a_derivative_the_network_imitates_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "worth", lambda *a, **k: {"success_rate": 0.0, "mean_return": 0.0})
    said: list[str] = []
    kwargs = {"sensor": {"rate": 1e-4}, "max_episode_steps": 12}
    changes = SMALL | {"teacher": "pd"}
    done = auto.learn(TASK, out=tmp_path, changes=changes, env_kwargs=kwargs, report=said.append)
    assert said[0].startswith("imitation alone, as ")
    assert done.results["timesteps"] == 2 * 16 * 12
    assert json.loads((tmp_path / "policy.json").read_text())["algo"] == "auto"


@pytest.mark.interpreted
def test_what_is_fitted_is_what_the_law_commands_where_the_network_leads():
    lanes = gym.make_vec(TASK, 4, max_episode_steps=10)
    law = controllers.make("pd", lanes)
    network = Network.random((normalizer_for(lanes).mean.size, 4, 4), 0,
                             normalizer=normalizer_for(lanes))  # fmt: skip
    actor = analytic.as_modules(network)
    shown = analytic.Shown(network.normalizer)
    learner = Imitation(lanes, law, actor, shown, lambda n: training_seeds(n, 4), 10)
    learner.one_round(1)
    learner.one_round(1)
    # In the first round the law steers all lanes, in the second some.
    for met, said in zip(learner.met, learner.said, strict=True):
        expected = np.clip(law.predict(met)[0], -1.0, 1.0)
        np.testing.assert_allclose(said, expected, atol=1e-6)
    assert learner.steps == 2 * 4 * 10
    assert len(learner.met[0]) == 4 * 10


@pytest.mark.interpreted
def test_a_law_with_a_memory_begins_anew_where_an_episode_does():
    lanes = gym.make_vec(TASK, 2, max_episode_steps=3)
    width, flags = lanes.single_observation_space.shape[0], []

    class Recording:
        def predict(self, observation, memory, begins):
            flags.append(bool(begins[0]))
            return np.zeros((2, 4)), None

    actor = analytic.as_modules(Network.random((width, 4), 0))
    learner = Imitation(lanes, Recording(), actor, lambda x: x, lambda n: [0, 1], 8)
    learner.one_round(1)
    # Three steps, and one that only begins the next episode: its command is not learned from.
    assert flags == [True, False, False, False, True, False, False, False]
    assert len(learner.met[0]) == 2 * 6


@pytest.mark.interpreted
def test_errors_at_the_edge_of_success_are_seen_on_the_finest_scale():
    env = gym.make("InertialPointing-v0")
    own, base = normalizer_for(env), env.unwrapped
    coarse, fine = own.scale[: own.width], own.scale[-own.width :]
    assert (own.columns[-own.width :] == range(own.width)).all()
    rates = base.columns["angular_velocity"]
    angle, rate = 0.5 * base.task.angle, base.task.rate / rates.factor / max(rates.high)
    # Of the geometric mean of both tolerances.
    step = fine[1] / coarse[1]
    assert step * np.sqrt(angle * rate) == pytest.approx(0.35, rel=1e-6)
    np.testing.assert_allclose(fine / coarse, step, rtol=1e-6)
    # A task whose goal is a set of attitudes is shown as it is.
    assert normalizer_for(gym.make("TopSwingUp-v0")).repeats == ()


@pytest.mark.interpreted
def test_a_network_sees_repeated_columns_each_on_its_own_scale(tmp_path):
    mean, factor = np.array([0.1, 0.0, 0.0, 0.1, 0.2]), np.array([1.0, 1.0, 1.0, 20.0, 400.0])
    own = Normalizer(mean, factor**-2.0, 1.0, 1e-12, (0, 2))
    network = Network.random((5, 8, 2), 1, normalizer=own)
    seen = np.random.default_rng(0).uniform(-1, 1, (6, 3)).astype(np.float32)
    seen[0] = 0.1 + 1e-3
    x = np.clip((seen[:, [0, 1, 2, 0, 2]] - mean) * factor, -1, 1)
    (W, b), (V, c) = network.layers
    expected = np.clip(np.tanh(x @ W.T + b) @ V.T + c, -1, 1)
    np.testing.assert_allclose(network.predict(seen)[0], expected, atol=1e-5)
    again = Network.from_arrays(*network.to_arrays())
    np.testing.assert_array_equal(again.predict(seen)[0], network.predict(seen)[0])
    assert network.width == 3
    with pytest.raises(ValueError, match="repeats must be columns from 0 to 2, got"):
        Normalizer(mean, factor, 1.0, 1e-12, (0, 3))
    with pytest.raises(ValueError, match="networks must have one shape"):
        rbgym.agents.policies.forward.Stack.of([network, Network.random((5, 8, 2), 1)])


@pytest.mark.interpreted
def test_no_two_sets_of_starts_share_a_seed():
    sets = [set(SPLITS["test"]), set(SPLITS["validation"]), set(training_seeds(0, 64))]
    sets += [{k for one in starts_of(TASK, 300, "fresh", n) for k in one.seeds} for n in (0, 1)]
    assert len(set.union(*sets)) == sum(map(len, sets)) == 256 + 256 + 64 + 600
    assert {one.category for one in starts_of(TASK, 8, "validation")} == {
        one.category for one in starts_of(TASK, 8)
    }


@pytest.mark.interpreted
@refused(
    ({"split": "train"}, "split must be one of"),
    ({"seed": 1}, "seed must be left out"),
    ({"split": "fresh", "seed": -1}, "seed must be an integer from 0"),
    ({"split": "validation", "episodes": 257}, "episodes must be from 1 to 256, got 257"),
)
def test_bad_sets_of_starts_are_refused(arguments):
    evaluate("pd", TASK, **arguments)


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"teacher": "pdd"}, "teacher must be one of .*did you mean 'pd'"),
        ({"teacher": "swing_up"}, "env must"),
        ({"lanes": 0}, "lanes must be"),
        ({"round": 3}, "did you mean 'rounds'"),
        ({"algo": "sac"}, "algo must be given by itself"),
    ],
)
def test_a_teacher_that_does_not_fit_is_refused_before_a_run_is_overwritten(
    tmp_path, changes, message
):
    (tmp_path / "results.json").write_text("{}")
    with pytest.raises(ValueError, match=message):
        auto.learn(TASK, out=tmp_path, changes=SMALL | changes, resume=False)
    assert (tmp_path / "results.json").read_text() == "{}"
