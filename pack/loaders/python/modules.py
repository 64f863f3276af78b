"""Modules that take the place of PyTorch's, with PyTorch's names and arguments; and replace(model)."""
import dataclasses

import torch

from . import functions
from .calls import constant, is_compiling
from .pack import faster, lies_last

# The names of PyTorch's classes that autotune has an operator for.
KNOWN = {form + axes for form in ("Conv", "ConvTranspose", "MaxPool", "AvgPool") for axes in ("1d", "2d", "3d")} | {
    "Linear", "Softmax", "LogSoftmax", "LayerNorm", "RMSNorm", "GroupNorm", "ReLU", "ReLU6", "GELU", "SiLU", "ELU", "SELU", "Sigmoid", "Tanh", "LeakyReLU",
    "Hardswish", "Hardsigmoid", "Softplus", "Softsign", "LogSigmoid", "Mish", "MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss", "KLDivLoss",
    "CrossEntropyLoss", "TripletMarginLoss",
} | {form + axes for form in ("BatchNorm", "InstanceNorm") for axes in ("1d", "2d", "3d")}

# Classes for which torch.compile calls a library, and fuses nothing with the call. For others it generates kernels.
LIBRARY = ("Conv", "Linear", "MaxPool", "AvgPool")

COMPILED = "torch_compile"  # the baseline of a search that is PyTorch's compiler

# Arguments of modules that no kernel supports.
OTHER = {"padding_mode": "zeros", "return_indices": False}


OWN = -1, None  # PyTorch's own way, in the place of a call and its settings


def arguments(call, module, **known):
    """A module's tensors beside its input, as far as they are its own, and the other arguments of PyTorch's function."""
    if getattr(module, "running_mean", 0) is None:
        known["training"] = True  # by the batch's statistics, in training or not
    values = [known.get(name, getattr(module, name, None)) for name, _, _ in call.parameters]
    return [getattr(module, name, None) for name in call.weights], tuple(values)


def why_not(call, module, training):
    """Why an operator of the pack cannot take a module's place, in training or out of it; None if it can."""
    for name, wanted in OTHER.items():
        if getattr(module, name, wanted) != wanted:
            return f"{name}={getattr(module, name)!r}"
    if getattr(module, "momentum", 0) is None:
        return "momentum=None"  # a mean of all batches
    tensors, values = arguments(call, module, training=training)
    for place, t in zip(call.places[1:], tensors):
        if t is not None and not call.operator.takes(t.dtype):
            return f"its parameters are {t.dtype}"
    if call.asks:  # an input's shape tells
        return None
    try:
        settings = call.of([None, *(None if t is None else t.shape for t in tensors)], values)
    except (ValueError, TypeError, IndexError) as error:
        return str(error)
    made = call.operator.made_for(settings)
    if not made:
        return "no kernel of the pack was made for its parameters"
    return None if any(map(faster, made)) else "no kernel for its parameters was faster than PyTorch"


chosen = {}  # by the arguments of choose: what it answers


@constant
def choose(kind, shapes, values, dtype, device, last, compiles):
    """The place among a class's calls of one with a kernel that was made for the problem, and its settings; else OWN.

    last is whether the input lies with its second dimension last, and compiles whether PyTorch's own way would be compiled.
    """
    key = (kind, shapes, values, dtype, device, last, compiles)
    if key not in chosen:
        chosen[key] = OWN
        for i, call in enumerate(functions.CALLS[MODULES[kind].autotune_function]):
            try:
                if last and not call.folds.elements and call.operator.order is None:
                    continue  # it would be copied, and its answer lie otherwise
                call.fits(shapes[0], values[i])
                settings = call.of(shapes, values[i])
                kernel = call.kernels.tuned(settings, call.folds.arranged(shapes, settings), dtype, device, last=last)
                if kernel and faster(kernel) and (not compiles or faster(kernel, COMPILED, False)):
                    chosen[key] = (i, settings)
                    break
            except (ValueError, TypeError, IndexError):
                pass
    return chosen[key]


