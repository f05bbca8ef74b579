"""Training that imitates a law and climbs from there, or climbs by gradients through the physics
alone; what its network is shown."""

import itertools
import json
import shlex
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import gymnasium as gym
import numpy as np
import pytest

from refusals import refused

pytest.importorskip("stable_baselines3")

import torch
from safetensors.numpy import load_file

import rbgym.agents
from rbgym.agents import controllers
from rbgym.agents.cases import SPLITS, in_time, starts_of, task_of, training_seeds
from rbgym.agents.judge import evaluate
from rbgym.agents.policies import Network, trained
from rbgym.agents.policies.network import Normalizer
from rbgym.agents.train import DifferentiableEnv, analytic, auto, hyperparameters_of, run, train

pytestmark = pytest.mark.interpreted

SHELF = Path(rbgym.agents.__file__).parent / "pretrained"
TASK = "Detumble-v1"  # its episodes are short
REACH = {"env_id": "AttitudeReach-v0", "changes": {"learning_starts": 2399}}
START = {"env_id": "AttitudeSlew-v1", "init_from": SHELF / "AttitudeSlew-v1"}
OURS = SHELF.parent / "hyperparameters" / "auto.yml"
SMALL = {
    "lanes": 16, "rounds": 2, "epochs": 2, "n_envs": 8, "horizon": 4, "iterations": 6, "warm": 2,
    "net_arch": [16],
}  # fmt: skip
APG = {"iterations": 12, "n_envs": 8, "horizon": 4, "net_arch": [8]}


def held(folder):
    return load_file(folder / "policy.safetensors")


@pytest.mark.compiled
@pytest.mark.slow
def test_a_network_learns_what_a_law_does_and_ends_no_worse(tmp_path):
    numbers, said = torch.get_rng_state(), list[str]()
    more = {"lanes": 64, "rounds": 3, "iterations": 40, "warm": 10, "net_arch": [64], "epochs": 6}
    done = train(TASK, "auto", out=tmp_path, changes=SMALL | more, report=said.append)
    found = done.results
    assert found["idle"]["success_rate"] == 0.0
    assert found["teacher"]["law"] in controllers.for_env(gym.make(TASK))
    # The first look is at what was imitated, and the best look is what is kept.
    first, *_ = looks = [(one["success_rate"], one["mean_return"]) for one in found["judgements"]]
    assert first[1] > found["idle"]["mean_return"]
    policy = rbgym.agents.load(tmp_path)
    assert policy.network.output == "clip"
    kept = evaluate(policy, TASK, split="validation")
    assert (best := looks[found["kept"]]) == max(looks)
    assert (kept.success_rate, kept.mean_return) == pytest.approx(best, rel=1e-12)
    tested = evaluate(policy, TASK)
    assert found["test"]["mean_return"] == pytest.approx(tested.mean_return, rel=1e-12)
    assert found["timesteps"] == 3 * 64 * 100 + 40 * 8 * 4
    assert said[0].startswith("teacher ")
    assert said[1].startswith("starts with: success ")
    assert said[-1].startswith(f"step {found['timesteps']:,} of ")
    assert list((tmp_path / "tb").iterdir())
    # Another one begins where this one ended.
    same = {"n_envs": 8, "horizon": 4, "iterations": 6, "warm": 2, "net_arch": [64]}
    again = train(TASK, out=tmp_path / "more", init_from=tmp_path, changes=same).results
    begun = again["judgements"][0]
    assert (begun["success_rate"], begun["mean_return"]) == pytest.approx(best, rel=1e-12)
    assert (torch.get_rng_state() == numbers).all()


@pytest.mark.compiled
@pytest.mark.slow
@pytest.mark.parametrize(
    ("env_id", "algo", "changes"), [(TASK, "auto", SMALL), ("RigidTop-v0", "apg", APG)]
)
def test_an_interrupted_training_ends_with_the_same_weights(
    tmp_path, monkeypatch, env_id, algo, changes
):
    again = partial(train, env_id, algo, changes=changes)
    whole, judge, said = again(out=tmp_path / "whole"), analytic.Learner.judge, list[str]()

    def interrupted(learner, config):
        if learner.iteration == changes["iterations"] - 2:
            raise KeyboardInterrupt
        return judge(learner, config)

    monkeypatch.setattr(analytic.Learner, "judge", interrupted)
    with pytest.raises(KeyboardInterrupt):
        again(out=tmp_path / "cut")
    monkeypatch.undo()
    resumed = again(out=tmp_path / "cut", report=said.append)
    assert resumed.results["timesteps"] == whole.results["timesteps"]
    assert resumed.resumed_from == whole.results["timesteps"] - 3 * 8 * 4
    assert any(f"from step {resumed.resumed_from}" in one for one in said)
    np.testing.assert_equal(*(held(tmp_path / name) for name in ("whole", "cut")))
    assert again(out=tmp_path / "cut").resumed_from is None


