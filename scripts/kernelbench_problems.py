"""Which problems of KernelBench's level 1 are an operator of autotune's, and with which shape and parameters: read off
the problem's own model. Nothing is computed: model and inputs are made without memory, and forward's calls watched."""
import dataclasses
import math
import pathlib
import re

import torch
from torch.overrides import TorchFunctionMode

import problems
from problems import NotCovered, as_set

# PyTorch's names that mean the same.
PLAIN = {
    "__matmul__": "matmul", "max": "amax", "min": "amin",
    "__pow__": "pow", "__add__": "add", "__truediv__": "div", "true_divide": "div",
}
PRODUCTS = ("matmul", "mm", "bmm")
UNSEEN = ("dim", "size", "__get__")  # x.shape, x.T

# What leaves a triangle of a matrix, as matmul's parameters have it.
TRIANGLES = {"triu": 1, "tril": -1}

# An einsum of rows and a matrix: "bijl,lk->bijk".
ROWS_BY_MATRIX = re.compile(r"(\w*)(\w),\2(\w)->\1\3")

# Several calls, in order, and the operator of rows with its parameters that computes the same.
CHAINS = {
    ("pow", "mean", "add", "sqrt", "div"): ("rms_norm", {"affine": False}),
    ("abs", "mean", "div"): ("normalize", {"p": 1, "mean": True, "eps": 0.0}),
    ("norm", "div"): ("normalize", {"p": 2, "eps": 0.0}),
    ("mul", "cumsum"): ("masked_cumsum", {}),
    ("flip", "cumsum", "flip"): ("cumsum", {"reverse": True}),
    ("narrow", "cumsum", "select", "unsqueeze", "zeros_like", "cat"): ("cumsum", {"exclusive": True}),
}
SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "truediv": "/"}


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

    @property
    def name(self):
        return f"level1-{self.number}"

    def flags(self):
        """The problem on autotune's command line."""
        return [self.operator, "--shape", as_set(self.shape), *(word for s in self.settings() for word in ("--set", s))]

    def settings(self):
        return [f"{name}={as_set(value)}" for name, value in self.parameters.items()]

    def said(self):
        """The settings that are not the operator's defaults."""
        usual = {p["name"]: p.get("default") for p in problems.described(self.operator)["parameters"]}
        pairs = [setting.split("=", 1) for setting in self.settings()]
        return [f"{name}={v}" for name, v in pairs if set(v.lower().split("x")) != {str(usual.get(name)).lower()}]

    def __str__(self):
        return " ".join([self.operator, as_set(self.shape), *self.said()])


@dataclasses.dataclass
class Seen:
    """A call that was seen: the function's name, its arguments in order and by name, and its result."""

    name: str
    args: tuple
    named: dict
    gave: object


class Calls(TorchFunctionMode):
    """PyTorch's functions that are called."""

    def __init__(self):
        super().__init__()
        self.made = []

    def __torch_function__(self, function, types, args=(), named=None):
        try:
            gave = function(*args, **(named or {}))
        except NotImplementedError:
            gave = object()  # not every function says without memory what shape it gives
        if function.__name__ != "__get__":
            self.made.append(Seen(function.__name__, args, named or {}, gave))
        return gave


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
        watched = Watched(file)
        found = watched.rows() or watched.separable() or watched.only_call() or watched.chain()
        if not found:
            names = ", ".join(s.name for s in watched.made) or "nothing"
            raise NotCovered(f"it calls {names}, and no operator does that")
    except NotCovered:
        raise
    except Exception as e:
        raise NotCovered(f"its model does not run without memory: {type(e).__name__}: {e}".splitlines()[0])
    return Problem(number, title(file), file, *found)


