"""Training by gradients through the physics, as a training among others."""

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

import torch
from safetensors.numpy import load_file

import rbgym.agents
from rbgym.agents.train import DifferentiableEnv, analytic, run, train

SMALL = {"iterations": 12, "n_envs": 8, "horizon": 4, "net_arch": [8]}


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


@pytest.mark.slow
def test_an_interrupted_training_ends_as_one_that_ran_through(tmp_path, monkeypatch):
    whole = train("RigidTop-v0", "apg", out=tmp_path / "whole", changes=SMALL)
    iterate = analytic.Learner.iterate

    def interrupted(learner):
        if learner.iteration == 7:
            raise KeyboardInterrupt
        return iterate(learner)

    monkeypatch.setattr(analytic.Learner, "iterate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train("RigidTop-v0", "apg", out=tmp_path / "cut", changes=SMALL)
    monkeypatch.undo()
    said: list[str] = []
    resumed = train("RigidTop-v0", "apg", out=tmp_path / "cut", changes=SMALL, report=said.append)
    assert resumed.resumed_from == 7 * 8 * 4
    assert "from step 224" in said[0]
    paths = (tmp_path / name / "policy.safetensors" for name in ("whole", "cut"))
    np.testing.assert_equal(*map(load_file, paths))
    assert resumed.results["timesteps"] == whole.results["timesteps"]
    assert train("RigidTop-v0", "apg", out=tmp_path / "cut", changes=SMALL).resumed_from is None


@pytest.mark.slow
def test_steps_are_given_as_iterations_and_callbacks_see_each(tmp_path):
    times: list[np.ndarray] = []
    see = [lambda learner: times.append(learner.env.env.state["time"])]
    done = train("RigidTop-v0", "apg", out=tmp_path, changes=SMALL, timesteps=65, callbacks=see)
    assert done.results["timesteps"] == 3 * 8 * 4
    longer = train("RigidTop-v0", "apg", out=tmp_path, changes=SMALL, timesteps=129)
    assert (longer.resumed_from, longer.results["timesteps"]) == (3 * 8 * 4, 5 * 8 * 4)
    assert len(times) == 3
    np.testing.assert_allclose(times[2] / times[0], [3, 3, 3, 2, 2, 2, 1, 1])  # lanes begin in turn
    more = train("RigidTop-v0", "apg", out=tmp_path / "more", init_from=tmp_path, timesteps=1)
    assert rbgym.agents.load(more.folder.path).network.output == "tanh"


@pytest.mark.interpreted
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