def test_without_a_derivative_the_network_imitates_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "worth", lambda *a, **k: {"success_rate": 0.0, "mean_return": 0.0})
    said: list[str] = []
    kwargs = {"actuator": {"thrusters": {}}, "max_episode_steps": 12}
    changes = SMALL | {"teacher": "pd"}
    done = train(TASK, "auto", out=tmp_path, changes=changes, env_kwargs=kwargs, report=said.append)
    assert said[0].startswith("imitation only, as ")
    assert done.results["timesteps"] == 2 * 16 * 12
    assert json.loads((tmp_path / "policy.json").read_text())["algo"] == "auto"
    more = partial(train, TASK, out=tmp_path, changes=changes, env_kwargs=kwargs, timesteps=999)
    assert more().results == done.results  # nothing is there to continue
    done.folder.checkpoint.touch()  # as of gradients
    with pytest.raises(ValueError, match="without pulses"):
        more()
    assert done.folder.results.exists()


def test_steps_alone_leave_the_algorithm_of_the_recipe(tmp_path, monkeypatch):
    asked: list[tuple[str, int]] = []

    def learn(job, timesteps):
        asked.append((job.algo, timesteps))

    monkeypatch.setattr(auto.sb3, "learn", learn)
    train("RigidTop-v0", out=tmp_path, timesteps=100)
    assert asked == [("ppo", 100)]
    first = hyperparameters_of("RigidTop-v0", timesteps=100)
    other = hyperparameters_of("RigidTop-v0", "ppo", changes={"policy": "Other"})
    assert (first["algo"], first["n_timesteps"], other["policy"]) == ("ppo", 100, "Other")
    lawless = {"env_kwargs": {"observation": "mrp"}}
    again = hyperparameters_of("RigidTop-v0", init_from=SHELF / "RigidTop-v0", **lawless)
    assert (again["algo"], "net_arch" in again) == ("auto", False)
    assert hyperparameters_of("AttitudeSlew-v1", **lawless)["algo"] == "ppo"
    said: list[str] = []
    auto.decide(run.Job("RigidTop-v0", "auto", ".", changes={"gamma": 0.9}, report=said.append))
    assert said == ["training with auto, not the recipe's ppo: see --algo ppo"]


def test_a_training_has_the_reward_and_the_time_limit_of_its_env(monkeypatch):
    spec, shape = gym.spec(TASK), type(task_of(TASK).dense())
    monkeypatch.setitem(spec.kwargs, "reward", "sparse")
    assert auto.weights_of(TASK, {}, 2) == {"margin": 2, "success": 1.0}
    monkeypatch.setattr(shape, "rows_needed", lambda *of: 1)
    assert auto.weights_of(TASK, {"reward": "dense"}, 0) == {}
    with pytest.raises(ValueError, match=r"margin must be 0 .* with memory, got 2"):
        auto.weights_of(TASK, {"reward": "dense"}, 2)
    assert in_time(TASK, {"max_episode_steps": None}) == {}
    monkeypatch.setattr(spec, "max_episode_steps", None)
    with pytest.raises(ValueError, match=f"max_episode_steps must be given for {TASK}, got None"):
        in_time(TASK, {"satellite": "cubesat-6u"})


def test_success_within_its_interval_does_not_decide_on_what_is_better():
    worse, better, failing = (
        {"success_rate": rate, "mean_return": mean}
        for rate, mean in ((1.0, 103.7), (0.996, 107.6), (0.9, 200.0))
    )
    for one, other in ((better, worse), (worse, failing)):
        assert run.is_better(one, other)
        assert not run.is_better(other, one)