class Watched:
    """What a file's model calls and answers, its layers, its inputs, and what makes those."""

    def __init__(self, file):
        names = {}
        exec(compile(file.read_text(), str(file), "exec"), names)
        with torch.device("meta"), torch.no_grad():
            model = names["Model"](*names["get_init_inputs"]())
            with Calls() as makes:
                self.inputs = names["get_inputs"]()
            with Calls() as calls:
                self.answer = model(*self.inputs)
        counts = [s for s in calls.made if s.name == "add_" and s.args[0].dim() == 0]  # a norm counts its batches
        self.made, self.makes = [s for s in calls.made if s.name not in UNSEEN and s not in counts], makes.made
        self.layers = list(model.children())

    def rows(self):
        """Several calls that an operator of rows does at once."""
        chain = tuple(PLAIN.get(s.name, s.name) for s in self.made)
        if chain not in CHAINS or len(self.inputs) != 1 + (CHAINS[chain][0] == "masked_cumsum"):
            return None
        operator, parameters = CHAINS[chain]
        call = next(s for s in self.made if s.name in ("mean", "norm", "cumsum"))
        dim = call.named.get("dim", next((a for a in call.args[1:2] if isinstance(a, int)), None))
        x = self.inputs[0]
        first, end = (0, x.dim()) if dim is None else (dim % x.dim(), dim % x.dim() + 1)
        shape = [math.prod(x.shape[:first]), math.prod(x.shape[first:end]), math.prod(x.shape[end:])]
        if operator == "rms_norm":
            eps = next(s.args[1] for s in self.made if s.name in ("add", "__add__"))
            return operator, shape, {**parameters, "eps": eps}, [x.shape[dim], eps, False, False, dim]
        return operator, shape, dict(parameters), [dim, False]

    def separable(self):
        """A depthwise layer and one of 1 x 1 after it."""
        if [type(layer).__name__ for layer in self.layers] != ["Conv2d"] * 2 or len(self.made) != 2:
            return None
        if self.made[1].gave is not self.answer:
            return None
        first, second = self.layers
        plain = (second.kernel_size, second.stride, second.padding, second.groups) == ((1, 1), (1, 1), (0, 0), 1)
        depthwise = first.groups == first.in_channels == first.out_channels
        if not plain or not depthwise or (first.bias is None) != (second.bias is None):
            return None
        parameters = {"c_out": second.out_channels, "bias": first.bias is not None, "kernel": first.kernel_size}
        parameters |= {name: getattr(first, name) for name in ("stride", "padding", "dilation")}
        return "conv_separable2d", list(self.inputs[0].shape), parameters

    def only_call(self):
        """One function of the inputs, or a triangle of a product."""
        made, wanted = self.made, 0
        if len(made) == 2 and made[1].name in TRIANGLES:
            if made[1].gave is self.answer and made[1].args == (made[0].gave,):
                wanted, made = TRIANGLES[made[1].name], made[:1]
        if len(made) != 1:
            return None
        seen, = made
        name = PLAIN.get(seen.name, seen.name)
        if name == "einsum":
            if not ROWS_BY_MATRIX.fullmatch(seen.args[0].replace(" ", "")):
                raise NotCovered(f"no operator is the einsum {seen.args[0]}")
            return product(*seen.args[1:], self.inputs)
        if name in PRODUCTS:
            operator, shape, parameters = product(*seen.args, self.inputs)
            if wanted:
                parameters |= self.triangles(seen.args) | {"triangular_output": wanted}
            return operator, shape, parameters
        function = problems.function(name)
        if function is None:
            return None
        operator, shape, parameters = problems.recognised(name, seen.args, seen.named)
        if operator == "elementwise":
            return None
        given = dict(zip((a.name for a in function.given), seen.args)) | seen.named
        if function.folds.over:  # what an exported module is told of its input's dimensions
            return operator, shape, parameters, [tuple(given[function.dim]), parameters["eps"]]
        if function.dim:
            return operator, shape, parameters, [given.get(function.dim), bool(given.get("keepdim", False))]
        return operator, shape, parameters

    def triangles(self, factors):
        """A matmul's parameters of factors that are made as triangles."""
        made = {id(s.gave): TRIANGLES[s.name] for s in self.makes if s.name in TRIANGLES and len(s.args) == 1}
        return {f"triangular_{name}": made.get(id(factor), 0) for name, factor in zip("ab", factors)}

    def chain(self):
        """An expression of its inputs."""
        found = expression(self.made, self.answer, self.inputs)
        if not found:
            return None
        text, shape, reduction, passed = found
        same = passed == [f"inputs[{i}]" for i in range(len(passed))]
        return "elementwise", shape, {"f": text, "type": "f32", **reduction}, None, None if same else passed


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


