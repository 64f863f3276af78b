"""What PyTorch is asked of a convolution: its own function of the operator's name, and a
part of the answer that is quick to compute in double precision."""
import torch.nn.functional as F

FACTORS = ("x", "weight")  # what is multiplied: a bias is not


def ask(operator, tensors, parameters):
    """PyTorch's answer, of the tensors by name. A parameter is a list of its components."""
    names = ("stride", "padding", "dilation", "output_padding")
    rest = {name: parameters[name] for name in names if name in parameters}
    bias = tensors["bias"] if tensors["bias"].numel() else None
    return getattr(F, operator)(tensors["x"], tensors["weight"], bias, groups=parameters["groups"][0], **rest)


def part(operator, tensors, parameters):
    """The first image's first group, up to eight of its output channels: the tensors and
    parameters that give them, and where they lie in the whole answer."""
    groups, x, weight = parameters["groups"][0], tensors["x"], tensors["weight"]
    channels = min(8, parameters["c_out"][0] // groups)
    seen = x.shape[1] // groups
    weight = weight[:seen, :channels] if "transpose" in operator else weight[:channels]
    few = {"x": x[:1, :seen], "weight": weight, "bias": tensors["bias"][:channels]}
    return few, {**parameters, "groups": [1]}, (slice(0, 1), slice(0, channels))
