"""Modules that take the place of PyTorch's, with PyTorch's names and arguments; and replace(model)."""
import dataclasses

import torch

from . import functions
from .pack import TORCH_TYPES, lies_last

# The names of PyTorch's classes that autotune has an operator for.
KNOWN = {form + axes for form in ("Conv", "ConvTranspose", "MaxPool", "AvgPool") for axes in ("1d", "2d", "3d")} | {
    "Linear", "Softmax", "LogSoftmax", "LayerNorm", "RMSNorm", "GroupNorm", "ReLU", "ReLU6", "GELU", "SiLU", "ELU", "SELU", "Sigmoid", "Tanh", "LeakyReLU",
    "Hardswish", "Hardsigmoid", "Softplus", "Softsign", "LogSigmoid", "Mish",
}

# What a module may ask for that no kernel computes.
OTHER = {"padding_mode": "zeros", "return_indices": False}


def arguments(call, module):
    """A module's tensors beside its input, and the other arguments of PyTorch's function."""
    return [getattr(module, name, None) for name in call.weights], tuple(getattr(module, name, None) for name, _, _ in call.parameters)


def why_not(call, module):
    """Why an operator of the pack cannot take a module's place; None if it can."""
    for name, wanted in OTHER.items():
        if getattr(module, name, wanted) != wanted:
            return f"{name}={getattr(module, name)!r}"
    tensors, values = arguments(call, module)
    for t in tensors:
        if t is not None and t.dtype not in TORCH_TYPES.values():
            return f"its parameters are {t.dtype}"
    try:
        settings = call.of([None, *(None if t is None else t.shape for t in tensors)], values)
    except (ValueError, TypeError, IndexError) as error:
        return str(error)
    if call.kernels.operator.may_serve(settings):
        return None
    return "no kernel of the pack was made for its parameters"


chosen = {}  # by class, shapes, values, type, GPU and whether the input lies with its second dimension last: which call has a tuned kernel, and its settings


def choose(kind, shapes, values, dtype, device, last):
    """The place among a class's calls of one with a kernel that was made for the problem, and its settings; else (-1, None)."""
    key = (kind, shapes, values, dtype, device, last)
    if key not in chosen:
        chosen[key] = (-1, None)
        for i, call in enumerate(functions.CALLS[MODULES[kind].autotune_function]):
            try:
                call.fits(shapes[0], values[i])
                settings = call.of(shapes, values[i])
                if call.kernels.tuned(call.own(settings), call.arranged(shapes, settings), dtype, device, last=last):
                    chosen[key] = (i, settings)
                    break
            except (ValueError, TypeError, IndexError):
                pass
    return chosen[key]


choose._dynamo_marked_constant = True  # as torch.compiler.assume_constant_result does, which imports the compiler


class Swapped:
    """Mixed into PyTorch's class: forward runs a kernel that was made for the problem, or else PyTorch's own."""

    autotune_known = {}  # by shape, type and GPU of an input: which call has a tuned kernel, and its settings

    def forward(self, input, *rest):
        if rest or not input.is_cuda or torch.is_autocast_enabled():
            return super().forward(input, *rest)
        if torch.compiler.is_compiling():
            place, settings = self.autotune_choose(input)
        else:
            key = (input.shape, input.dtype, input.get_device(), lies_last(input))
            known = self.autotune_known.get(key)
            if known is None:
                known = self.autotune_choose(input)
                self.autotune_known = {**self.autotune_known, key: known}
            place, settings = known
        if place < 0:
            return super().forward(input)
        call = functions.CALLS[self.autotune_function][place]
        return call.run(settings, (input, *[getattr(self, name) for name in call.weights]) if call.weights else (input,))

    def autotune_choose(self, input):
        every = [arguments(call, self) for call in functions.CALLS[self.autotune_function]]
        # Under torch.compile a range makes a constant of an extent: another one is another problem.
        shapes = (tuple(len(range(n)) for n in input.shape), *(None if t is None else tuple(t.shape) for t in every[0][0]))
        return choose(type(self).__name__, shapes, tuple(values for _, values in every), input.dtype, input.get_device(), lies_last(input))


CLASSES = {name.lower(): base for name, base in vars(torch.nn).items() if isinstance(base, type)}


def swapped(function):
    """The class of a function's module, if PyTorch has one."""
    base = CLASSES.get(function.replace("_", ""))
    if base is None:
        return None
    return type(base.__name__, (Swapped, base), {"autotune_function": function, "__module__": __name__, "__doc__": base.__doc__})


MODULES = {c.__name__: c for c in map(swapped, functions.CALLS) if c is not None}
globals().update(MODULES)


@dataclasses.dataclass
class Replaced:
    """What replace(model) did: modules by their names, and why others were left."""

    replaced: dict
    left: dict

    def __str__(self):
        lines = [f"{name}: {what}" for name, what in self.replaced.items()]
        return "\n".join([*lines, *(f"{name} is left: {why}" for name, why in self.left.items())])


def replace(model):
    """Gives modules of PyTorch's own classes the pack's kernels, in place: they keep their parameters, buffers and hooks.

    For inputs that no kernel was made for, each takes PyTorch's own way. The answer says what was replaced, what was left, and why.
    """
    done = Replaced({}, {})
    for name, module in model.named_modules():
        kind = MODULES.get(type(module).__name__)
        if kind is None:
            if type(module).__name__ in KNOWN and getattr(torch.nn, type(module).__name__) is type(module):
                done.left[name] = "its operator is not in the pack"
            continue
        if type(module) is not kind.__mro__[2]:
            continue
        reasons = [why_not(call, module) for call in functions.CALLS[kind.autotune_function]]
        if None in reasons:
            module.__class__ = kind
            done.replaced[name] = functions.CALLS[kind.autotune_function][reasons.index(None)].kernels.operator.name
        else:
            done.left[name] = reasons[-1]
    return done
