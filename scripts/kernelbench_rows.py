"""Problems of KernelBench's that take all elements along a dimension together, in one function of
PyTorch's or in a few."""
import math

# What a forward calls, in order, and the operator with its parameters that computes the same.
CHAINS = {
    **{(name,): (name, {}) for name in ("softmax", "log_softmax", "sum", "mean", "argmax", "argmin", "max", "min", "cumsum", "cumprod")},
    ("pow", "mean", "add", "sqrt", "div"): ("rms_norm", {"affine": False}),
    ("abs", "mean", "div"): ("normalize", {"p": 1, "mean": True, "eps": 0.0}),
    ("norm", "div"): ("normalize", {"p": 2, "eps": 0.0}),
    ("mul", "cumsum"): ("masked_cumsum", {}),
    ("flip", "cumsum", "flip"): ("cumsum", {"reverse": True}),
    ("narrow", "cumsum", "select", "unsqueeze", "zeros_like", "cat"): ("cumsum", {"exclusive": True}),
}
# Functions' names as operators of Python have them.
PLAIN = {"__pow__": "pow", "__add__": "add", "__truediv__": "div", "true_divide": "div"}
UNSEEN = ("dim", "size", "__get__")


def row_problem(made, keywords, answer, layers, inputs):
    """Operator, shape, parameters, and the arguments of the exported module; None: the problem is another."""
    if len(layers) == len(inputs) == 1 and type(layers[0]).__name__.rstrip("123d") in ("GroupNorm", "InstanceNorm", "BatchNorm"):
        return channel_norm(layers[0], inputs[0])
    if len(layers) == 1 and type(layers[0]).__name__ == "LayerNorm" and len(inputs) == 1:
        layer, x = layers[0], inputs[0]
        parameters = {"eps": layer.eps, "affine": layer.weight is not None, "bias": layer.bias is not None}
        length = math.prod(layer.normalized_shape)
        return "layer_norm", [x.numel() // length, length, 1], parameters, [tuple(layer.normalized_shape), layer.eps]
    if [name for name, _, _ in made] == ["cross_entropy"] and len(inputs) == 2:
        given, x = {name: v for name, v in keywords[0].items() if v is not None}, inputs[0]
        if given.pop("reduction", "mean") == "mean" and not given.keys() - {"label_smoothing", "ignore_index"}:
            shape = [x.shape[0], x.shape[1], math.prod(x.shape[2:])]
            return "cross_entropy", shape, given, [None, given.get("ignore_index", -100), "mean", given.get("label_smoothing", 0.0)]
    if [name for name, _, _ in made] == ["triplet_margin_loss"] and len({tuple(x.shape) for x in inputs}) == 1:
        return triplet({name: v for name, v in keywords[0].items() if v is not None}, inputs[0])
    seen = [(PLAIN.get(name, name), arguments, {**named}) for (name, arguments, _), named in zip(made, keywords) if name not in UNSEEN]
    chain = tuple(name for name, _, _ in seen)
    if chain not in CHAINS or len(inputs) != 1 + (CHAINS[chain][0] == "masked_cumsum"):
        return None
    operator, parameters = CHAINS[chain]
    reducing = next(call for call in seen if call[0] in ("mean", "norm", "cumsum") or len(seen) == 1)
    dim, keepdim = dimension(*reducing[1:])
    x = inputs[0]
    first, end = (0, x.dim()) if dim is None else (dim % x.dim(), dim % x.dim() + 1)
    shape = [math.prod(x.shape[:first]), math.prod(x.shape[first:end]), math.prod(x.shape[end:])]
    if operator == "rms_norm":
        eps = next(arguments[1] for name, arguments, _ in seen if name == "add")
        return operator, shape, {**parameters, "eps": eps}, [x.shape[dim], eps, False, False, dim]
    return operator, shape, dict(parameters), [dim, keepdim and len(seen) == 1]


def triplet(given, x):
    """The same of a triplet loss, of the arguments that are given by name."""
    how = given.pop("reduction", "mean")
    whole = {"margin": 1.0, "p": 2.0, "eps": 1e-6, "swap": False, **given}
    parameters = {**whole, "p": 0 if whole["p"] == math.inf else whole["p"], "sum": how == "sum", "mean": how == "mean"}
    return "triplet_margin_loss", [math.prod(x.shape[:-1]), x.shape[-1]], parameters, [*(whole[name] for name in ("margin", "p", "eps", "swap")), None, None, how]


def channel_norm(layer, x):
    """The same of a layer that norms channels."""
    shape = [x.shape[0], x.shape[1], math.prod(x.shape[2:])]
    weights = {"weight": layer.weight is not None, "bias": layer.bias is not None, "eps": layer.eps}
    if type(layer).__name__.startswith("BatchNorm"):
        if layer.running_mean is None or layer.momentum is None:
            return None
        return "batch_norm", shape, {"training": layer.training, "momentum": layer.momentum, **weights}, [
            shape[1], layer.eps, layer.momentum, weights["weight"], True, weights["bias"]]
    if getattr(layer, "track_running_stats", False):
        return None
    groups = getattr(layer, "num_groups", shape[1])  # a channel is a group of instance_norm
    return "group_norm", shape, {"groups": groups, **weights}, [groups, shape[1], layer.eps, weights["weight"], weights["bias"]]


def dimension(arguments, named):
    """The dimension of a call, None for all, and whether it is kept."""
    dim = named.get("dim", next((a for a in arguments[1:2] if isinstance(a, int)), None))
    return dim, bool(named.get("keepdim", False))
