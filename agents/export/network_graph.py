"""Exports a network as an ONNX model, by the package `onnx`."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rbgym.agents.export.contract import checked_env, contract
from rbgym.agents.export.source import bare, met
from rbgym.agents.extras import naming_extra
from rbgym.agents.policies import Network
from rbgym.agents.policies.forward import OUTPUTS
from rbgym.agents.run_folder import made_folder, replacing

OPSET, IR = 17, 8  # versions that runtimes from 2022 on read
_NODES = {"tanh": "Tanh", "relu": "Relu", "elu": "Elu"}


@naming_extra()
def export_onnx(
    folder: str | Path, policy: Any, env: Any, about: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Write policy.onnx, with the contract as metadata, into a folder, made if missing; returns it.

    Input: observation (batch, width) float32; output: action (batch, channels) float32. policy: a
    Network, or a TrainedPolicy that has one; ValueError for others. env, about: see `export_c`.
    Needs the extra rbgym[onnx].
    """
    from onnx import TensorProto, checker, helper, numpy_helper

    base = checked_env(env)
    network = bare(policy, base)
    if not isinstance(network, Network) or network.memory is not None:
        raise ValueError(f"policy must be a network without memory, got {network!r}")
    met(base, network)  # raises for observations of another width
    content = contract(base, network, about)
    arrays, nodes = list[Any](), list[Any]()

    def add(operator: str, *constants: Any, **attributes: Any) -> None:
        """Append a node that reads the output of the last one."""
        names = [f"constant_{len(arrays) + n}" for n in range(len(constants))]
        arrays.extend(map(numpy_helper.from_array, constants, names))
        before = nodes[-1].output[0] if nodes else "observation"
        node = helper.make_node(operator, [before, *names], [f"x_{len(nodes)}"], **attributes)
        nodes.append(node)

    if network.quaternions:  # multiply by the sign of the first component that is not zero
        leads, others = _leads(network)
        add("Sign")
        add("MatMul", leads)
        add("Sign")
        add("Add", others)
        add("Mul")
        nodes[-1].input.append("observation")
    if (normalizer := network.normalizer) is not None:  # in float64, as in `predict`
        if normalizer.repeats:
            add("Gather", normalizer.columns, axis=1)
        add("Cast", to=TensorProto.DOUBLE)
        add("Sub", normalizer.mean)
        add("Mul", normalizer.scale)
        add("Clip", *(np.array(side * normalizer.clip) for side in (-1.0, 1.0)))
        add("Cast", to=TensorProto.FLOAT)
    for n, (weight, bias) in enumerate(network.layers):
        if n:
            add(_NODES[network.activation])
        add("Gemm", weight, bias, transB=1)
    bound, squashed = OUTPUTS[network.output]
    add("Clip", *(np.array(side * bound, np.float32) for side in (-1.0, 1.0)))
    if squashed:
        add("Tanh")
    nodes[-1].output[0] = "action"
    taken, given = (
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", size])]
        for name, size in (("observation", network.width), ("action", network.sizes[-1]))
    )
    graph = helper.make_graph(nodes, "policy", taken, given, arrays)
    model = helper.make_model(
        graph, producer_name="rbgym", ir_version=IR, opset_imports=[helper.make_opsetid("", OPSET)]
    )
    helper.set_model_props(model, {"contract": json.dumps(content)})
    checker.check_model(model, full_check=True)
    with replacing(made_folder(folder) / "policy.onnx") as temporary:
        temporary.write_bytes(model.SerializeToString())
    return content


def _leads(network: Network) -> tuple[Any, Any]:
    """A matrix (width, width), which turns the signs of an observation into numbers of the sign of
    each quaternion's first nonzero component, and a vector (width,) with 1 in all other columns."""
    leads = np.zeros((network.width, network.width), np.float32)
    others = np.ones(network.width, np.float32)
    for k in network.quaternions:
        leads[k : k + 4, k : k + 4] = np.array([[8], [4], [2], [1]])
        others[k : k + 4] = 0
    return leads, others
