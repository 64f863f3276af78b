"""Modules that replace PyTorch's, with PyTorch's names and arguments, and the function replace(model)."""
import torch

from . import functions
from .calls import constant, is_compiling
from .measure import Candidate, Clock, Group, Replaced, measure, way_of
from .pack import COMPILE, COMPILED, PackError, gpu, lies_last, why_slow
from .ready import key_of, learned, remember

# For these classes torch.compile calls library functions, and fuses nothing with them. It generates kernels for others.
LIBRARY = ("Conv", "Linear", "MaxPool", "AvgPool")

# Arguments of modules that must have these values, since no kernel supports others.
OTHER = {"padding_mode": "zeros", "return_indices": False, "inplace": False}

REFUSED = ValueError, TypeError, IndexError, PackError  # errors that mean a problem is not supported
OWN = -1, None  # stands for PyTorch's own way in place of a call and its settings


def arguments(call, module, **known):
    """Returns a module's tensors other than its input, and the other arguments of PyTorch's function."""
    if getattr(module, "running_mean", 0) is None:
        known["training"] = True  # both use the batch's statistics
    values = [known.get(name, getattr(module, name, None)) for name, *_ in call.parameters]
    return [getattr(module, name, None) for name in call.weights], tuple(values)


def made_for(call, module, training):
    """Returns the kernels for a module's parameters, in training or inference, or the reason why there are none."""
    for name, wanted in OTHER.items():
        if getattr(module, name, wanted) != wanted:
            return f"{name}={getattr(module, name)!r}"
    if getattr(module, "momentum", 0) is None:
        return "momentum=None"  # PyTorch averages over all batches
    tensors, values = arguments(call, module, training=training)
    for place, t in zip(call.places[1:], tensors):
        if t is not None and not call.operator.takes(t.dtype):
            return f"its parameters are {t.dtype}"
    if call.asks:  # the settings depend on an input's shape
        return call.operator.entries + call.operator.families
    try:
        settings = call.of([None, *(None if t is None else t.shape for t in tensors)], values)
    except REFUSED as error:
        return str(error)
    return call.operator.made_for(settings) or "no kernel of the pack was made for its parameters"


@constant
def choose(kind, shapes, values, dtype, device, last, run, measured):
    """Returns which of a class's calls has a kernel that makes the problem faster, with its settings, or OWN if there
    is none.

    last says whether the input has its second dimension last in memory, run how the program runs the model, and
    measured whether the kernel made this model faster.
    """
    for i, call in enumerate(functions.CALLS[MODULES[kind].autotune_function]):
        try:
            if MODULES[kind].autotune_given[i] is None:
                continue  # the call takes tensors that the module does not have
            if last and not call.folds.elements and call.operator.order is None:
                continue  # the input would be copied, and the output have another memory order
            call.fits(shapes[0], values[i])
            settings = call.of(shapes, values[i])
            kernel = call.kernels.tuned(settings, call.folds.arranged(shapes, settings), dtype, device, last=last)
            if kernel and (measured or not why_slow(kernel, gpu(device), run)):
                return i, settings
        except REFUSED:
            pass
    return OWN


def choice(kind, module, input, rest, run, measured=False):
    """Returns the result of choose for a call of a module whose class is, or may become, the given one."""
    if not input.is_cuda or len(rest) != kind.autotune_beside or getattr(module, "inplace", False):
        return OWN
    calls = functions.CALLS[kind.autotune_function]
    every = tuple(arguments(call, module)[1] for call in calls)
    tensors = taken(kind.autotune_weights, module, input, rest)[1:]
    # In torch.compile, a range turns an extent into a constant, so that another extent is another problem.
    shapes = (tuple(len(range(n)) for n in input.shape), *(None if t is None else tuple(t.shape) for t in tensors))
    unbatched = getattr(module, "_get_no_batch_dim", None)
    if unbatched and input.dim() == unbatched():
        return OWN
    return choose(kind.__name__, shapes, every, input.dtype, input.get_device(), lies_last(input), run, measured)


def taken(names, module, input, rest):
    """Returns the tensors of a module's call: the module's own by these names, and for the others the arguments."""
    parameters, buffers, tensors, at = module._parameters, module._buffers, [input], 0  # PyTorch looks up attributes here last
    for name in names:
        if name in parameters:
            tensors.append(parameters[name])
        elif name in buffers:
            tensors.append(buffers[name])
        elif hasattr(module, name):
            tensors.append(getattr(module, name))
        else:
            tensors.append(rest[at])
            at += 1
    return tensors


