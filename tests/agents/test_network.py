"""Policies without the library that trained them."""

from importlib.util import find_spec

import numpy as np
import pytest

pytest.importorskip("typer")

from typer.testing import CliRunner

from rbgym.agents import presets
from rbgym.agents.cli import app
from rbgym.agents.network import Network
from rbgym.agents.rllib import policy


def layer(out: int, into: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(out)
    return rng.normal(size=(out, into)), rng.normal(size=out)


def test_a_network_is_matrix_after_matrix_with_its_activation_between():
    (A, a), (B, b) = layers = (layer(3, 2), layer(1, 3))
    x = np.array([0.3, -0.2])
    expected = np.clip(B @ np.tanh(A @ x + a) + b, -1, 1)
    one, memory = Network(layers, "tanh", "clip").predict(x)
    batch, _ = Network(layers, "tanh", "clip").predict(np.stack([x, x]))
    np.testing.assert_allclose(one, expected, rtol=1e-6)
    np.testing.assert_array_equal(batch, [one, one])
    assert memory is None


def test_a_policy_comes_back_from_its_files_as_it_was(tmp_path):
    network = Network((layer(3, 2), layer(1, 3)), "relu", "tanh")
    policy.save(network, tmp_path / "policy.npz")
    again = policy.load(tmp_path / "policy.npz")
    assert (again.activation, again.output) == ("relu", "tanh")
    for one, other in zip(network.layers, again.layers, strict=True):
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((((np.zeros((3, 2)), np.zeros(2)),), "tanh", "clip"), "layers must be"),
        (((layer(3, 2), layer(1, 2)), "tanh", "clip"), "layers must be"),
        (((), "tanh", "clip"), "layers must be"),
        (((layer(3, 2),), "sin", "clip"), "activation must be one of"),
        (((layer(3, 2),), "tanh", "none"), "output must be one of"),
    ],
)
def test_layers_that_do_not_fit_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Network(*arguments)


def test_rllib_has_ppo_alone():
    with pytest.raises(ValueError, match=r"one of \['ppo'\] with the engine rllib, got 'sac'"):
        presets.load("sac", "RigidTop-v0", "rllib")
    with pytest.raises(ValueError, match="engine must be one of"):
        presets.load("ppo", "RigidTop-v0", "jax")


@pytest.mark.parametrize(
    "command", ["train RigidTop-v0 --engine rllib --out x", "validate akw --ray local"]
)
def test_what_needs_ray_says_how_to_install_it(command):
    if find_spec("ray"):
        pytest.skip("Ray is installed")
    result = CliRunner().invoke(app, command.split())
    assert result.exit_code == 2
    expected = "rbgym: No module named 'ray'; this command needs pip install 'rbgym[rllib]'\n"
    assert result.stderr == expected


def test_options_of_rllib_are_refused_by_the_other_engine():
    result = CliRunner().invoke(app, ["train", "RigidTop-v0", "--runners", "3"])
    assert result.exit_code == 2
    assert "engine must be rllib with --ray or --runners" in result.stderr