def test_a_policy_that_does_not_fit_is_not_begun_with(tmp_path):
    env, relu = gym.make("RigidTop-v0"), Network.random((7, 4, 3), 0, activation="relu")
    trained.write(tmp_path, relu, (env.observation_space, env.action_space), {})
    with pytest.raises(ValueError, match=r"init_from must have tanh .* got 'relu' and 'clip'"):
        train("RigidTop-v0", out=tmp_path / "run", init_from=tmp_path)
    shown = gym.make("AttitudeSlew-v1", observation="mrp").observation_space
    trained.write(tmp_path, Network.random((6, 4, 3), 0), (shown, env.action_space), {})
    given = {"init_from": tmp_path, "env_kwargs": {"observation": "log_error"}}
    with pytest.raises(ValueError, match=r"init_from does not fit, .* have the observation_sp"):
        train("AttitudeSlew-v1", out=tmp_path / "run", **given)


def test_a_training_begins_with_the_commands_of_the_policy_it_is_given():
    shelf = SHELF / "SoftWall-v0"  # trained without a normaliser
    config = run.config_of(run.Job("SoftWall-v0", "auto", ".", init_from=shelf), {})
    network, _ = run.first_network(config)
    space = gym.make("SoftWall-v0").observation_space
    space.seed(0)
    seen = space.sample()
    own = trained.load(shelf).network.predict(seen)[0]
    np.testing.assert_array_equal(network.predict(seen)[0], own)
    assert analytic.Shown(network.normalizer)(torch.tensor(seen[None])).shape == (1, seen.size)


@pytest.mark.parametrize(
    ("env_id", "goal"),
    [("AttitudeTracking-v1", "target_angular_velocity"), ("ScalableSpin-v0", "wanted_spin")],
)
def test_the_first_units_of_a_follower_see_how_its_rates_differ(env_id, goal):
    env = gym.make(env_id).unwrapped
    config = run.config_of(run.Job(env_id, "auto", "."), {"net_arch": [16]})
    network, _ = run.first_network(config)
    seen, _ = env.reset(seed=0)
    own, wanted = (env.columns[n] for n in ("angular_velocity", goal))
    off = seen[own.place][-wanted.size :] * own.factor - seen[wanted.place] * wanted.factor  # rad/s
    units = (network.layers[0][0] @ network.normalizer(seen))[: 3 * wanted.size].reshape(3, -1)
    np.testing.assert_allclose(units, np.outer(units[:, 0] / off[0], off), rtol=1e-4)
    assert units[0] @ off / (off @ off) == pytest.approx(0.35 / env.task.rate, rel=1e-4)


def test_where_little_of_a_law_is_imitated_the_next_one_is_tried(tmp_path, monkeypatch):
    laws, flown = [], auto.imitate
    monkeypatch.setattr(auto, "imitate", lambda law, *a: laws.append(law) or flown(law, *a))

    def worth(policy, config, split="validation", episodes=256):
        known = {"bang_bang": 1.0, "pd": 0.9, "hysteretic": 0.9, "idle": 0.0}  # it has a memory
        rate = known.get(policy, 0.5) if isinstance(policy, str) else 0.4
        return {"success_rate": rate, "mean_return": 10.0 - len(laws) + (policy == "hysteretic")}

    monkeypatch.setattr(run, "worth", worth)
    kwargs = {"actuator": {"thrusters": {}}, "max_episode_steps": 5}
    said: list[str] = []
    train("AttitudeSlew-v1", out=tmp_path, changes=SMALL, env_kwargs=kwargs, report=said.append)
    assert laws == ["bang_bang", "pd"]
    assert "imitated: success 40.0 %, mean return 9.0; trying pd" in said
    laws.clear()
    monkeypatch.setitem(vars(auto), "_WEAK", 0.3)
    train("AttitudeSlew-v1", out=tmp_path / "other", changes=SMALL, env_kwargs=kwargs)
    assert laws == ["bang_bang"]