class Swapped:
    """What a class has beside PyTorch's: forward runs a kernel that was made for the problem, or else PyTorch's own, autotune_own.

    It is no base, and forward does not ask super(): torch.compile would have to look at each module before each run, and so at those around.
    """

    inplace = False  # of modules that have no such word
    autotune_known = {}  # by an input's shape, type, GPU and order, and whether in training: which call has a tuned kernel, and its settings

    def forward(self, input, *rest):
        compiles = is_compiling()
        if compiles and not self.autotune_compiles:
            return self.autotune_own(input, *rest)
        if compiles or rest:
            place, settings = self.autotune_choose(input, rest)
        else:
            key = (input.shape, input.dtype, input.get_device(), not input.is_contiguous() and lies_last(input), self.training)
            known = self.autotune_known.get(key)
            if known is None:
                known = self.autotune_choose(input, rest)
                self.autotune_known = {**self.autotune_known, key: known}
            place, settings = known
        if place < 0 or torch.is_autocast_enabled():
            return self.autotune_own(input, *rest)
        if self.inplace and input.requires_grad and torch.is_grad_enabled():  # PyTorch's gradient needs no copy of the input
            return self.autotune_own(input, *rest)
        if self.training and getattr(self, "num_batches_tracked", None) is not None:
            self.num_batches_tracked.add_(1)
        call = functions.CALLS[self.autotune_function][place]
        if self.inplace:
            if compiles or not input.is_contiguous():
                return call.renew(settings, (input,))
            call.kernels.renew(input, *call.missing, settings, "")
            return input
        return call.run(settings, self.autotune_tensors(call, input, rest))

    def autotune_tensors(self, call, input, rest):
        """What a call takes: the module's own tensors where it has them, and those that it is given."""
        parameters, buffers, rest = self._parameters, self._buffers, list(rest)  # where PyTorch looks at last
        tensors = [input]
        for name in call.weights:
            if name in parameters:
                tensors.append(parameters[name])
            elif name in buffers:
                tensors.append(buffers[name])
            else:
                tensors.append(getattr(self, name) if hasattr(self, name) else rest.pop(0))
        return tensors

    def autotune_choose(self, input, rest):
        """What choose answers for a call of the module."""
        if not input.is_cuda or len(rest) != self.autotune_beside:
            return OWN
        calls = functions.CALLS[self.autotune_function]
        every = tuple(arguments(call, self)[1] for call in calls)
        tensors = self.autotune_tensors(calls[0], input, rest)[1:]
        # Under torch.compile a range makes a constant of an extent: another one is another problem.
        shapes = (tuple(len(range(n)) for n in input.shape), *(None if t is None else tuple(t.shape) for t in tensors))
        unbatched = getattr(self, "_get_no_batch_dim", None)
        if unbatched and input.dim() == unbatched():
            return OWN
        return choose(type(self).__name__, shapes, every, input.dtype, input.get_device(), lies_last(input), is_compiling())


CLASSES = {name.lower(): base for name, base in vars(torch.nn).items() if isinstance(base, type)}


def swapped(function):
    """The classes of a function's modules: of its own name, or one for each number of axes, or that of a loss."""
    name = function.replace("_", "")
    ends = ("", "loss", "1d", "2d", "3d") if name.endswith("norm") or name not in CLASSES else ("",)
    for base in filter(None, (CLASSES.get(name + end) for end in ends)):
        taken = base.forward
        beside = taken.__code__.co_argcount - len(taken.__defaults__ or ()) - 2  # tensors, with the module and the first one
        compiles = base.__name__.startswith(LIBRARY) and any(faster(e, COMPILED, False) for call in functions.CALLS[function] for e in call.operator.entries)
        given = {"autotune_own": base.forward, "autotune_function": function, "autotune_beside": beside, "autotune_compiles": compiles}
        given.update((name, member) for name, member in vars(Swapped).items() if not name.startswith("__"))
        yield type(base.__name__, (base,), {**given, "__module__": __name__, "__doc__": base.__doc__})


MODULES = {c.__name__: c for function in functions.CALLS for c in swapped(function)}
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
        if type(module) is not kind.__base__:
            continue
        calls = functions.CALLS[kind.autotune_function]
        reasons = [why_not(call, module, training) for training in (False, True) for call in calls]
        if None in reasons:
            module.__class__ = kind
            done.replaced[name] = calls[reasons.index(None) % len(calls)].kernels.operator.name
        else:
            done.left[name] = reasons[-1]
    return done
