"""A small multilayer perceptron, compiled: actions of many lanes, each by its own network.

Weights are broadcast over tiles of lanes, which are what vector instructions work on. All is in one
file, because numba's cache looks at no other (see rbgym.jit.compiled for rbgym and rbgym.envs).
"""

import numpy as np

from rbgym.jit import compiled, index, inlined
from rbgym.layout import LANES

# Lanes of one network that are worked on together. A loop this long becomes vector instructions; a
# shorter one is unrolled first, and stays scalar.
TILE = 32
# Sizes of layers are padded to multiples of this many, with weights of zero.
PADDED_TO = 4

TANH, RELU, ELU = 0, 1, 2
ACTIVATIONS = {"tanh": TANH, "relu": RELU, "elu": ELU}

_F = np.float32
_ONE, _ZERO, _HALF, _TWO, _LARGEST = _F(1.0), _F(0.0), _F(0.5), _F(2.0), _F(8.0)
# tanh(x) = x P(x^2) / Q(x^2) on [-8, 8], where it reaches 1 to float32 round-off. A weighted least
# squares fit of ours, with a relative error of 7e-9 before rounding.
_P1, _P2, _P3, _P4 = _F(1.3444505e-1), _F(3.5716062e-3), _F(2.1894798e-5), _F(1.5230613e-8)
_Q1, _Q2, _Q3, _Q4 = _F(4.6777832e-1), _F(2.6164474e-2), _F(3.4113054e-4), _F(8.5225251e-7)


@inlined
def _clipped(x, bound):
    """x within +-bound; what is not a number stays so."""
    return bound if x > bound else (-bound if x < -bound else x)


@inlined
def _tanh(x):
    x = _clipped(x, _LARGEST)
    s = x * x
    p = _ONE + s * (_P1 + s * (_P2 + s * (_P3 + s * _P4)))
    q = _ONE + s * (_Q1 + s * (_Q2 + s * (_Q3 + s * _Q4)))
    return x * p / q


@inlined
def _elu(x):
    """x, or exp(x) - 1 where that is negative: 2 t / (1 - t) with t = tanh(x/2)."""
    t = _tanh(_HALF * (x if x < _ZERO else _ZERO))
    return _TWO * t / (_ONE - t) if x < _ZERO else x


@inlined
def _layer(weights, k, inputs, outputs, x, y):
    """y = W x + b of a tile; x (inputs, TILE), y (outputs, TILE), both flat. Returns the end of W
    (outputs, inputs) and b, which begin at k."""
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


@compiled
def act(
    weights,
    sizes,
    activation,
    squashed,
    mean,
    scale,
    clip,
    owner,
    observations,
    actions,
):
    """Write the actions of every lane.

    weights: (networks, k) float32, of each layer W (outputs, inputs) and b, row-major, padded.
    sizes: of the layers, padded. squashed: tanh of the last layer, else
    it is clipped to +-1. mean, scale: (networks, width), of (observation - mean) * scale, which is
    clipped to +-clip (networks,). owner: network of each block of eight lanes, (blocks,).
    observations: (lanes, width) float32. actions: (lanes, channels) float64.
    """
    lanes, width = observations.shape
    blocks, most = len(owner), TILE // LANES
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
            if column < width:
                shift, factor = mean[network, column], scale[network, column]
                for lane in range(last - first):
                    z = (np.float64(observations[first + lane, column]) - shift) * factor
                    x[j + lane] = np.float32(_clipped(z, clip[network]))
        k = 0
        for n in range(len(sizes) - 1):
            k = _layer(weights[network], k, sizes[n], sizes[n + 1], x, y)
            if n < len(sizes) - 2:
                _activate(y, sizes[n + 1] * TILE, activation)
            x, y = y, x
        for column in range(actions.shape[1]):
            j = index(column * TILE)
            for lane in range(last - first):
                z = x[j + lane]
                actions[first + lane, column] = _tanh(z) if squashed else _clipped(z, _ONE)
        block += count