def test_what_is_fitted_is_what_the_law_commands_where_the_network_leads():
    lanes = gym.make_vec(TASK, 4, max_episode_steps=10)
    law, shown = controllers.make("pd", lanes), run.normalizer_for(lanes)
    network = analytic.calm(Network.random((shown.mean.size, 4), 0, normalizer=shown))
    learner = auto.Imitation(lanes, law, network, 10)
    learner.one_round(training_seeds(0, 4), 1)
    learner.one_round(training_seeds(1, 4), 1)
    # In the first round the law steers all lanes, in the second some.
    for met, said in zip(learner.met, learner.said, strict=True):
        expected = np.clip(law.predict(met)[0], -1.0, 1.0)
        np.testing.assert_allclose(said, expected, rtol=0, atol=1e-6)
    assert (learner.steps, len(learner.met[0])) == (2 * 4 * 10, 4 * 10)
    # Small commands are fitted as well as large ones.
    small = SimpleNamespace(predict=lambda *seen: (1e-3 * law.predict(*seen)[0], None))
    other = auto.Imitation(lanes, small, network, 10)
    other.one_round(training_seeds(0, 4), 1500)
    fitted = analytic.as_network(network, other.actor).predict(other.met[0])[0]
    assert np.std(fitted - other.said[0]) < 0.3 * np.std(other.said[0])


def test_a_law_with_a_memory_begins_anew_where_an_episode_does():
    lanes = gym.make_vec(TASK, 2, max_episode_steps=3)
    width, flags = lanes.single_observation_space.shape[0], []

    class Recording:
        def predict(self, observation, memory, begins):
            flags.append(bool(begins[0]))
            return np.zeros((2, 4)), None

    plain = Normalizer(np.zeros(width), np.ones(width))
    learner = auto.Imitation(lanes, Recording(), Network.random((width, 4), 0, normalizer=plain), 8)
    learner.one_round([0, 1], 1)
    # Three steps, and one that only begins the next episode: its command is not learned from.
    assert flags == [True, False, False, False, True, False, False, False]
    assert len(learner.met[0]) == 2 * 6


def test_errors_at_the_edge_of_success_are_seen_on_the_finest_scale():
    env = gym.make("InertialPointing-v0")
    own, base = run.normalizer_for(env), env.unwrapped
    coarse, fine = own.scale[: own.width], own.scale[-own.width :]
    assert (own.columns[-own.width :] == range(own.width)).all()
    rates = base.columns["angular_velocity"]
    angle, rate = 0.5 * base.task.angle, base.task.rate / rates.factor / max(rates.high)
    # Of the geometric mean of both tolerances.
    np.testing.assert_allclose(fine / coarse, 0.35 / np.sqrt(angle * rate), rtol=1e-6)
    assert run.memory_for(env, {"trend": 10.0 * base.dt}).share == pytest.approx(0.1)
    cells = run.normalizer_for(gym.make("SunAcquisition-v0"))  # currents from 0.05 to 1 are seen
    assert cells(np.full(cells.width, 0.525))[3:9] == pytest.approx(np.zeros(6), abs=1e-6)
    coils = gym.make("MomentumDumping-v0")  # its field, the last columns, passes zero at any time
    assert max(run.normalizer_for(coils).repeats) < coils.unwrapped.columns["magnetic_field"].first
    # A task whose goal is a set of attitudes is shown as it is.
    assert run.normalizer_for(gym.make("TopSwingUp-v0")).repeats == ()


def test_the_command_that_a_shipped_policy_names_gives_its_hyperparameters():
    every = (json.loads(file.read_text()) for file in SHELF.rglob("policy.json"))
    for config in (one for one in every if one["algo"] == "auto"):
        words = itertools.pairwise(shlex.split(config["command"]))
        pairs = (word.split("=", 1) for flag, word in words if flag == "--set")
        given = {"changes": {name: json.loads(value) for name, value in pairs}}
        job = run.Job(config["env_id"], "auto", ".", init_from=config["init_from"], **given)
        found = auto.recipe(job)  # with init_from, without the net_arch that a file may have
        had = {"passes": 4, "price": 0} | config["hyperparameters"]  # older files do not name them
        own = {key: had.get(key) for key in found}
        assert own == found, config["command"]


def test_a_cone_is_seen_on_its_own_scale_where_the_boresight_meets_it():
    shown = run.normalizer_for(gym.make("KeepOutSlew-v0"))  # a cone of 0.3 rad about z
    assert shown.repeats[-3:] == (7, 8, 9)
    assert not {7, 8, 9} & {*shown.repeats[:-3]}
    edge, inside = (np.sin(0.3), 0.0, np.cos(0.3)), (0.0, 0.0, 1.0)
    for direction, expected in (edge, [0.5, 0.0, 0.0]), (inside, [0.0, 0.0, 0.5]):
        found = shown(np.r_[np.eye(7)[0], direction])[-3:]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


