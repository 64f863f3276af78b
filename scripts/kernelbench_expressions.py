"""Which expression of `elementwise` a model's calls of PyTorch's functions are."""
import math

import torch

OPERATORS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "truediv": "/"}
FUNCTIONS = (
    "relu", "relu6", "leaky_relu", "sigmoid", "tanh", "silu", "gelu", "elu", "selu", "hardsigmoid", "hardswish", "hardtanh", "softplus",
    "logsigmoid", "softsign", "mish", "abs", "exp", "log", "sqrt", "pow", "erf",
)
UNSAID = ("inplace", "training", "approximate")

# Losses of x and a target w.
LOSSES = {
    "mse_loss": "square({x}-{w})", "l1_loss": "abs({x}-{w})", "smooth_l1_loss": "smooth_l1({x}-{w})", "huber_loss": "huber({x}-{w})",
    "kl_div": "xlogy({w},{w})-{w}*{x}",
}


def expression(made, answer, inputs):
    """The expression, the shape, whether its outputs become one, and Python's text of x and w of the inputs; or None
    where one of the calls is no function of expressions. A call is a function's name, its arguments, what it gave, and
    its arguments by name. A number that is given stands as w."""
    tensors = [t for t in inputs if isinstance(t, torch.Tensor)]
    if len(tensors) not in (1, 2) or not made or made[-1][2] is not answer:
        return None
    x, *others = sorted(tensors, key=lambda t: -t.numel())
    texts = {id(x): "x", **{id(t): "w" for t in others}}
    places = {id(t): f"inputs[{i}]" for i, t in enumerate(inputs)}  # of inputs, and of w with other dimensions
    shapes = {id(t): t.shape for t in others}
    reduction = {}

    def text(argument):
        if isinstance(argument, torch.Tensor):
            return texts[id(argument)]
        return "w" if any(argument is given for given in inputs) else repr(argument)

    for name, arguments, gave, named in made:
        bare = name.strip("_")
        reverse = bare.startswith("r") and bare[1:] in OPERATORS
        said = [*arguments, *(v for n, v in named.items() if n not in UNSAID)]
        try:
            if bare == "unsqueeze" and id(arguments[0]) in shapes:
                texts[id(gave)], shapes[id(gave)] = "w", gave.shape
                places[id(gave)] = f"{places[id(arguments[0])]}.unsqueeze({arguments[1]})"
                others = [gave]
                continue
            words = [text(a) for a in (arguments if named else said)]
        except KeyError:
            return None  # of what another function gave
        if reverse or bare in OPERATORS:
            first, second = reversed(words) if reverse else words
            found = f"({first}{OPERATORS[bare[1:] if reverse else bare]}{second})"
        elif bare == "clamp" and [*named] == ["min"]:
            found = f"max({words[0]},{named['min']})"
        elif bare in LOSSES and len(others) == 1:
            found, how = LOSSES[bare].format(x=words[0], w=words[1]), named.get("reduction", "mean")
            if how == "batchmean":
                found = f"({found})/{arguments[0].shape[0]}"
            reduction = {"sum": True} if how in ("sum", "batchmean") else {"mean": True} if how == "mean" else {}
        elif bare in ("mean", "sum") and gave is answer and gave.dim() == 0 and not reduction:
            found, reduction = words[0], {bare: True}
        elif bare in FUNCTIONS:
            tanh = "_tanh" if named.get("approximate", "none") == "tanh" else ""
            found = f"{bare}{tanh}({','.join(text(a) for a in said)})"
        else:
            return None
        texts[id(gave)] = found
    return texts[id(answer)], folded(x, others, shapes), reduction, [places[id(t)] for t in (x, *others)]


def folded(x, others, shapes):
    """The shape of an elementwise problem: w lies along the dimensions that it is not broadcast along."""
    if not others:
        return [1, 1, x.numel()]
    w = shapes[id(others[0])]
    own = [x.dim() - 1 - i for i, n in enumerate(reversed(w)) if n != 1]
    first, end = (min(own), max(own) + 1) if own else (x.dim(), x.dim())
    return [math.prod(x.shape[:first]), math.prod(x.shape[first:end]), math.prod(x.shape[end:])]
