"""Evolution: it finds what it is to find, and goes on exactly where it was interrupted."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("cma")

from rbgym.agents.cases import TEST_SEEDS
from rbgym.agents.policies.network import Network
from rbgym.agents.train.evolution import search as searches
from rbgym.agents.train.evolution.rollouts import rollout_test_set
from rbgym.agents.train.evolution.search import mean_return, search

TOP = "RigidTop-v0"
LINEAR = Network.random((7, 3), 0)
QUICK = {"population": 6, "episodes": 8, "env_kwargs": {"max_episode_steps": 20}}


def quick(generations=5, network=LINEAR, **kwargs):
    return search(TOP, network, generations=generations, **(QUICK | kwargs))


def assert_same(one, other):
    """All but the wall times."""
    same = [[replace(g, seconds=0.0) for g in found.history] for found in (one, other)]
    assert same[0] == same[1]
    np.testing.assert_array_equal(one.network.parameters(), other.network.parameters())


def test_a_linear_law_that_holds_the_top_is_found_from_random_weights():
    found = search(TOP, LINEAR, generations=100, population=16, episodes=8, sigma=2.0)
    assert found.reason == "generations"
    assert found.history[0].success == 0
    assert found.best.success >= 0.9
    assert rollout_test_set(found.network, TOP).success.mean() > 0.8
    assert rollout_test_set(LINEAR, TOP).success.mean() == 0


def test_a_search_depends_on_its_seed_and_not_on_the_generator_of_numpy():
    np.random.seed(1)  # noqa: NPY002  (the global one, which must stay as it is)
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    one = quick()
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
    np.random.seed(2)  # noqa: NPY002
    assert_same(quick(), one)
    assert quick(seed=1).history != one.history


def test_an_interrupted_search_goes_on_as_if_it_had_never_stopped(tmp_path):
    whole, path = quick(8), tmp_path / "search.pkl"

    def interrupt(generation):
        if generation.number == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        quick(8, path=path, progress=interrupt)
    seen = []
    assert_same(quick(8, path=path, progress=seen.append), whole)
    assert [generation.number for generation in seen] == [4, 5, 6, 7]
    seen.clear()
    assert_same(quick(8, path=path, progress=seen.append), whole)
    assert not seen
    assert len(quick(9, path=path).history) == 9
    assert list(tmp_path.iterdir()) == [path]


def test_the_file_of_another_search_is_left_alone(tmp_path):
    path = tmp_path / "search.pkl"
    quick(1, path=path)
    kept = path.read_bytes()
    with pytest.raises(ValueError, match="holds another search, with other sigma, seed:"):
        quick(1, path=path, seed=1, sigma=0.1)
    with pytest.raises(ValueError, match="holds another search, with other network:"):
        quick(1, path=path, network=Network.random((7, 3), 1))
    assert path.read_bytes() == kept
    path.write_bytes(kept[:100])
    with pytest.raises(ValueError, match="holds no search"):
        quick(1, path=path)


def test_no_start_of_the_test_set_is_trained_on_and_none_is_tried_twice(monkeypatch):
    rollout, trained, judged = searches.rollout, [], []

    def noted(networks, env_id, *, seeds, env_kwargs):
        (judged if isinstance(networks, Network) else trained).append(list(seeds))
        return rollout(networks, env_id, seeds=seeds, env_kwargs=env_kwargs)

    monkeypatch.setattr(searches, "rollout", noted)
    quick(3)
    starts = [seed for seeds in trained for seed in seeds]
    assert len(trained) == 3
    assert len(set(starts)) == len(starts) == 24
    assert judged[0] == judged[1] == judged[2]
    assert not {*starts, *judged[0]} & {*TEST_SEEDS}
    assert not {*starts} & {*judged[0]}


def test_the_network_is_the_best_centre_under_the_objective():
    def shortest(tried):
        return -tried.lengths.mean(axis=1)

    found = quick(4, objective=shortest, env_kwargs={})
    assert found.best.centre == max(generation.centre for generation in found.history)
    returns = searches.rollout(found.network, TOP, seeds=searches.JUDGED)
    assert shortest(returns)[0] == found.best.centre
    assert mean_return(returns)[0] == returns.returns.mean()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"generations": 0}, "generations must be a positive integer, got 0"),
        ({"population": 3}, "population must be an integer from 4 on"),
        ({"episodes": 0}, "episodes must be a positive integer"),
        ({"sigma": 0.0}, "sigma must be a positive finite number"),
        ({"seed": -1}, "seed must be from 0 to"),
        ({"network": Network.random((8, 3), 0)}, "networks must have 7 inputs"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        quick(**arguments)


PAGE = Path(__file__).resolve().parents[2] / "docs" / "rollouts.md"
EXAMPLE = re.compile(r"```python\n(.*?)```\n\nprints\n\n```text\n(.*?)```", re.DOTALL)


@pytest.mark.parametrize(("code", "output"), EXAMPLE.findall(PAGE.read_text("utf-8")))
def test_the_examples_of_the_page_print_what_it_says(code, output, capsys):
    exec(compile(code, PAGE.name, "exec"), {})
    assert capsys.readouterr().out == output
