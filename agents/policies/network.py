"""Small networks as policies, with or without memory: plain arrays, no learning library."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbgym.agents.policies.forward import ACTIVATIONS, OUTPUTS, Stack
from rbgym.agents.policies.memory import KINDS, Memory
from rbgym.arguments import count, number, real
from rbgym.envs.arguments import keys, made, named
from rbgym.envs.parts.columns import Column, placed
from rbgym.envs.reset import checked_seed
from rbgym.quaternion import canonicalized
from rbgym.rows import LANES

Weights = NDArray[np.float32]
Layer = tuple[Weights, Weights]
Cell = tuple[Weights, Weights, Weights]
_PARTS = ("input", "output", "bias")
Arrays = dict[str, NDArray[Any]]
# Quaternion columns to which envs give the canonical sign.
_CANONICAL = frozenset({"quaternion", "quaternion_ahead", "target_quaternion", "achieved_goal",
                        "desired_goal", "star_tracker"})  # fmt: skip


@dataclass(frozen=True, eq=False)
class Normalizer:
    """Normalises a network's observations: clip((x - mean) / sqrt(variance + epsilon)), as
    VecNormalize does. mean, variance: (inputs,). clip: bound of the result. repeats: columns that
    are appended as further inputs. ValueError for shapes that differ and bad numbers."""

    mean: NDArray[np.float64]
    variance: NDArray[np.float64]
    clip: float = 10.0
    epsilon: float = 1e-8
    repeats: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name in ("mean", "variance"):
            object.__setattr__(self, name, frozen(name, getattr(self, name), np.float64))
        if self.mean.ndim != 1 or self.mean.shape != self.variance.shape:
            raise ValueError(
                f"mean and variance must be (width,), got {self.mean.shape}, {self.variance.shape}"
            )
        if (self.variance < 0).any():
            raise ValueError(f"variance must not be negative, got {self.variance}")
        for name in ("clip", "epsilon"):
            if not number(getattr(self, name)) > 0:
                raise ValueError(f"{name} must be positive, got {getattr(self, name)!r}")
        _set_columns(self, "repeats", "columns", self.width - 1)

    def __repr__(self) -> str:
        return f"Normalizer({len(self.mean)} inputs, clip={self.clip}, epsilon={self.epsilon})"

    @property
    def width(self) -> int:
        return len(self.mean) - len(self.repeats)

    @property
    def columns(self) -> NDArray[np.int64]:
        """The observation column of each input, (inputs,)."""
        return np.array([*range(self.width), *self.repeats], dtype=np.int64)

    @property
    def scale(self) -> NDArray[np.float64]:
        """The factor of a deviation from the mean, (inputs,)."""
        return 1.0 / np.sqrt(self.variance + self.epsilon)

    def __call__(self, x: ArrayLike) -> Weights:
        """Normalise observations (..., width)."""
        scaled = (np.asarray(x)[..., self.columns] - self.mean) * self.scale
        return np.clip(scaled, -self.clip, self.clip).astype(np.float32)

    def to_arrays(self) -> tuple[Arrays, dict[str, Any]]:
        """Convert to arrays by name, and the other fields; see `from_arrays`."""
        arrays = {f"normalizer.{n}": getattr(self, n).copy() for n in ("mean", "variance")}
        bounds = {"clip": self.clip, "epsilon": self.epsilon}
        return arrays, bounds | ({"repeats": list(self.repeats)} if self.repeats else {})

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any], bounds: Any) -> Self:
        """Rebuild a normaliser from `to_arrays`, and pop its arrays; KeyError if one is missing."""
        own = keys("config['normalizer']", bounds, ("clip", "epsilon", "repeats"))
        return cls(arrays.pop("normalizer.mean"), arrays.pop("normalizer.variance"), **own)


@dataclass(frozen=True, eq=False)
class Network:
    """A policy: float32 layers of weight (outputs, inputs) and bias (outputs,), the last linear.

    activation: "tanh", "relu" or "elu", between layers. output: clips actions to +-1 ("clip", as
    for PPO's mean) or squashes them ("tanh", as SAC does; "gsde", as SAC does with gSDE, which
    first bounds them to +-2). quaternions: first columns of the quaternions to which `predict`
    gives the canonical sign, as envs do, so that q and -q get the same action. memory: an
    `Integral`, `Trend`, `SunDirection` or `Attitude`, which the network reads after the
    observation's columns. `predict` and `rbgym.agents.rollout` give the same actions to the last
    bit. Raises ValueError for layers that do not fit, and unknown names.
    """

    layers: tuple[Layer, ...]
    activation: str = "tanh"
    output: str = "clip"
    normalizer: Normalizer | None = None
    quaternions: tuple[int, ...] = ()
    memory: Memory | None = None

    def __post_init__(self) -> None:
        named("activation", self.activation, ACTIVATIONS)
        named("output", self.output, OUTPUTS)
        if not isinstance(self.layers, list | tuple) or not self.layers:
            raise ValueError(f"layers must be pairs of weight and bias, got {self.layers!r}")
        object.__setattr__(self, "layers", tuple(_checked(n, x) for n, x in enumerate(self.layers)))
        for n, ((below, _), (above, _)) in enumerate(itertools.pairwise(self.layers)):
            if above.shape[1] != below.shape[0]:
                raise ValueError(
                    f"layers[{n + 1}] must take the {below.shape[0]} outputs of the one before, "
                    f"got a weight of shape {above.shape}"
                )
        if self.normalizer is not None and not isinstance(self.normalizer, Normalizer):
            raise ValueError(f"normalizer must be a Normalizer or None, got {self.normalizer!r}")
        if self.normalizer is not None and len(self.normalizer.mean) != self.sizes[0]:
            raise ValueError(f"normalizer must have {self.sizes[0]} inputs, got {self.normalizer}")
        if self.memory is not None and type(self.memory) not in KINDS.values():
            kinds = ", ".join(kind.__name__ for kind in KINDS.values())
            raise ValueError(f"memory must be one of {kinds} or None, got {self.memory!r}")
        _set_columns(self, "quaternions", "first columns", self.width - 4)
        if self.memory is not None and self.memory.least > self.width:
            raise ValueError(f"memory must be of columns of {self.width}, got {self.memory}")

    @classmethod
    def random(cls, sizes: Sequence[int], seed: int, **how: Any) -> Self:
        """Make a network with normal weights of variance 1/inputs and zero biases. sizes: from the
        observation's width to the number of actions, e.g. (7, 16, 16, 3). how: other fields."""
        if not isinstance(sizes, list | tuple) or len(sizes) < 2:
            raise ValueError(f"sizes must be at least two positive integers, got {sizes!r}")
        sizes = [count("sizes", size) for size in sizes]
        rng = np.random.default_rng(checked_seed(seed))
        layers = tuple(
            (rng.normal(0.0, inputs**-0.5, (outputs, inputs)), np.zeros(outputs))
            for inputs, outputs in itertools.pairwise(sizes)
        )
        return cls(layers, **how)  # type: ignore[arg-type]

    @classmethod
    def from_model(cls, model: Any, normalizer: Any = None) -> Self:
        """The deterministic policy of a Stable-Baselines3 PPO or SAC model, or a similar one.
        normalizer: its VecNormalize, a Normalizer, or None. Raises ValueError for a policy that is
        not a plain network, and for an action space other than [-1, 1]."""
        from rbgym.agents.policies.sb3 import network_of_model

        network = network_of_model(model, normalizer)
        if not isinstance(network, cls):
            raise ValueError(f"model must have no memory, got {type(model).__name__}")
        return network

    def __repr__(self) -> str:
        how = f"activation={self.activation!r}, output={self.output!r}"
        more = "" if self.memory is None else f", {self.memory}"
        return f"Network(sizes={self.sizes}, {how}, normalizer={self.normalizer!r}{more})"

    @property
    def sizes(self) -> tuple[int, ...]:
        """Sizes of the layers, from the number of inputs to the number of actions."""
        return (self.layers[0][0].shape[1], *(len(bias) for _, bias in self.layers))

    @property
    def width(self) -> int:
        """Number of columns of an observation."""
        read = self.sizes[0] if self.normalizer is None else self.normalizer.width
        return read if self.memory is None else read - self.memory.width

    @cached_property
    def _stack(self) -> Stack:
        return Stack.of([self])

    @property
    def shape(self) -> tuple[Any, ...]:
        """The properties that networks of one `Stack` must share."""
        repeats = () if self.normalizer is None else self.normalizer.repeats
        return (self.sizes, self.activation, self.output, repeats, self.memory)

    def parameters(self) -> Weights:
        """Weights, row by row, and biases of all layers in one vector, without the normaliser."""
        return np.concatenate([part.ravel() for layer in self.layers for part in layer])

    def with_parameters(self, vector: ArrayLike) -> Self:
        """Copy the network with new weights and biases, in the order of `parameters`."""
        with np.errstate(over="ignore"):  # refused below, as not finite
            given = real("vector", vector).astype(np.float32)
        ends = np.cumsum([part.size for layer in self.layers for part in layer])
        if given.shape != (ends[-1],):
            raise ValueError(f"vector must have shape ({ends[-1]},), got {given.shape}")
        parts = iter(np.split(given, ends[:-1]))
        layers = tuple((next(parts).reshape(W.shape), next(parts)) for W, _ in self.layers)
        return replace(self, layers=layers)

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[Weights, Weights | None]:
        """Actions (n, channels) or (channels,) for observations (n, width) or (width,), or for a
        dict of goals, joined in the order of their names; and the memory, None without one.
        state, episode_start: as for a `RecurrentNetwork`. deterministic has no effect."""
        seen = checked_observation(observation, self.width, self.quaternions)
        rows, memory = self.read(np.atleast_2d(seen), state, episode_start)
        actions = np.empty((len(rows), self.sizes[-1]))
        owner = np.zeros(-(-len(rows) // LANES), dtype=np.int64)
        self._stack.act(owner, rows, actions)
        answer = actions.astype(np.float32)
        return (answer if seen.ndim == 2 else answer[0]), memory

    def read(self, rows: Weights, memory: Any, begins: Any) -> tuple[Weights, Weights | None]:
        """What the layers read for observations (n, width), before the normaliser, and the new
        memory. begins: (n,), lanes that forget first; None for none."""
        if self.memory is None:
            return np.ascontiguousarray(rows), None
        return self.memory.append(rows, memory, begins)

    def to_arrays(self) -> tuple[Arrays, dict[str, Any]]:
        """Arrays by name, and the rest as what JSON can hold; see `from_arrays`."""
        arrays: Arrays = {}
        for n, (weight, bias) in enumerate(self.layers):
            arrays |= {f"layers.{n}.weight": weight.copy(), f"layers.{n}.bias": bias.copy()}
        config: dict[str, Any] = {"activation": self.activation, "output": self.output}
        config["quaternions"] = list(self.quaternions)
        if self.normalizer is not None:
            of_normalizer, config["normalizer"] = self.normalizer.to_arrays()
            arrays |= of_normalizer
        if self.memory is not None:
            config[self.memory.name] = asdict(cast(Any, self.memory))
        return arrays, config

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, ArrayLike], config: Mapping[str, Any]) -> Self:
        """Rebuild a network from `to_arrays`; ValueError names a missing array."""
        for name, value in (("arrays", arrays), ("config", config)):
            if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
                raise ValueError(f"{name} must be a dict by name, got {value!r}")
        if missing := {"activation", "output"} - set(config):
            raise ValueError(f"config must have {sorted(missing)}, got {config!r}")
        rest, normalizer = dict(arrays), None
        layers: list[Any] = []
        try:
            while (label := f"layers.{len(layers)}") == "layers.0" or f"{label}.weight" in rest:
                layers.append((rest.pop(f"{label}.weight"), rest.pop(f"{label}.bias")))
            if "normalizer" in config:
                normalizer = Normalizer.from_arrays(rest, config["normalizer"])
        except KeyError as error:
            raise ValueError(f"arrays must have {error}, got {sorted(arrays)}") from None
        if rest:
            raise ValueError(f"arrays must be those of a network, got also {sorted(rest)}")
        memories = [
            made(f"config[{name!r}]", KINDS[name], config[name]) for name in KINDS if name in config
        ]
        if len(memories) > 1:
            raise ValueError(f"config must have one memory, got {memories}")
        how, quaternions = (config["activation"], config["output"]), config.get("quaternions", ())
        return cls(tuple(layers), *how, normalizer, quaternions, *memories)


