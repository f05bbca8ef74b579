"""Training on a cluster: a node is killed, another joins, and the run is cut and resumed."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("ray")

from rbgym.agents.judge.contenders import contenders
from rbgym.agents.judge.evaluation import evaluate_all
from rbgym.agents.run_folder import RunFolder
from rbgym.agents.train.rllib.training import train

SMALL = {
    "num_envs_per_env_runner": 4,
    "train_batch_size_per_learner": 64,
    "minibatch_size": 32,
    "num_epochs": 1,
    "fcnet_hiddens": [8, 8],
}


def small_train(out: Path, **kwargs):
    return train(
        "RigidTop-v0", out=out, changes=SMALL, progress=False, checkpoint_every=1, **kwargs
    )


@pytest.fixture(scope="module")
def story(nodes, tmp_path_factory) -> SimpleNamespace:
    """A run on two nodes through all that may happen to it."""
    out, seen = tmp_path_factory.mktemp("run"), []
    nodes.add_worker()

    def happen(at) -> None:
        seen.append(at)
        if len(seen) == 2:
            nodes.kill_worker()
        elif at.runners == 1 and len(seen) > 4:
            nodes.add_worker()
        elif at.runners == 2 and len(seen) > 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        small_train(out, timesteps=10**6, callbacks=[happen])
    return SimpleNamespace(out=out, seen=seen, counts=[at.runners for at in seen])


def test_training_goes_on_while_a_node_is_gone(story):
    assert story.counts[:2] == [2, 2]
    alone = [at for at in story.seen if at.runners == 1]
    assert len(alone) >= 2
    assert alone[-1].timesteps > alone[0].timesteps + 64


def test_a_lost_env_runner_comes_back_with_a_node(story):
    assert story.counts[-1] == 2


def test_a_run_that_was_cut_resumes_at_its_last_checkpoint_and_finishes(story):
    last = story.seen[-1].timesteps
    said, resumed = [], []
    config = json.loads(RunFolder(story.out).config.read_text())
    RunFolder(story.out).config.write_text(json.dumps(config | {"timesteps": last + 100}))
    done = small_train(
        story.out, timesteps=last + 100, runners=1, report=said.append, callbacks=[resumed.append]
    )
    assert done.resumed_from == last
    assert said == [f"resuming {story.out} from step {last}"]
    assert last < resumed[0].timesteps <= last + 2 * 64
    assert last + 100 <= done.results["timesteps"] < last + 100 + 2 * 64
    assert resumed[0].wall_time > story.seen[-2].wall_time
    assert json.loads(done.folder.results.read_text()) == done.results
    assert small_train(story.out, timesteps=last + 100).resumed_from is None
    evaluation = evaluate_all(*contenders([str(story.out)]), 4)[str(story.out)]
    assert np.isfinite(evaluation.mean_return)