def expression(made, answer, inputs):
    """The expression that calls compute, the shape, how its outputs are reduced, and x and w as Python's text of the
    inputs; None if one of the calls is no function of expressions. A number among the inputs becomes w."""
    tensors = [t for t in inputs if isinstance(t, torch.Tensor)]
    if len(tensors) not in (1, 2) or not made or made[-1].gave is not answer:
        return None
    x, *others = sorted(tensors, key=lambda t: -t.numel())
    texts = {id(x): "x", **{id(t): "w" for t in others}}
    places = {id(t): f"inputs[{i}]" for i, t in enumerate(inputs)}  # of inputs, and of w with other dimensions
    shapes, reduction = {id(t): t.shape for t in others}, {}
    known = next(p["functions"] for p in problems.described("elementwise")["parameters"] if p["name"] == "f")

    def text(argument):
        if isinstance(argument, torch.Tensor):
            return texts[id(argument)]
        return "w" if any(argument is given for given in inputs) else repr(argument)

    for s in made:
        bare = s.name.strip("_")
        reverse, loss = bare.startswith("r") and bare[1:] in SIGNS, problems.function(bare)
        try:
            if bare == "unsqueeze" and id(s.args[0]) in shapes:
                texts[id(s.gave)], shapes[id(s.gave)] = "w", s.gave.shape
                places[id(s.gave)] = f"{places[id(s.args[0])]}.unsqueeze({s.args[1]})"
                others = [s.gave]
                continue
            words = [text(a) for a in s.args]
        except KeyError:
            return None  # of what another function gave
        if reverse or bare in SIGNS:
            first, second = reversed(words) if reverse else words
            found = f"({first}{SIGNS[bare[1:] if reverse else bare]}{second})"
        elif bare == "clamp" and [*s.named] == ["min"]:
            found = f"max({words[0]},{s.named['min']})"
        elif loss and "target" in loss.tensors and "f" in loss.meant and len(others) == 1:
            found, how = in_place_of(loss.meant["f"], words[0], words[1]), s.named.get("reduction", "mean")
            if how == "batchmean":
                found = f"({found})/{s.args[0].shape[0]}"
            reduction = {"sum": True} if how in ("sum", "batchmean") else {"mean": True} if how == "mean" else {}
        elif bare in ("mean", "sum") and s.gave is answer and s.gave.dim() == 0 and not reduction:
            found, reduction = words[0], {bare: True}
        elif bare in known:
            tanh = "_tanh" if s.named.get("approximate", "none") == "tanh" else ""
            more = [text(v) for n, v in s.named.items() if n not in ("inplace", "training", "approximate")]
            found = f"{bare}{tanh}({','.join([*words, *more])})"
        else:
            return None
        texts[id(s.gave)] = found
    return texts[id(answer)], folded(x, others, shapes), reduction, [places[id(t)] for t in (x, *others)]


def in_place_of(formula, x, w):
    """A formula of x and w, of other texts."""
    return re.sub(r"\b[xw]\b", lambda m: {"x": x, "w": w}[m[0]], formula)


def folded(x, others, shapes):
    """The shape of an elementwise problem: w lies along the dimensions that it is not broadcast along."""
    if not others:
        return [1, 1, x.numel()]
    w = shapes[id(others[0])]
    own = [x.dim() - 1 - i for i, n in enumerate(reversed(w)) if n != 1]
    first, end = (min(own), max(own) + 1) if own else (x.dim(), x.dim())
    return [math.prod(x.shape[:first]), math.prod(x.shape[first:end]), math.prod(x.shape[end:])]
