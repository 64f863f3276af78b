"""Which expression of `elementwise` a model's calls of PyTorch's functions are."""
import torch

OPERATORS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "truediv": "/"}
FUNCTIONS = (
    "relu", "relu6", "leaky_relu", "sigmoid", "tanh", "silu", "gelu", "elu", "selu", "hardsigmoid", "hardswish", "hardtanh", "softplus",
    "logsigmoid", "softsign", "mish", "abs", "exp", "log", "sqrt", "pow", "erf",
)
UNSAID = ("inplace", "training", "approximate")


def expression(made, answer, inputs):
    """The expression and the shape, or None where one of the calls is no function of expressions. A call is a
    function's name, its arguments, what it gave, and its arguments by name. A number that is given stands as w."""
    tensors = [t for t in inputs if isinstance(t, torch.Tensor)]
    if len(tensors) != 1 or not made or made[-1][2] is not answer:
        return None
    texts = {id(tensors[0]): "x"}

    def text(argument):
        if isinstance(argument, torch.Tensor):
            return texts[id(argument)]
        return "w" if any(argument is given for given in inputs) else repr(argument)

    for name, arguments, gave, named in made:
        bare = name.strip("_")
        reverse = bare.startswith("r") and bare[1:] in OPERATORS
        approximate = named.get("approximate", "none")
        said = [*arguments, *(v for n, v in named.items() if n not in UNSAID)]
        try:
            words = [text(a) for a in said]
        except KeyError:
            return None  # of what another function gave
        if reverse or bare in OPERATORS:
            first, second = reversed(words) if reverse else words
            texts[id(gave)] = f"({first}{OPERATORS[bare[1:] if reverse else bare]}{second})"
        elif bare in FUNCTIONS:
            texts[id(gave)] = f"{bare}{'_tanh' if approximate == 'tanh' else ''}({','.join(words)})"
        else:
            return None
    return texts[id(answer)], [1, 1, tensors[0].numel()]