@dataclass(frozen=True, eq=False)
class RecurrentNetwork:
    """LSTM cells, as sb3-contrib's RecurrentPPO trains them, and a network on the last one.

    cells: for each, weights of its input (4 h, inputs) and previous output (4 h, h), and a bias
    (4 h,); gates in PyTorch's order: input, forget, candidate, output. The head has no normalizer.
    Source: Hochreiter & Schmidhuber (1997), Long short-term memory; forget gate: Gers et al. 2000.
    """

    cells: tuple[Cell, ...]
    head: Network
    normalizer: Normalizer | None = None
    quaternions: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        _set_columns(self, "quaternions", "first columns", self.width - 4)

    def __repr__(self) -> str:
        sizes = (self.width, *(cell[1].shape[1] for cell in self.cells))
        return f"RecurrentNetwork(sizes={sizes}, head={self.head!r}, {self.normalizer!r})"

    @property
    def width(self) -> int:
        return int(self.cells[0][0].shape[1])

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[Weights, tuple[Weights, Weights]]:
        """Actions as from `Network.predict`, and the memory to pass as the next `state`: outputs
        and contents of the cells, each (cells, n, h). episode_start (n,): lanes to clear first."""
        seen = checked_observation(observation, self.width, self.quaternions)
        x = np.atleast_2d(seen)
        shape = (len(self.cells), len(x), self.cells[0][1].shape[1])
        before = np.zeros((2, *shape), np.float32) if state is None else np.stack(state)
        if before.shape != (2, *shape):
            raise ValueError(f"state must have the shape {(2, *shape)}, got {before.shape}")
        if episode_start is not None:
            begins = np.asarray(episode_start, dtype=np.bool_)
            if begins.shape not in ((), (1,), (len(x),)):
                raise ValueError(f"episode_start must be bools ({len(x)},), got {episode_start!r}")
            begins = np.broadcast_to(begins, len(x))
            before = before * ~begins[:, None]
        after = np.empty_like(before)
        if self.normalizer is not None:
            x = self.normalizer(x)
        for k, (of_input, of_output, bias) in enumerate(self.cells):
            gates = x @ of_input.T + before[0, k] @ of_output.T + bias
            enter, forget, candidate, leave = np.split(gates, 4, axis=1)
            after[1, k] = _sigmoid(forget) * before[1, k] + _sigmoid(enter) * np.tanh(candidate)
            x = after[0, k] = _sigmoid(leave) * np.tanh(after[1, k])
        actions, _ = self.head.predict(x)
        return (actions if seen.ndim == 2 else actions[0]), (after[0], after[1])

    def to_arrays(self) -> tuple[Arrays, dict[str, Any]]:
        """Arrays by name, and the rest as what JSON can hold; see `from_arrays`."""
        arrays, config = self.head.to_arrays()
        config |= {"cells": len(self.cells), "quaternions": list(self.quaternions)}
        for k, cell in enumerate(self.cells):
            arrays |= {f"cells.{k}.{part}": x for part, x in zip(_PARTS, cell, strict=True)}
        if self.normalizer is not None:
            of_normalizer, config["normalizer"] = self.normalizer.to_arrays()
            arrays |= of_normalizer
        return arrays, config

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, ArrayLike], config: Mapping[str, Any]) -> Self:
        """Rebuild a network from `to_arrays`; raises an error of any type for anything else."""
        rest, of_head, normalizer = dict(arrays), dict(config), None
        if (bounds := of_head.pop("normalizer", None)) is not None:
            normalizer = Normalizer.from_arrays(rest, bounds)
        cells: Any = tuple(
            tuple(frozen(part, rest.pop(f"cells.{k}.{part}"), np.float32) for part in _PARTS)
            for k in range(of_head.pop("cells"))
        )
        quaternions = of_head.pop("quaternions", ())
        network = cls(cells, Network.from_arrays(rest, of_head), normalizer, quaternions)
        network.predict(np.zeros(network.width, np.float32))  # its arrays fit each other
        return network


