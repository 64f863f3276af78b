"""Finds out which problem of an operator a PyTorch call is, with the code by which packs run such calls."""
import json
import pathlib

import torch

from .arguments import Function
from .pack import FORMATS, LAST, OPERATORS, SHAPED, TORCH_TYPES, Operator, PackError

WORDS = {dtype: word for word, dtype in TORCH_TYPES.items()}
REFUSALS = (ValueError, TypeError, IndexError, KeyError, ZeroDivisionError, PackError)


def described(t):
    """Describes a tensor without its data: shape, type and layout in memory."""
    return tuple(t.shape), t.dtype, layout(t)


def layout(t):
    if t.is_contiguous():
        return ""
    form = FORMATS.get(t.dim())
    if form and t.is_contiguous(memory_format=form):
        return "channels_last"
    if t.dim() > 1 and t.mT.is_contiguous():
        return "transposed"
    return "not contiguous"


def is_tensor(value):
    return isinstance(value, tuple) and len(value) == 3 and isinstance(value[1], torch.dtype)


class Functions:
    """The PyTorch functions that operators compute."""

    def __init__(self):
        listed = json.loads((pathlib.Path(__file__).parent / "functions.json").read_text())
        operators = {name: Operator(spec) for name, spec in OPERATORS.items()}
        self.calls = {function: [Function(operators[c["operator"]], function, c) for c in calls] for function, calls in listed.items()}

    def __contains__(self, name):
        return plain(name) in self.calls

    def found(self, function, given, why):
        """Describes a call: its arguments as text, and the problem that it is or the reason why it is none."""
        if given is None:
            return {"arguments": "...", "why": "it is called with too many different arguments"}
        if function not in self:
            return {"arguments": words(given)}
        args, keywords = given
        found = {"arguments": words((*args, *keywords))}
        if why is None:
            problem, why = self.first(function, args, dict(keywords))
            if problem:
                del problem["tensors"]
                return {**found, **problem}
        return {**found, "why": why}

    def first(self, function, args, keywords):
        """The problem of the first operator that computes a call; None, and why there is none."""
        for call in self.calls[plain(function)]:
            try:
                return problem(call, args, keywords), None
            except REFUSALS as error:
                why = str(error)
        return None, why


def plain(name):
    """The name of a function without the underscore that marks the in-place variant: relu for relu_."""
    return name.removesuffix("_")


def words(values):
    """Writes arguments as text: tensors with their shape, type and layout."""
    return ", ".join(map(word, values))


def word(value):
    if is_tensor(value):
        shape, dtype, layout = value
        return " ".join(filter(None, ["x".join(map(str, shape)) or "a number", WORDS.get(dtype, str(dtype).removeprefix("torch.")), layout]))
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str):
        return f"{value[0]}={word(value[1])}"
    if isinstance(value, tuple):
        return "x".join(map(word, value)) if all(isinstance(v, int) for v in value) else f"[{', '.join(map(word, value))}]"
    return str(value)


def problem(call, args, keywords):
    """Returns the problem of the operator that a call is, or raises an error with the reason why it is none."""
    operator = call.operator
    names = [name for name, *_ in call.given]
    operator.need(len(args) <= len(names), f"{call.function} takes more than {', '.join(names)}")
    given = {**dict(zip(names, args)), **keywords}
    for name in keywords:
        operator.need(name in names, f"{call.function} with {name} is not what the kernels compute")
    tensors = [given.get(name) for name in call.tensors]
    operator.need(all(t is None or is_tensor(t) for t in tensors), "its arguments are no plain tensors")
    told = next((t for place, t in zip(call.places, tensors) if place == operator.teller), tensors[0])
    dtype = told[1]
    for i, (t, place, kind) in enumerate(zip(tensors, call.places, operator.types([operator.read[i] for i in call.places], dtype))):
        truths = i == call.added and t and t[1] == torch.bool
        operator.need(t is None or t[1] == kind or truths, f"{operator.read[place]['name']} is {t and word(t)}; it must be {WORDS.get(kind, kind)}")
    values = [None if given.get(name) == () else given.get(name) for name, *_ in call.parameters]
    shapes = [None if t is None else t[0] for t in tensors]
    call.fits(shapes[0], values)
    settings = call.of(shapes, values)
    shapes = call.folds.arranged(shapes, settings)
    order = LAST if operator.order and tensors[0][2] == "channels_last" else SHAPED
    bound = operator.bind(settings, shapes, dtype, "", 90, order)
    return {
        "operator": operator.name,
        "shape": [bound[name] for name in operator.spec["shape"]],
        "parameters": {p["name"]: [bound[c["name"]] for c in p["components"]] for p in operator.spec["parameters"]},
        # Of each tensor that the call gives: the operator's name, the function's, and the shape that the operator sees.
        "tensors": [(operator.read[i]["name"], name, list(shapes[i])) for i, name in zip(call.places, call.tensors) if given.get(name) is not None],
    }


FUNCTIONS = Functions()
