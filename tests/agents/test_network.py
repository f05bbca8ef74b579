"""Networks against NumPy in double precision, and against the models they were taken from."""

import copy
import json
import pickle
from functools import partial

import gymnasium as gym
import numpy as np
import pytest

from rbgym.agents.policies.network import Network, Normalizer
from refusals import refused

# What a float32 sum of 64 terms of order one, and another order of its terms, can differ by.
ROUND_OFF = 2e-6
RNG = np.random.default_rng(3)
NORMALIZER = Normalizer(RNG.normal(size=7), RNG.uniform(0.1, 4.0, 7), clip=1.5, epsilon=1e-3)
BETWEEN = {
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0.0),
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0.0))),
}


def textbook(network, rows):
    """The same network in double precision, one matrix after the other."""
    x = rows.astype(np.float64)
    n = network.normalizer
    if n is not None:
        x = np.clip((x - n.mean) / np.sqrt(n.variance + n.epsilon), -n.clip, n.clip)
    for weight, bias in network.layers[:-1]:
        x = BETWEEN[network.activation](x @ weight.T.astype(np.float64) + bias)
    weight, bias = network.layers[-1]
    x = x @ weight.T.astype(np.float64) + bias
    return np.tanh(x) if network.output == "tanh" else np.clip(x, -1.0, 1.0)


def observations(n, width=7, scale=1.0):
    return RNG.normal(0.0, scale, (n, width)).astype(np.float32)


@pytest.mark.parametrize("activation", ["tanh", "relu", "elu"])
@pytest.mark.parametrize("output", ["clip", "tanh"])
@pytest.mark.parametrize("hidden", [(), (1,), (5, 3), (64, 64)])
def test_actions_are_those_of_the_formula_in_double_precision(activation, output, hidden):
    network = Network.random((7, *hidden, 3), 1, activation=activation, output=output)
    vector = network.parameters() + RNG.normal(0, 0.1, len(network.parameters()))
    for one in (network, network.with_parameters(vector)):
        for normalizer in (None, NORMALIZER):
            one = Network(one.layers, activation, output, normalizer)
            rows = observations(77)
            actions, state = one.predict(rows)
            assert state is None
            assert actions.dtype == np.float32
            np.testing.assert_allclose(actions, textbook(one, rows), rtol=0, atol=ROUND_OFF)


@pytest.mark.parametrize(("output", "activation"), [("tanh", "tanh"), ("clip", "elu")])
def test_the_compiled_functions_hold_from_the_smallest_to_the_largest_numbers(output, activation):
    layers = ((np.eye(1), np.zeros(1)),) * (1 if output == "tanh" else 2)
    network = Network(layers, activation, output)
    x = np.concatenate([np.geomspace(1e-30, 1e30, 2001), np.linspace(0, 12, 2001)])
    rows = np.concatenate([-x, x]).astype(np.float32)[:, None]
    actions, expected = network.predict(rows)[0], textbook(network, rows)
    np.testing.assert_allclose(actions, expected, rtol=4e-7, atol=1e-30)


def test_an_action_does_not_depend_on_the_observations_beside_it():
    network, rows = Network.random((7, 16, 3), 0, normalizer=NORMALIZER), observations(101)
    together = network.predict(rows)[0]
    for k in (0, 7, 33, 100):
        np.testing.assert_array_equal(network.predict(rows[k])[0], together[k])
    np.testing.assert_array_equal(network.predict(rows[::-1])[0], together[::-1])


def test_a_dict_of_goals_is_joined_in_the_order_of_its_names():
    network, parts = Network.random((5, 2), 0), {"b": observations(4, 3), "a": observations(4, 2)}
    rows = np.concatenate([parts["a"], parts["b"]], axis=1)
    np.testing.assert_array_equal(network.predict(parts)[0], network.predict(rows)[0])


def test_parameters_go_out_and_in_unchanged():
    network = Network.random((7, 6, 5, 3), 0, activation="elu", normalizer=NORMALIZER)
    vector = network.parameters()
    assert len(vector) == 7 * 6 + 6 + 6 * 5 + 5 + 5 * 3 + 3
    again = network.with_parameters(vector)
    rows = observations(9)
    np.testing.assert_array_equal(again.predict(rows)[0], network.predict(rows)[0])
    changed = network.with_parameters(vector + np.eye(len(vector))[7 * 6 + 2].astype(np.float32))
    assert changed.layers[0][1][2] == network.layers[0][1][2] + 1
    with pytest.raises(ValueError, match=r"vector must have shape \(101,\), got \(100,\)"):
        network.with_parameters(vector[1:])


