"""A PyTorch program as a graph of ATen calls (program.Graph). Each has the problem of the operator that computes it."""
import contextlib
import importlib.util
import json
import logging
import math
import operator
import pathlib
import sys
import warnings

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

from .pack import OPERATORS
from .problems import FUNCTIONS, described

SCHEMA = "autotune/graph/1"
MOST_VALUES = 4096  # of a constant that forward makes

# How ATen calls what functions of torch.nn.functional are given, and what it alone is given.
FUNCTION_NAMES = {"cross_entropy_loss": "cross_entropy", "max.dim": "amax", "min.dim": "amin"}
ARGUMENT_NAMES = {"self": "input"}
OWN_ARGUMENTS = ("cudnn_enable", "cudnn_enabled")
REDUCTIONS = ("none", "mean", "sum")


class Unexportable(Exception):
    """What a graph cannot have, in one line."""


class NeedsValues(Exception):
    """What fake tensors, which have no values, do not tell."""


def graph(make):
    """The document of a module and its inputs, as make() gives them. Fake tensors need no memory, and often suffice."""
    try:
        return document(exported(make, FakeTensorMode(allow_non_fake_inputs=True)))
    except NeedsValues:
        return document(exported(make, contextlib.nullcontext()))


def exported(make, mode):
    """What torch.export makes of the module."""
    with torch.no_grad(), mode:
        try:
            module, inputs = make()
        except Exception as error:
            raise NeedsValues if isinstance(mode, FakeTensorMode) else error
        try:
            return torch.export.export(module, inputs, strict=False)
        except Exception as error:
            if type(error).__module__.startswith("torch"):
                raise Unexportable(str(error).strip().split("\n")[0]) from error
            raise


def document(program):
    """The graph of an exported program."""
    signature, names, nodes = program.graph_signature, {}, []
    inputs, state = [], []
    specs = {s.arg.name: s for s in signature.input_specs}
    for node in program.graph.nodes:
        if node.op == "placeholder":
            spec = specs[node.name]
            kind = spec.kind.name.lower()
            if kind == "user_input":
                inputs.append(tensor(node.name, node.meta["val"]))
            elif node.users:
                state.append({**tensor(node.name, node.meta["val"]), **held(spec, kind, program)})
        elif node.op == "call_function" and node.target is operator.getitem:
            name = result_name(node.args[0].name, node.args[1])
            names[node.name] = name
        elif node.target is torch.ops.aten._assert_tensor_metadata.default:
            pass  # of export's own
        elif node.op == "call_function" and isinstance(node.target, torch._ops.OpOverload):
            nodes.append(call(node, names))
        elif node.op != "output":
            raise Unexportable(f"{node.name} is no call of ATen's: {node.target}")
    kinds = {s.kind.name for s in signature.output_specs}
    outputs = program.graph.output_node().args[0]
    values = all(isinstance(n, torch.fx.Node) for n in outputs)
    if not values or not kinds <= {"USER_OUTPUT", "BUFFER_MUTATION", "USER_INPUT_MUTATION"}:
        raise Unexportable("forward must return tensors and nothing else")
    if program.call_spec.out_spec.num_leaves > 1 and program.call_spec.out_spec.type not in (tuple, list):
        raise Unexportable("forward must return a tensor or a tuple of them")
    return {
        "schema": SCHEMA, "torch": torch.__version__, "inputs": inputs, "state": state, "nodes": nodes,
        "outputs": [names.get(n.name, n.name) for n in outputs],
    }


def held(spec, kind, program):
    """Where the module has a tensor; of a constant that forward makes, the values."""
    if kind in ("parameter", "buffer"):
        return {"path": spec.target, "kind": kind}
    value = program.constants.get(spec.target)
    if isinstance(value, FakeTensor):
        value = value.constant
        if value is None:
            raise NeedsValues
    if kind != "constant_tensor" or value is None or value.numel() > MOST_VALUES:
        raise Unexportable(f"{spec.arg.name} is a {kind} whose values are not in the module: make it a buffer")
    return {"path": spec.target, "kind": "constant", "values": value.flatten().tolist()}


def result_name(name, i):
    """The name of one of a call's results."""
    return name if i == 0 else f"{name}_result_{i}"


def tensor(name, value):
    """A value as the graph has it."""
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        raise Unexportable(f"{name} is a number that depends on data")
    if not isinstance(value, torch.Tensor):
        return {"name": name, "type": type(value).__name__, "shape": [], "strides": []}
    sizes = [*value.shape, *value.stride()]
    if not all(type(n) is int for n in sizes):
        raise Unexportable(f"the size of {name} depends on data")
    kind = str(value.dtype).removeprefix("torch.")
    return {"name": name, "type": kind, "shape": list(value.shape), "strides": list(value.stride())}