def test_the_end_of_an_episode_is_priced_by_what_is_lost_with_it():
    learner = SimpleNamespace(chosen={"margin": 2.0, "price": 5}, _slow=lambda shown: shown)
    values, over = torch.tensor([[4.0], [4.0], [-1.0]]), torch.tensor([True, False, True])
    assert analytic.Learner._price(learner, values, over).tolist() == [11.0, 1.0, 1.0]
    with pytest.raises(ValueError, match="price plays no part without a margin, got 5"):
        hyperparameters_of("KeepOutSlew-v0", changes={"margin": 0, "price": 5})


def test_a_network_sees_repeated_columns_each_on_its_own_scale(tmp_path):
    mean, factor = np.array([0.1, 0.0, 0.0, 0.1, 0.2]), np.array([1.0, 1.0, 1.0, 20.0, 400.0])
    own = Normalizer(mean, factor**-2.0, 1.0, 1e-12, (0, 2))
    network = Network.random((5, 8, 2), 1, normalizer=own)
    seen = np.random.default_rng(0).uniform(-1, 1, (6, 3)).astype(np.float32)
    seen[0] = 0.1 + 1e-3
    x = np.clip((seen[:, [0, 1, 2, 0, 2]] - mean) * factor, -1, 1)
    (W, b), (V, c) = network.layers
    expected = np.clip(np.tanh(x @ W.T + b) @ V.T + c, -1, 1)
    np.testing.assert_allclose(network.predict(seen)[0], expected, rtol=0, atol=1e-5)
    again = Network.from_arrays(*network.to_arrays())
    np.testing.assert_array_equal(again.predict(seen)[0], network.predict(seen)[0])
    assert network.width == 3
    with pytest.raises(ValueError, match="repeats must be columns from 0 to 2, got"):
        Normalizer(mean, factor, 1.0, 1e-12, (0, 3))
    with pytest.raises(ValueError, match="networks must be alike"):
        rbgym.agents.policies.forward.Stack.of([network, Network.random((5, 8, 2), 1)])


def test_no_two_sets_of_starts_share_a_seed():
    sets = [set(SPLITS["test"]), set(SPLITS["validation"]), set(training_seeds(0, 64))]
    sets += [set(starts_of(TASK, 300, "fresh", n).seeds) for n in (0, 1)]
    assert len(set.union(*sets)) == sum(map(len, sets)) == 256 + 256 + 64 + 600
    assert starts_of(TASK, 8, "validation").categories == starts_of(TASK, 8).categories


@refused(
    ({"split": "train"}, "split must be one of"),
    ({"seed": 1}, "seed must be left out"),
    ({"split": "fresh", "seed": -1}, "seed must be an integer from 0"),
    ({"split": "validation", "episodes": 257}, "episodes must be from 1 to 256, got 257"),
)
def test_bad_sets_of_starts_are_refused(arguments):
    evaluate("pd", TASK, **arguments)


