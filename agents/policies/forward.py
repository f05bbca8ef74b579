"""A small multilayer perceptron, compiled for tiles of lanes; a network for each block of lanes."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbgym.compiled.jit import Entry, compiled, inlined
from rbgym.rows import LANES, index

TILE = 32  # lanes of a tile; the compiler unrolls a shorter loop before it can vectorise it
PADDED_TO = 4  # sizes of layers become multiples of this, with weights of zero

TANH, RELU, ELU = 0, 1, 2
ACTIVATIONS = {"tanh": TANH, "relu": RELU, "elu": ELU}
# Output of the last layer: the bound of its clip, and whether tanh follows.
OUTPUTS = {"clip": (1.0, False), "tanh": (8.0, True), "gsde": (2.0, True)}

_F = np.float32
_ONE, _ZERO, _HALF, _TWO, _LARGEST = _F(1.0), _F(0.0), _F(0.5), _F(2.0), _F(8.0)
# tanh(x) = x P(x^2) / Q(x^2) on [-8, 8]; at 8, tanh is 1 to float32 round-off. Our weighted least
# squares fit, with a relative error of 7e-9 before rounding.
_P1, _P2, _P3, _P4 = _F(1.3444505e-1), _F(3.5716062e-3), _F(2.1894798e-5), _F(1.5230613e-8)
_Q1, _Q2, _Q3, _Q4 = _F(4.6777832e-1), _F(2.6164474e-2), _F(3.4113054e-4), _F(8.5225251e-7)


@inlined
def _clip(x, bound):
    """Clip x to +-bound; nan stays nan."""
    return bound if x > bound else (-bound if x < -bound else x)


@inlined
def _tanh(x):
    x = _clip(x, _LARGEST)
    s = x * x
    p = _ONE + s * (_P1 + s * (_P2 + s * (_P3 + s * _P4)))
    q = _ONE + s * (_Q1 + s * (_Q2 + s * (_Q3 + s * _Q4)))
    return x * p / q


@inlined
def _elu(x):
    """x, or exp(x) - 1 for negative x, as 2 t / (1 - t) with t = tanh(x/2)."""
    t = _tanh(_HALF * (x if x < _ZERO else _ZERO))
    return _TWO * t / (_ONE - t) if x < _ZERO else x


@inlined
def _layer(weights, k, inputs, outputs, x, y):
    """y = W x + b for a tile; x (inputs, TILE), y (outputs, TILE), both flat. W (outputs, inputs)
    and b start at index k of the weights. Returns the index behind them."""
    b = index(k + outputs * inputs)
    for o in range(outputs):
        j, bias = index(o * TILE), weights[b + o]
        for lane in range(TILE):
            y[j + lane] = bias
    # Two outputs and four inputs at a time, so that most operands are in registers.
    for group in range(inputs // 4):
        i = index(4 * group * TILE)
        for pair in range(outputs // 2):
            j = index(2 * pair * TILE)
            n = index(k + 2 * pair * inputs + 4 * group)
            m = index(n + inputs)
            w0, w1, w2, w3 = weights[n], weights[n + 1], weights[n + 2], weights[n + 3]
            v0, v1, v2, v3 = weights[m], weights[m + 1], weights[m + 2], weights[m + 3]
            for lane in range(TILE):
                x0, x1 = x[i + lane], x[i + TILE + lane]
                x2, x3 = x[i + 2 * TILE + lane], x[i + 3 * TILE + lane]
                one, other = y[j + lane], y[j + TILE + lane]
                y[j + lane] = one + ((w0 * x0 + w1 * x1) + (w2 * x2 + w3 * x3))
                y[j + TILE + lane] = other + ((v0 * x0 + v1 * x1) + (v2 * x2 + v3 * x3))
    return b + outputs


@inlined
def _activate(y, count, activation):
    if activation == TANH:
        for n in range(count):
            y[n] = _tanh(y[n])
    elif activation == RELU:
        for n in range(count):
            y[n] = y[n] if not y[n] < _ZERO else _ZERO
    else:
        for n in range(count):
            y[n] = _elu(y[n])


class Stack(NamedTuple):
    """Networks of one shape in stacked arrays. weights: (networks, k) float32, of each layer W
    (outputs, inputs), row-major, and b, padded. picked: (inputs,), column of the observation for
    each input. An input is (observation - mean) * scale, clipped to +-clip; mean, scale: (networks,
    inputs); clip: (networks,)."""

    weights: NDArray[np.float32]
    sizes: NDArray[np.int64]
    activation: int
    bound: np.float32
    squashed: bool
    picked: NDArray[np.int64]
    mean: NDArray[np.float64]
    scale: NDArray[np.float64]
    clip: NDArray[np.float64]

    @classmethod
    def of(cls, networks: Sequence[Any]) -> "Stack":
        """Stack networks that share one `shape`; ValueError if they differ or there are none."""
        if not networks:
            raise ValueError("networks must be at least one, got none")
        first = networks[0]
        for network in networks:
            if network.shape != first.shape:
                raise ValueError(f"networks must be alike, got {first.shape} and {network.shape}")
        inputs, (bound, squashed) = first.sizes[0], OUTPUTS[first.output]
        normalizers = [network.normalizer for network in networks]
        return cls(
            weights=np.stack([_pack(network) for network in networks]),
            sizes=np.array([size + -size % PADDED_TO for size in first.sizes], dtype=np.int64),
            activation=ACTIVATIONS[first.activation],
            bound=np.float32(bound),
            squashed=squashed,
            picked=np.arange(inputs) if normalizers[0] is None else normalizers[0].columns,
            mean=np.stack([np.zeros(inputs) if n is None else n.mean for n in normalizers]),
            scale=np.stack([np.ones(inputs) if n is None else n.scale for n in normalizers]),
            clip=np.array([np.inf if n is None else n.clip for n in normalizers], dtype=np.float64),
        )

    def act(
        self, owner: Any, observations: NDArray[np.float32], actions: NDArray[np.float64]
    ) -> None:
        """Compute actions (lanes, channels) for observations (lanes, width), both C-contiguous.
        owner (blocks,): index of the network for each block of eight lanes."""
        _ACT.call(self, owner, observations, actions)


def _pack(network: Any) -> NDArray[np.float32]:
    """Flatten the weights and biases of all layers, padded with zeros, into one vector."""
    parts = [part for layer in network.layers for part in layer]
    padded = [np.pad(part, [(0, -size % PADDED_TO) for size in part.shape]) for part in parts]
    return np.concatenate([part.ravel() for part in padded])


@compiled
def act(stack, owner, observations, actions):
    """Compute the actions of every lane; see `Stack.act`."""
    weights, sizes, bound = stack.weights, stack.sizes, stack.bound
    picked, mean, scale, clip = stack.picked, stack.mean, stack.scale, stack.clip
    lanes, blocks, most = len(observations), len(owner), TILE // LANES
    widest = sizes.max() * TILE
    x, y = np.empty(widest, np.float32), np.empty(widest, np.float32)
    block = 0
    while block < blocks:
        network, first, count = owner[block], block * LANES, 1
        while count < most and block + count < blocks and owner[block + count] == network:
            count += 1
        last = min(first + count * LANES, lanes)
        for column in range(sizes[0]):
            j = index(column * TILE)
            for lane in range(TILE):
                x[j + lane] = _ZERO
            if column < len(picked):
                source = picked[column]
                shift, factor = mean[network, column], scale[network, column]
                for lane in range(last - first):
                    z = (np.float64(observations[first + lane, source]) - shift) * factor
                    x[j + lane] = np.float32(_clip(z, clip[network]))
        k = 0
        for n in range(len(sizes) - 1):
            k = _layer(weights[network], k, sizes[n], sizes[n + 1], x, y)
            if n < len(sizes) - 2:
                _activate(y, sizes[n + 1] * TILE, stack.activation)
            x, y = y, x
        for column in range(actions.shape[1]):
            j = index(column * TILE)
            for lane in range(last - first):
                z = _clip(x[j + lane], bound)
                actions[first + lane, column] = _tanh(z) if stack.squashed else z
        block += count


_ACT = Entry(act)
