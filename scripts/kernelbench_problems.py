"""Which problems of KernelBench's level 1 are an operator of autotune's, and with what
shape and parameters: read off the problem's own model. Nothing is computed for it: model
and inputs are made without memory, and what forward calls is watched."""
import collections
import dataclasses
import math
import pathlib
import re

import torch
from torch.overrides import TorchFunctionMode

import torch_operators
from kernelbench_expressions import expression
from kernelbench_rows import row_problem

PRODUCTS = ("matmul", "mm", "bmm", "__matmul__")

# What leaves a triangle of a matrix, as matmul's parameters have it.
TRIANGLES = {"triu": 1, "tril": -1}

# An einsum of rows and a matrix: "bijl,lk->bijk".
ROWS_BY_MATRIX = re.compile(r"(\w*)(\w),\2(\w)->\1\3")


class NotCovered(Exception):
    """The problem is no operator's; it says why."""


@dataclasses.dataclass
class Problem:
    number: int
    title: str
    file: pathlib.Path
    operator: str
    shape: list
    parameters: dict
    arguments: list = None  # of the exported module; None: those that it gives itself
    passed: list = None  # what its forward is given of the problem's `inputs`, as Python; None: those

    def flags(self):
        """What autotune's command line calls it."""
        settings = (f"{name}={torch_operators.as_set(value)}" for name, value in self.parameters.items())
        return [self.operator, "--shape", "x".join(map(str, self.shape)), *(word for s in settings for word in ("--set", s))]

    def said(self):
        """The parameters that are not as PyTorch has them by default."""
        usual = torch_operators.complete(self.operator, {"kernel": self.parameters.get("kernel")})
        return {name: v for name, v in self.parameters.items() if name == "kernel" or components(v) != components(usual.get(name))}

    def __str__(self):
        settings = (f"{name}={torch_operators.as_set(value)}" for name, value in self.said().items())
        return " ".join([self.operator, "x".join(map(str, self.shape)), *settings])

    def kind(self):
        """What problems that put an operator to the same test have in common."""
        kernel = components(self.parameters.get("kernel"))
        proportions = tuple((size == 1, size < max(self.shape) / 64) for size in self.shape)
        return self.operator, tuple(self.said()), len(kernel), kernel == {1}, proportions


def components(value):
    """The values in a parameter: a number stands for a pair of it."""
    return set(value) if isinstance(value, tuple) else {value}


class Calls(TorchFunctionMode):
    """PyTorch's functions that are called, with what they were given and what they gave."""

    def __init__(self):
        super().__init__()
        self.made, self.keywords = [], []

    def __torch_function__(self, function, types, arguments=(), keywords=None):
        try:
            answer = function(*arguments, **(keywords or {}))
        except NotImplementedError:
            answer = object()  # not every function says without memory what shape it gives
        if function.__name__ != "__get__":  # x.shape, x.T
            self.made.append((function.__name__, arguments, answer))
            self.keywords.append(keywords or {})
        return answer


def without_memory():
    """A context in which tensors have shapes only."""
    return torch.device("meta")


def numbered(checkout):
    """Level 1's files by their numbers."""
    files = (checkout / "KernelBench/level1").glob("*.py")
    return dict(sorted((int(f.name.split("_")[0]), f) for f in files))


def title(file):
    """The name of a problem, from its file's."""
    return re.sub("[ _]+", " ", file.stem).split(" ", 1)[1].strip()


def derive(number, file):
    """The operator's problem that a file is."""
    try:
        made, keywords, answer, layers, inputs, makes = watch(file)
        found = row_problem(made, keywords, answer, layers, inputs) or separable(made, answer, layers, inputs) or chain(made, keywords, answer, inputs)
        operator, shape, parameters, arguments, *passed = found or (*only_call(made, answer, layers, inputs, makes), None)
        if operator not in torch_operators.DEFAULTS:
            raise NotCovered(f"no operator is {operator}")
    except NotCovered:
        raise
    except Exception as e:
        raise NotCovered(f"its model does not run without memory: {type(e).__name__}: {e}".splitlines()[0])
    return Problem(number, title(file), file, operator, shape, parameters, arguments, *passed)


def watch(file):
    """What a file's model calls, what it answers, its layers, its inputs, and how those were made."""
    names = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    with without_memory(), torch.no_grad():
        model = names["Model"](*names["get_init_inputs"]())
        with Calls() as makes:
            inputs = names["get_inputs"]()
        with Calls() as calls:
            answer = model(*inputs)
    return calls.made, calls.keywords, answer, list(model.children()), inputs, makes.made


def separable(made, answer, layers, inputs):
    """Of a depthwise layer and one of 1 x 1 after it: operator, shape, parameters, and the module's arguments."""
    if [type(layer).__name__ for layer in layers] != ["Conv2d"] * 2 or len(made) != 2 or len(inputs) != 1 or made[1][2] is not answer:
        return None
    first, second = layers
    plain = (second.kernel_size, second.stride, second.padding, second.groups) == ((1, 1), (1, 1), (0, 0), 1)
    if not plain or not first.groups == first.in_channels == first.out_channels or (first.bias is None) != (second.bias is None):
        return None
    parameters = {"c_out": second.out_channels, "bias": first.bias is not None}
    parameters |= {name: getattr(first, of) for name, of in (("kernel", "kernel_size"), ("stride", "stride"), ("padding", "padding"), ("dilation", "dilation"))}
    return torch_operators.SEPARABLE, list(inputs[0].shape), parameters, None


