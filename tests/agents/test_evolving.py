"""Evolution as a training among others."""

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")
pytest.importorskip("cma")

from safetensors.numpy import load_file

import rbgym.agents
from rbgym.agents.judge.evaluation import evaluate
from rbgym.agents.train.evolution import evolving, search

pytestmark = pytest.mark.interpreted

SMALL = {"generations": 4, "population": 4, "episodes": 4, "net_arch": [4]}


def test_a_search_leaves_a_policy_that_plays_as_the_network_did(tmp_path):
    done = evolving.evolve("RigidTop-v0", out=tmp_path, changes=SMALL)
    policy = rbgym.agents.load(tmp_path)
    assert policy.config["algo"] == "cma_es"
    assert policy.network.sizes == (7, 4, 3)
    # Rates are shown five times as large.
    np.testing.assert_allclose(policy.network.normalizer.scale, [1, 1, 1, 1, 5, 5, 5], rtol=1e-6)
    assert len(done.results["judgements"]) == 4
    assert evaluate(policy, episodes=8).as_dict() == evaluate(policy.network, episodes=8).as_dict()


def test_an_interrupted_search_ends_as_one_that_ran_through(tmp_path, monkeypatch):
    whole = evolving.evolve("RigidTop-v0", out=tmp_path / "whole", changes=SMALL)
    advance = search.State.advance

    def interrupted(state, objective):
        if len(state.history) == 2:
            raise KeyboardInterrupt
        return advance(state, objective)

    monkeypatch.setattr(search.State, "advance", interrupted)
    with pytest.raises(KeyboardInterrupt):
        evolving.evolve("RigidTop-v0", out=tmp_path / "cut", changes=SMALL)
    monkeypatch.undo()
    resumed = evolving.evolve("RigidTop-v0", out=tmp_path / "cut", changes=SMALL)
    assert resumed.resumed_from == 1
    one, other = (load_file(tmp_path / n / "policy.safetensors") for n in ("whole", "cut"))
    assert one.keys() == other.keys()
    for name, value in one.items():
        np.testing.assert_array_equal(value, other[name], err_msg=name)
    assert resumed.results["timesteps"] == whole.results["timesteps"]
    finished = evolving.evolve("RigidTop-v0", out=tmp_path / "cut", changes=SMALL)
    assert finished.resumed_from is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"changes": {"generation": 3}}, "did you mean 'generations'"),
        ({"changes": {"population": 2}}, "population must be an integer from 4 on"),
        ({"changes": {"net_arch": 16}}, "net_arch must be a list of positive integers, got 16"),
        ({"changes": {"rates": 0}}, "rates must be a positive number, got 0"),
        ({"changes": {"sigma": "wide"}}, "sigma must be a positive finite number, got 'wide'"),
        ({"seed": -1}, "seed must be from 0"),
    ],
)
def test_bad_arguments_of_a_search_are_refused_before_a_run_is_overwritten(
    tmp_path, arguments, message
):
    (tmp_path / "results.json").write_text("{}")
    with pytest.raises(ValueError, match=message):
        evolving.evolve("RigidTop-v0", out=tmp_path, resume=False, **arguments)
    assert (tmp_path / "results.json").read_text() == "{}"