def _sigmoid(x: Weights) -> Weights:
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * x), dtype=np.float32)


def joined(observation: Mapping[str, Any]) -> NDArray[Any]:
    """Concatenate the parts (..., k) of a dict of goals, in the order of their names."""
    return np.concatenate([observation[name] for name in sorted(observation)], axis=-1)


def read_by_networks(env: Any) -> dict[str, Column]:
    """The observation columns that a network reads; for a dict of goals, those of `joined`."""
    base = env.unwrapped
    columns = dict(base.columns)
    if not base.task.split:
        return columns
    own = replace(columns.pop("quaternion"), words="")
    del columns["target_quaternion"]
    goals = (replace(own, name=f"{name}_goal") for name in ("achieved", "desired"))
    return placed((*goals, own, *columns.values()))


def quaternions_of(env: Any) -> tuple[int, ...]:
    """First columns of the quaternions to which an env of rbgym gives the canonical sign."""
    if not hasattr(env.unwrapped, "columns"):
        return ()
    columns = read_by_networks(env).values()
    return tuple(one.first for one in columns if one.name in _CANONICAL and one.size == 4)


def _set_columns(owner: Any, name: str, kind: str, last: int) -> None:
    """Make this attribute a tuple of columns; ValueError unless each is from 0 to last."""
    given = getattr(owner, name)
    listed = isinstance(given, list | tuple)
    if not listed or not all(isinstance(k, int) and 0 <= k <= last for k in given):
        raise ValueError(f"{name} must be {kind} from 0 to {last}, got {given!r}")
    object.__setattr__(owner, name, tuple(given))