def chain(made, keywords, answer, inputs):
    """Of a forward that is an expression of its inputs: operator, shape, parameters, no arguments, and what is passed."""
    found = expression([(*call, named) for call, named in zip(made, keywords)], answer, inputs)
    if not found:
        return None
    text, shape, reduction, passed = found
    same = passed == [f"inputs[{i}]" for i in range(len(passed))]
    return "elementwise", shape, {"f": text, "type": "f32", **reduction}, None, None if same else passed


def only_call(made, answer, layers, inputs, makes):
    """Operator, shape and parameters of a forward that is one function of its inputs, or a triangle of it."""
    names = [name for name, _, _ in made]
    wanted = 0
    if len(made) == 2 and names[1] in TRIANGLES and made[1][2] is answer and len(made[1][1]) == 1 and made[1][1][0] is made[0][2]:
        wanted, answer, made = TRIANGLES[names[1]], made[0][2], made[:1]
    if len(made) != 1 or made[0][2] is not answer or wanted and names[0] not in PRODUCTS:
        raise NotCovered(f"it calls {', '.join(names) or 'nothing'}, and no operator does that")
    name, arguments, _ = made[0]
    if name == "einsum":
        return product(*matrices(*arguments), inputs)
    if name == torch_operators.ATTENTION and len(arguments) == 3 and all(a is given for a, given in zip(arguments, inputs)):
        q, k, v = arguments
        return name, [*q.shape[:3], *k.shape[2:]], {"width_v": v.shape[-1], "heads_kv": k.shape[1], "type": "f32"}
    if name in PRODUCTS:
        operator, shape, parameters = product(*arguments, inputs)
        return operator, shape, parameters | triangles(arguments, makes, wanted)
    if len(layers) == 1 and len(inputs) == 1:
        return layer_problem(layers[0], inputs[0])
    raise NotCovered(f"no operator is {name}")


def triangles(factors, makes, wanted):
    """A matmul's parameters of factors that are made as triangles, where one is wanted."""
    made = {id(answer): TRIANGLES[name] for name, arguments, answer in makes if name in TRIANGLES and len(arguments) == 1}
    a, b = (made.get(id(factor), 0) for factor in factors)
    return {"triangular_a": a, "triangular_b": b, "triangular_output": wanted} if wanted else {}


def matrices(equation, *factors):
    """The factors of an einsum that is a product of matrices."""
    if not ROWS_BY_MATRIX.fullmatch(equation.replace(" ", "")):
        raise NotCovered(f"no operator is the einsum {equation}")
    return factors


def product(a, b, inputs):
    """A matmul's problem. Its module takes the rows of all of a's matrices together where b is one."""
    transposed_a, transposed_b = (is_transposed(t, x) for t, x in zip((a, b), inputs))
    parameters = {"transpose_a": transposed_a, "transpose_b": transposed_b, "bias": False}
    *rows, k = a.shape
    if a.dim() >= 2 and b.dim() == 2 and not (a.dim() > 2 and transposed_a):
        return "matmul", [1, math.prod(rows), k, b.shape[1]], parameters
    if a.dim() == b.dim() == 3 and a.shape[0] == b.shape[0]:
        return "matmul", [*rows, k, b.shape[2]], parameters
    raise NotCovered(f"no problem of matmul has factors of the shapes {tuple(a.shape)} and {tuple(b.shape)}")


def is_transposed(factor, given):
    """Whether a factor is what forward was given, transposed, or just that."""
    if factor is given:
        return False
    if factor._base is given and factor.shape == given.mT.shape and factor.stride() == given.mT.stride():
        return True
    raise NotCovered("a factor is not what forward is given")


def layer_problem(layer, x):
    """The problem of one of PyTorch's layers, whose operator bears its name: MaxPool1d, max_pool1d."""
    operator = re.sub("(?<=[a-z])(?=[A-Z])", "_", type(layer).__name__).lower()
    if operator not in torch_operators.DEFAULTS:
        raise NotCovered(f"no operator is a {type(layer).__name__}")
    more = getattr(layer, "return_indices", False), getattr(layer, "padding_mode", "zeros") != "zeros", isinstance(layer.padding, str)
    if any(more):
        raise NotCovered(f"no operator does all that {layer} does")
    if operator == "conv2d" and layer.groups == layer.in_channels == layer.out_channels > 1:
        operator = "depthwise_conv2d"
    return operator, list(x.shape), parameters_of(layer, operator)


def parameters_of(layer, operator):
    """A layer's attributes as the operator's parameters."""
    names = {"kernel": "kernel_size", "stride": "stride"} | {name: name for name in torch_operators.DEFAULTS[operator]}
    if "groups" in names:
        names = {"c_out": "out_channels"} | names
    of_type, _ = names.pop("type", None), names.pop("layout", None)
    values = {name: getattr(layer, attribute) for name, attribute in names.items()}
    if "bias" in values:
        values["bias"] = layer.bias is not None
    if of_type and hasattr(layer, "weight"):  # a pool's is that of its input: float32
        words = {dtype: word for word, dtype in torch_operators.DTYPES.items()}
        if layer.weight.dtype not in words:
            raise NotCovered(f"no operator is of {layer.weight.dtype}")
        values["type"] = words[layer.weight.dtype]
    return {name: 0 if value is None else value for name, value in values.items()}  # no divisor is 0


def most_different_first(problems):
    """First those that are like none before them, operators taking turns."""
    seen = collections.Counter()
    keys = {}
    for p in problems:
        keys[p.number] = seen[p.kind()], seen[p.operator]
        seen.update([p.kind(), p.operator])
    return sorted(problems, key=lambda p: keys[p.number])