@refused(
    ("auto", {"changes": {"teacher": "swing_up"}}, "env must"),
    ("auto", {"changes": {"integral": 9.0}}, "integral must be 0 where .*, got 9.0"),
    ("auto", {"changes": {"trend": -1.0}}, "trend must be a positive finite number, got -1.0"),
    ("auto", {"changes": {"trend": 2.0, "integral": 9.0}}, "attitude: all but one must be 0"),
    ("auto", {"changes": {"attitude": 9.0}}, "env must show gyros, a Sun sensor"),
    ("auto", {"changes": {"max_episode_steps": 0}}, "max_episode_steps must be"),
    ("auto", {"changes": {"margin": -10}}, r"margin must be in \[0, 1e\+09\], got -10"),
    ("sac", REACH, "learning_starts must be at least 2400 with hindsight, got 2399"),
    ("auto", {"changes": {"sun": 5.0}}, "sun must be 0 without coarse cells and gyros"),
    ("auto", {"changes": {"algo": "sac"}}, "algo must be an argument, not a hyperparameter"),
    ("auto", {"hyperparameters": OURS, "env_id": "RigidTop-v0"}, "algo must be an argument"),
    ("auto", START | {"changes": {"net_arch": [9]}}, "net_arch must .*init_from's.*got .9]"),
    ("auto", START | {"changes": {"teacher": "pd"}}, "teacher plays no part .*, got 'pd'"),
    ("auto", {"changes": {"teacher": "none", "rounds": 3}}, "rounds plays no part without a"),
    ("auto", START | {"env_kwargs": {"actuator": {"thrusters": {}}}}, "without pulses"),
    ("auto", START | {"env_id": TASK}, "init_from must read 11 numbers and command 4, got 7"),
    ("ppo", START, "init_from plays no part with ppo"),
    ("apg", START | {"changes": {"rates": 5.0}}, "rates play no part"),
    ("apg", {"changes": {"horizons": 3}}, "did you mean 'horizon'"),
    ("apg", {"changes": {"n_envs": 0}}, "n_envs must be"),
    ("apg", {"changes": {"gamma": 1.5}}, "gamma must be"),
    ("apg", {"changes": {"learning_rate": -1.0}}, "learning_rate must be a positive finite"),
    ("apg", {"env_kwargs": {"observation": "worlds"}}, "observation must be one of"),
    ("apg", {"env_kwargs": {"actuator": {"thrusters": {}}}}, "without pulses"),
)
def test_what_does_not_fit_is_refused_before_a_run_is_overwritten(algo, given, tmp_path):
    (tmp_path / "results.json").write_text("{}")
    usual = {"env_id": TASK if algo == "auto" else "RigidTop-v0"}
    try:
        train(algo=algo, out=tmp_path, resume=False, **usual | given)
    finally:
        assert (tmp_path / "results.json").read_text() == "{}"


@pytest.mark.compiled
@pytest.mark.slow
def test_a_top_is_learned_in_a_hundred_iterations(tmp_path):
    numbers = torch.get_rng_state()
    done = train("RigidTop-v0", "apg", out=tmp_path)
    assert done.results["judgements"][-1]["success_rate"] > 0.95
    assert done.results["timesteps"] == 100 * 64 * 32
    policy = rbgym.agents.load(tmp_path)
    assert policy.config["algo"] == "apg"
    assert (policy.network.sizes, policy.network.output) == ((7, 64, 64, 3), "tanh")
    # No global random numbers were drawn.
    assert (torch.get_rng_state() == numbers).all()


@pytest.mark.compiled
@pytest.mark.slow
def test_steps_are_given_as_iterations_and_callbacks_see_each(tmp_path):
    times: list[np.ndarray] = []
    see = [lambda learner: times.append(learner.env.env.state["time"])]
    done = train("RigidTop-v0", "apg", out=tmp_path, changes=APG, timesteps=65, callbacks=see)
    assert done.results["timesteps"] == 3 * 8 * 4
    longer = train("RigidTop-v0", "apg", out=tmp_path, changes=APG, timesteps=129)
    assert (longer.resumed_from, longer.results["timesteps"]) == (3 * 8 * 4, 5 * 8 * 4)
    assert len(times) == 3
    np.testing.assert_allclose(times[2] / times[0], [3, 3, 3, 2, 2, 2, 1, 1])  # lanes begin in turn
    more = train("RigidTop-v0", "apg", out=tmp_path / "more", init_from=tmp_path, timesteps=1)
    assert rbgym.agents.load(more.folder.path).network.output == "tanh"


def test_a_damaged_checkpoint_is_refused_and_kept(tmp_path):
    env = DifferentiableEnv(gym.make_vec("RigidTop-v0", 2))
    chosen = {"learning_rate": 1e-3, "n_envs": 2, "iterations": 1, "net_arch": [4], "rates": 5.0}
    network, _ = run.first_network(run.config_of(run.Job("RigidTop-v0", "apg", tmp_path), chosen))
    learner = analytic.Learner(env, network, chosen, 0)
    learner.save(tmp_path / "whole")
    learner.restore(tmp_path / "whole")
    content = (tmp_path / "whole").read_bytes()
    damaged = [b"PK\x03\x04 torn", b"\x80\x04cos\nsystem\n."]
    for place in range(0, len(content), len(content) // 20):
        damaged.append(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
    for spoilt in damaged:
        (tmp_path / "spoilt").write_bytes(spoilt)
        with pytest.raises(ValueError, match="is damaged, or of another version"):
            learner.restore(tmp_path / "spoilt")
        assert (tmp_path / "spoilt").read_bytes() == spoilt