def call(node, names):
    """A call of ATen's. `names` has the values' names where they are not those of nodes."""
    given = dict(zip((a.name for a in node.target._schema.arguments), node.args)) | node.kwargs
    value = node.meta["val"]
    results = list(value) if isinstance(value, (tuple, list)) else [] if value is None else [value]
    made = {
        "name": node.name, "function": str(node.target), "arguments": [argument(a, names) for a in node.args],
        "keywords": {k: argument(v, names) for k, v in node.kwargs.items()},
        "results": [tensor(result_name(node.name, i), r) for i, r in enumerate(results)],
        "mutates": [names.get(n.name, n.name) for n in mutated(node, given)],
    }
    read = {user.args[1] for user in node.users if user.target is operator.getitem and user.users}
    return made | problem(node, given, names, read)


def argument(value, names):
    """An argument as the graph has it."""
    if isinstance(value, torch.fx.Node):
        return {"value": names.get(value.name, value.name)}
    if isinstance(value, (tuple, list)):
        return [argument(v, names) for v in value]
    if isinstance(value, torch.device):
        return {"constant": "device" if value.type in ("cpu", "meta") else f"torch.device({str(value)!r})"}
    if isinstance(value, float) and not abs(value) < float("inf"):
        return {"constant": f"float('{value}')"}
    if isinstance(value, (str, int, float)) or value is None:
        return value
    return {"constant": str(value)}


def mutated(node, given):
    """The values that a call writes. The schemas of norms do not tell, and detach_ writes nothing."""
    written = [a.name for a in node.target._schema.arguments if a.alias_info and a.alias_info.is_write]
    if node.target is torch.ops.aten.detach_.default:
        return []
    if given.get("training") or given.get("use_input_stats"):
        written += ["running_mean", "running_var"]
    return [given[name] for name in written if isinstance(given.get(name), torch.fx.Node)]


def problem(node, given, names, read):
    """What an operator computes of a call, or why none does, where one computes others of the function."""
    overload = str(node.target).removeprefix("aten.")
    function = FUNCTION_NAMES.get(overload, overload.split(".")[0])
    function = FUNCTION_NAMES.get(function, function)
    keywords = {ARGUMENT_NAMES.get(k, k): outline(v) for k, v in given.items() if k not in OWN_ARGUMENTS}
    if function.startswith("adaptive_avg_pool") and set(keywords["output_size"]) == {1}:
        keywords = {"input": keywords["input"], "dim": tuple(range(-len(keywords["output_size"]), 0)), "keepdim": True}
        function = "mean"
    if function == "matmul":
        keywords = dict(zip(keywords, products(*keywords.values())))
    if function not in FUNCTIONS:
        return {}
    if read - {0}:
        return {"why": "more than its first result is read"}
    if type(keywords.get("reduction")) is int:
        keywords["reduction"] = REDUCTIONS[keywords["reduction"]]
    found, why = FUNCTIONS.first(function, (), keywords)
    if why:
        return {"why": why}
    nodes = {ARGUMENT_NAMES.get(k, k): v for k, v in given.items()}
    kinds = {p["name"]: p["type"] for p in OPERATORS[found["operator"]]["parameters"]}
    parameters = {p: "x".join(text(v, kinds[p]) for v in values) for p, values in found["parameters"].items()}
    inputs = [{"argument": own, **argument(nodes[name], names), "shape": s} for own, name, s in found["tensors"]]
    made = {"operator": found["operator"], "shape": found["shape"], "parameters": parameters, "inputs": inputs}
    return {"problem": made}


def products(a, b):
    """The factors of torch.matmul with fewer dimensions: one product with all rows, or a batch."""
    (first, *of_a), (second, *of_b) = a, b
    if len(second) == 2 < len(first):
        return ((math.prod(first[:-1]), first[-1]), *of_a), b
    if len(first) > 3 and first[:-2] == second[:-2]:
        return tuple(((math.prod(shape[:-2]), *shape[-2:]), *rest) for shape, *rest in (a, b))
    return a, b


def text(value, kind):
    """A parameter's component as --set takes it."""
    return str(bool(value)).lower() if kind == "bool" else str(value)


def outline(value):
    """An argument without its data, as problems are found by."""
    if isinstance(value, torch.fx.Node):
        return described(value.meta["val"])
    return tuple(map(outline, value)) if isinstance(value, (tuple, list)) else value


def module_of(path):
    """A Python file as a module."""
    path = pathlib.Path(path).resolve()
    spec = importlib.util.spec_from_file_location(f"autotune_program_{len(sys.modules)}", path)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def model_of(file, kind):
    """A model of a class, made as a file, which is loaded as a module, says."""
    given = file.get_init_inputs() if hasattr(file, "get_init_inputs") else []
    return kind(**given) if isinstance(given, dict) else kind(*given)


def of_file(path):
    """A file with a class Model, get_inputs and get_init_inputs, as a function that makes the module and its inputs."""
    module = module_of(path)
    for name in ("Model", "get_inputs"):
        if not hasattr(module, name):
            raise Unexportable(f"it has no {name}: there must be a class Model and a function get_inputs")

    return lambda: (model_of(module, module.Model), tuple(module.get_inputs()))


def main(path, out):
    warnings.simplefilter("ignore")
    logging.disable()
    try:
        document = graph(of_file(path))
    except Unexportable as error:
        sys.exit(f"{path}: {error}")
    pathlib.Path(out).write_text(json.dumps(document))


if __name__ == "__main__":
    main(*sys.argv[1:])