class Swapped:
    """The members that a class of the pack adds to PyTorch's: forward runs a kernel if that is faster, or else
    PyTorch's own forward, which is autotune_own.

    This is not a base class, and forward does not call super(), since torch.compile would then check each module
    before each run.
    """

    autotune_run = None  # how the program runs a replaced module; None if the program chose it itself
    autotune_measured = None  # shapes of inputs for which the kernel made this model faster

    def forward(self, input, *rest, **named):
        compiles = is_compiling()
        if named or len(rest) != self.autotune_beside or compiles and not self.autotune_compiles:
            return self.autotune_own(input, *rest, **named)
        tensors = taken(self.autotune_weights, self, input, rest)
        if compiles:
            place, settings = choice(MODULES[self.autotune_kind], self, input, rest, COMPILE)
            if place < 0 or torch.is_autocast_enabled():
                return self.autotune_own(input, *rest)
            return self.autotune_call(place, settings, tensors)
        key = key_of(tensors, *map(self.__dict__.get, self.autotune_settings))
        if key is None or torch.is_autocast_enabled():
            return self.autotune_own(input, *rest)
        try:
            known = self.autotune_known.get(key)
        except TypeError:  # a setting is a list, which cannot be hashed
            key = tuple(tuple(part) if isinstance(part, list) else part for part in key)
            known = self.autotune_known.get(key)
        if known is None:
            return self.autotune_anew(key, tensors, rest)
        place, settings, ready = known
        if place < 0:
            return self.autotune_own(input, *rest)
        if ready and (found := ready(tensors)) is not None:
            self.autotune_count()
            return found
        return self.autotune_call(place, settings, tensors)

    def autotune_anew(self, key, tensors, rest):
        """Handles a call that is not in the cache yet."""
        input = tensors[0]
        measured = self.autotune_measured is not None and input.shape in self.autotune_measured
        place, settings = choice(MODULES[self.autotune_kind], self, input, rest, self.autotune_run, measured)
        if place < 0:
            remember(self.autotune_known, key, (*OWN, None))
            return self.autotune_own(input, *rest)
        order = [None if i is None else self.autotune_given[place][i] for i in functions.CALLS[self.autotune_function][place].order]
        found, ready = learned(lambda: self.autotune_call(place, settings, tensors), tensors, order)
        if ready is not None:
            remember(self.autotune_known, key, (place, settings, ready))
        return found

    def autotune_call(self, place, settings, tensors):
        """Computes the output with one of the calls, whose tensors may be in another order."""
        self.autotune_count()
        call = functions.CALLS[self.autotune_function][place]
        return call.run(settings, [tensors[i] for i in self.autotune_given[place]])

    def autotune_count(self):
        """Counts a batch, as PyTorch's batch norms do."""
        if self.training and (batches := self._buffers.get("num_batches_tracked")) is not None:
            batches.add_(1)


CLASSES = {name.lower(): base for name, base in vars(torch.nn).items() if isinstance(base, type)}


def swapped(function):
    """Makes the module classes of a function: of the same name, one for each number of axes, or that of a loss."""
    name = function.replace("_", "")
    ends = ("", "loss", "1d", "2d", "3d") if name.endswith("norm") or name not in CLASSES else ("",)
    calls = functions.CALLS[function]
    names = calls[0].tensors
    given = [[names.index(name) for name in call.tensors] if set(call.tensors) <= set(names) else None for call in calls]
    settings = dict.fromkeys([name for call in calls for name, *_ in call.parameters] + ["training", "inplace", "autotune_run", "autotune_measured"])
    for base in filter(None, (CLASSES.get(name + end) for end in ends)):
        own = base.forward
        beside = own.__code__.co_argcount - len(own.__defaults__ or ()) - 2  # tensors besides self and the input
        compiles = base.__name__.startswith(LIBRARY) and any(COMPILED in e["evidence"].get("baselines", {}) for call in calls for e in call.operator.entries)
        members = {
            "autotune_own": own, "autotune_function": function, "autotune_kind": base.__name__, "autotune_beside": beside, "autotune_compiles": compiles,
            "autotune_weights": tuple(calls[0].weights), "autotune_given": given, "autotune_settings": tuple(settings),
            "autotune_known": {},  # for each kind of call: the chosen call, its settings, and its Ready object
        }
        members.update((name, member) for name, member in vars(Swapped).items() if not name.startswith("__"))
        yield type(base.__name__, (base,), {**members, "__module__": __name__, "__doc__": base.__doc__})