def checked_observation(observation: Any, width: int, quaternions: Iterable[int]) -> Weights:
    """Check observations (n, width) or (width,), and give quaternions the canonical sign."""
    if isinstance(observation, Mapping):
        observation = joined(observation)
    if not (isinstance(observation, np.ndarray) and observation.dtype == np.float32):
        with np.errstate(over="ignore"):
            observation = real("observation", observation).astype(np.float32)
    seen: Weights = np.asarray(observation)
    if seen.ndim not in (1, 2) or seen.shape[-1] != width:
        raise ValueError(f"observation must have shape (n, {width}) or ({width},), "
                         f"got {seen.shape}")  # fmt: skip
    if not np.isfinite(seen).all():
        raise ValueError(f"observation must be finite, got {observation!r}")
    canonical = seen.copy()
    for k in quaternions:
        canonical[..., k : k + 4] = canonicalized(seen[..., k : k + 4])
    return canonical


def frozen(name: str, value: ArrayLike, dtype: type) -> NDArray[Any]:
    """Make a read-only copy; ValueError unless it is finite."""
    with np.errstate(over="ignore"):
        array: NDArray[Any] = np.array(real(name, value), dtype=dtype)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got {value!r}")
    array.setflags(write=False)
    return array


def _checked(n: int, layer: Any) -> Layer:
    """Copy a layer's weight and bias; ValueError if their shapes do not fit each other."""
    if not isinstance(layer, list | tuple) or len(layer) != 2:
        raise ValueError(f"layers[{n}] must be a weight and a bias, got {layer!r}")
    weight, bias = (frozen(f"layers[{n}]", part, np.float32) for part in layer)
    if weight.ndim != 2 or bias.shape != weight.shape[:1]:
        raise ValueError(
            f"layers[{n}] must be a weight (outputs, inputs) and a bias (outputs,), got shapes "
            f"{weight.shape} and {bias.shape}"
        )
    return weight, bias