def test_arrays_and_json_give_the_network_back():
    for normalizer in (None, NORMALIZER):
        network = Network.random((7, 6, 3), 0, output="tanh", normalizer=normalizer)
        arrays, config = network.to_arrays()
        again = Network.from_arrays(arrays, json.loads(json.dumps(config)))
        rows = observations(9)
        for one in (again, pickle.loads(pickle.dumps(network)), copy.deepcopy(network)):
            np.testing.assert_array_equal(one.predict(rows)[0], network.predict(rows)[0])
    with pytest.raises(ValueError, match=r"arrays must have 'layers.0.bias'"):
        Network.from_arrays({"layers.0.weight": arrays["layers.0.weight"]}, config)
    with pytest.raises(ValueError, match=r"got also \['other'\]"):
        Network.from_arrays(arrays | {"other": np.zeros(1)}, config)


def test_a_network_cannot_be_changed_from_outside():
    weight, bias = np.ones((2, 3)), np.zeros(2)
    network = Network(((weight, bias),))
    weight[:] = 5.0
    assert (network.layers[0][0] == 1).all()
    with pytest.raises(ValueError, match="read-only"):
        network.layers[0][0][0, 0] = 2.0


ONE, TWO = (np.ones((2, 3)), np.zeros(2)), (np.ones((1, 2)), np.zeros(1))
SMALL = Network.random((7, 3), 0)


@refused(
    (Network, {"layers": ()}, "layers must be pairs of weight and bias"),
    (Network, {"layers": (TWO, ONE)}, r"layers\[1\] must take the 1 outputs"),
    (Network, {"layers": ((np.ones((2, 3)), np.zeros(3)),)}, r"layers\[0\] must be a weight"),
    (Network, {"layers": ((np.full((2, 3), np.nan), np.zeros(2)),)}, r"layers\[0\] must be finite"),
    (Network, {"layers": (ONE,), "activation": "tahn"}, "activation must be one of .* 'tanh'"),
    (Network, {"layers": (ONE,), "output": "none"}, "output must be one of"),
    (Network, {"layers": (ONE,), "normalizer": NORMALIZER}, "must have 3 inputs, got .*7"),
    (Normalizer, {"mean": [0.0], "variance": [1.0, 1.0]}, "mean and variance must be"),
    (Normalizer, {"mean": [0.0], "variance": [-1.0]}, "variance must not be negative"),
    (Normalizer, {"mean": [0.0], "variance": [1.0], "clip": 0.0}, "clip must be positive"),
    (Normalizer, {"mean": [np.inf], "variance": [1.0]}, "mean must be finite"),
    (SMALL.predict, {"observation": np.zeros((4, 6))}, r"must have shape \(n, 7\) or \(7,\)"),
)
def test_what_does_not_fit_is_refused(function, arguments):
    function(**arguments)


sb3 = pytest.importorskip("stable_baselines3")
from sb3_contrib import RecurrentPPO  # noqa: E402
from torch import nn  # noqa: E402

PPO, LSTM = partial(sb3.PPO, "MlpPolicy"), partial(RecurrentPPO, "MlpLstmPolicy")


@refused(
    (PPO, "RigidTop-v0", {"activation_fn": nn.GELU}, "model must alternate linear layers and acti"),
    (PPO, "RigidTop-v0", {"activation_fn": partial(nn.ELU, alpha=2.0)}, "with alpha=1, got .*=2.0"),
    (LSTM, "RigidTop-v0", {"lstm_kwargs": {"bias": False}}, "must have a bias in every layer"),
    (PPO, "CartPole-v1", {}, "must have a Gaussian policy, got .*Categorical"),
    (PPO, "Pendulum-v1", {}, r"must have actions in \[-1, 1\], got Box\(-2"),
    (partial(sb3.DQN, "MlpPolicy", buffer_size=1), "CartPole-v1", {}, "SAC or similar, got DQN"),
)
def test_models_that_are_no_such_network_are_refused(algorithm, env_id, how):
    Network.from_model(algorithm(env=gym.make(env_id), policy_kwargs=how))