MODULES = {c.__name__: c for function in functions.CALLS for c in swapped(function)}
globals().update(MODULES)


def here(modules):
    """Returns the GPU that holds the model's parameters, or the current GPU if none of them is on a GPU."""
    of = (t.get_device() for _, module in modules for t in module._parameters.values() if t is not None and t.is_cuda)
    try:
        first = next(of, None)
        return gpu(torch.cuda.current_device() if first is None else first)
    except (RuntimeError, AssertionError) as error:
        raise PackError(f"replace needs the GPU that the model runs on: {error}") from None


def replace(model, inputs=None, run=None):
    """Replaces modules of PyTorch's classes in place by the pack's, where that makes the model faster.

    inputs is what a call of the model takes: a tensor, a tuple or list of arguments, or a dict of named ones. With
    inputs the model is timed as run says: "plain", in a CUDA "graph", or by "compile" (torch.compile). Without
    inputs, the measurements of the pack's searches on this model of GPU decide. The modules keep their parameters,
    buffers and hooks. For inputs with which no kernel is faster, a module runs PyTorch's own code. The result is a
    table of what was replaced, and why the rest was not.
    """
    run, modules = way_of(model, run), list(model.named_modules())
    device, candidates, left = here(modules), [], {}
    for name, module in modules:
        kind = MODULES.get(type(module).__name__)
        if kind is None:
            if type(module).__module__.startswith("torch.nn") and next(module.children(), None) is None:
                left.setdefault((type(module).__name__, "no operator of the pack computes it"), []).append(name)
            continue
        if type(module) not in (kind, kind.__base__):
            continue
        put_back(module, kind)
        calls = functions.CALLS[kind.autotune_function]
        found = [(call, made_for(call, module, training)) for training in (False, True) for call in calls]
        fits = [(call, made) for call, made in found if not isinstance(made, str)]
        why = None if fits else found[-1][1]
        if fits and inputs is None:
            reasons = [(why_slow(kernel, device, run), call) for call, made in fits for kernel in made]
            fits = [(call, None) for why, call in reasons if why is None]
            why = reasons[0][0]
        if fits:
            candidates.append(candidate(name, module, kind, fits[0][0], run))
        else:
            left.setdefault((kind.autotune_function, why), []).append(name)
    left = [Group(names, what, why) for (what, why), names in left.items()]
    if inputs is None:
        kept = {}
        for c in candidates:
            kept.setdefault(c.kernel, []).append(c.name)
            c.module.__class__ = c.kind
        done = Replaced(run, [Group(names, kernel) for kernel, names in kept.items()], left)
    else:
        with torch.cuda.device(device.index):
            done = measure(model, inputs, run, candidates, Clock())
        done.left += left
    for c in candidates:
        if c.module.__class__ is not c.kind:
            put_back(c.module, c.kind)
    return done


def put_back(module, kind):
    """Gives a module PyTorch's class again if it had the pack's."""
    if type(module) is kind:
        module.__class__ = kind.__base__
    for name in ("autotune_run", "autotune_measured"):
        module.__dict__.pop(name, None)


def candidate(name, module, kind, call, run):
    """Makes the candidate for a module, which notes the shapes of inputs that a kernel serves."""
    module.autotune_run = run

    def serves(input, rest):
        if choice(kind, module, input, rest, run, run != COMPILE)[0] < 0:
            return False
        module.autotune_measured = frozenset({input.shape, *(module.__dict__.get("autotune_measured") or ())})
        return True

    def gain_ms(input, rest):
        """Returns how many milliseconds the search found the kernel to save compared with torch.compile."""
        if run != COMPILE:
            return 0.0
        place, settings = choice(kind, module, input, rest, run)
        of = functions.CALLS[kind.autotune_function][place]
        shapes = of.folds.arranged([input.shape, *(None if t is None else t.shape for t in taken(kind.autotune_weights, module, input, rest)[1:])], settings)
        kernel = of.kernels.tuned(settings, shapes, input.dtype, input.get_device(), last=lies_last(input))
        return (kernel["evidence"]["baselines"][COMPILED]["speedup_ci95"][0] - 1) * kernel["time_ms"]["median"]

    settings = tuple(map(module.__dict__.get, kind.autotune_settings))
    return Candidate(name, module, kind, call.kernels.operator.name, settings, serves, gain_ms)
