"""An operator's functions: what PyTorch's dispatcher knows, gradients, PyTorch's own arguments.

A call costs the host little: plans are found by a key, and a plan's arguments are packed once. With
the library that `autotune pack --torch-stable-abi` builds no Python runs below the dispatcher.
"""
import ast
import ctypes
import functools
import json
import math
import pathlib
import re
import sysconfig
import threading

import torch
from torch.autograd.function import once_differentiable

from .pack import LAST, OPERATORS, TORCH_TYPES, Operator, Plan, empty, gpu, lies_last, resolved

FOLDER = pathlib.Path(__file__).absolute().parent
IDENTITY = json.loads((FOLDER / "metadata.json").read_text())["id"]
ALIGNMENT = 16  # of all tensors, which kernels load vectors from
plans = {}


def dense(t, last=False):
    """A tensor as kernels take it: contiguous, or with its second dimension last, and aligned."""
    if last:
        if not lies_last(t):
            t = t.movedim(1, -1).contiguous().movedim(-1, 1)
    elif not t.is_contiguous():
        t = t.contiguous()
    return t if t.data_ptr() % ALIGNMENT == 0 else t.clone()


def planned(operator, key, tensors):
    """The plan of a call that is made for the first time."""
    device, dtype, mode, settings, last, *shapes = key
    for named, kind, t in zip(operator.read, operator.types(operator.read, dtype), tensors):
        if t is not None and (t.get_device() != device or device < 0 or t.dtype != kind):
            operator.need(False, f"{named['name']} is {t.dtype} on {t.device}; it must be {kind}, and all tensors on one GPU")
    plan = plans[operator, *key] = Plan(operator, device, settings, mode, dtype, shapes, last)
    return plan


def compute(operator, *arguments):
    """The output, or several, on the current stream of the first tensor's GPU."""
    *tensors, settings, mode = arguments
    first = tensors[0]
    device, dtype = first.get_device(), tensors[operator.teller].dtype
    last = bool(operator.order) and lies_last(first)
    key = (device, dtype, mode, tuple(settings), last, *[None if t is None else t.shape for t in tensors])
    plan = plans.get((operator, *key))
    if plan is None:
        plan = planned(operator, key, tensors)
    if device != torch.cuda.current_device():
        with torch.cuda.device(device):
            return compute(operator, *arguments)
    taken, pointers = [], []
    for t, kind, last in zip(tensors, plan.types, plan.lasts):
        if t is None:
            taken.append(t)
            pointers.append(0)
            continue
        if t.dtype is not kind or t.get_device() != device:
            return planned(operator, key, tensors)  # which refuses them
        t = dense(t, last)
        taken.append(t)
        pointers.append(t.data_ptr())
    outputs = [empty(first, *output) for output in plan.outputs]
    pointers += [y.data_ptr() for y in outputs]
    if plan.room:
        kept = first.new_empty(plan.room, dtype=torch.uint8)  # until the launches are on the stream
        start = kept.data_ptr()
        pointers += [0 if place is None else start + place for place in plan.places]
    elif plan.places:
        pointers += [0] * len(plan.places)
    plan.run(pointers, torch._C._cuda_getCurrentRawStream(device))
    for i in operator.renewed:
        if taken[i] is not tensors[i]:
            tensors[i].copy_(taken[i])
    return answer(outputs)


def answer(outputs):
    """What an operator returns: its output, or several, or nothing if it works in place."""
    return outputs[0] if len(outputs) == 1 else tuple(outputs) or None


class Native:
    """The library over PyTorch's stable ABI: it keeps plans and launches them."""

    def __init__(self, path):
        self.library = ctypes.CDLL(str(path))
        self.library.autotune_operator.argtypes = [ctypes.c_char_p, ctypes.c_char_p, *[ctypes.c_int64] * 4, ctypes.c_void_p]
        self.library.autotune_plan.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64]
        self.library.autotune_fail.argtypes = [ctypes.c_char_p]
        self.failures, self.kept = threading.local(), []
        self.numbers = {dtype: self.library.autotune_type(word.encode()) for word, dtype in TORCH_TYPES.items()}
        self.types = {number: dtype for dtype, number in self.numbers.items()}

    def register(self, operator, namespace):
        """Gives the operator its kernel for GPUs, which asks for plans that it does not have."""
        form = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int64), ctypes.c_int64)
        asked = form(functools.partial(self.prepare, operator))
        self.kept.append(asked)
        renewed = sum(1 << i for i in operator.renewed)
        how = len(operator.read), operator.teller, renewed, bool(operator.order)
        return self.library.autotune_operator(namespace.encode(), operator.name.encode(), *how, asked) == 0

    def prepare(self, operator, key, count):
        """Makes the plan of a call: (operator, device, type, bytes of the mode, whether the first lies last, shapes, settings)."""
        try:
            words = key[:count]
            shapes, at = [], 6
            for _ in operator.read:
                rank = words[at]
                shapes.append(None if rank < 0 else torch.Size(words[at + 1:at + 1 + rank]))
                at += 1 + max(rank, 0)
            mode = b"".join(word.to_bytes(8, "little", signed=True) for word in words[3:5]).rstrip(b"\0").decode()
            dtype = self.types.get(words[2])
            operator.need(dtype is not None, f"its tensors must be of one of {', '.join(map(str, self.types.values()))}")
            plan = Plan(operator, words[1], tuple(words[at:]), mode, dtype, shapes, bool(words[5]))
            numbers = plan.numbers(self.numbers.get)
            words = (ctypes.c_int64 * (length := len(numbers)))(*numbers)
            self.kept.append(plan)  # the library has its kernels by their addresses
            self.library.autotune_plan(key, count, words, length)
            return 0
        except Exception as error:  # it must not pass through the library
            self.failures.last = error
            self.library.autotune_fail(f"{type(error).__name__}: {error}".encode())
            return 1

    def cause(self, error):
        """What went wrong in Python, where that is why an operator failed."""
        cause, self.failures.last = getattr(self.failures, "last", None), None
        return cause or error


@functools.cache
def native():
    """The library, where it was built for this machine and this PyTorch has what it needs."""
    path = FOLDER / ("native" + (sysconfig.get_config_var("SHLIB_SUFFIX") or ".so"))
    try:
        return Native(path) if path.is_file() else None
    except OSError:
        return None


def registered(operator):
    """The operator as PyTorch's dispatcher knows it. It is there once, however often the package is loaded."""
    known = getattr(getattr(torch.ops, IDENTITY), operator.name, None)
    if known is not None:
        return None, known.default
    library = torch.library.Library(IDENTITY, "FRAGMENT")
    kinds = [f"Tensor{f'(a{i}!)' if i in operator.renewed else ''}{'?' if i else ''}" for i in range(len(operator.read))]
    tensors = ", ".join(f"{kind} {t['name']}_" for kind, t in zip(kinds, operator.read))
    results = ", ".join("Tensor" for _ in operator.outputs)
    library.define(f"{operator.name}({tensors}, int[] settings, str math) -> {results if len(operator.outputs) == 1 else f'({results})'}")

    def fake(*arguments):
        *tensors, settings, mode = arguments
        first, dtype = tensors[0], tensors[operator.teller].dtype
        settings, shapes, shape = operator.taken(settings, [None if t is None else t.shape for t in tensors])
        last = bool(operator.order) and lies_last(first)
        if torch.cuda.is_available():
            values, _ = operator.decide(settings, shapes, dtype, mode, gpu(torch.cuda.current_device()), last)
        else:
            values = operator.bind(settings, shapes, dtype, mode, 90, operator.lying(last))
        outputs = [empty(first, *output) for output in operator.results(values, dtype, shape)]
        return answer(outputs)

    if not (native() and native().register(operator, IDENTITY)):
        library.impl(operator.name, functools.partial(compute, operator), "CUDA")
    torch.library.register_fake(f"{IDENTITY}::{operator.name}", fake, lib=library)
    return library, getattr(getattr(torch.ops, IDENTITY), operator.name).default


def traceable(library, operator, gradients):
    """The gradients that are wanted, as an operator of PyTorch's own: torch.compile takes it as it is, autograd inside or not."""
    name = operator.name + "_backward"
    if library:  # else it was registered with the operator
        library.define(f"{name}(Tensor gradient, Tensor?[] tensors, bool[] wanted, int[] settings) -> Tensor[]")

        def backward(gradient, tensors, wanted, settings):
            found = gradients(operator.decoded(settings), wanted, gradient, *tensors)
            return [torch.empty_like(t).copy_(g) for t, g, want in zip(tensors, found, wanted) if want]  # an output is nothing else's memory

        def fake(gradient, tensors, wanted, settings):
            return [torch.empty_like(t) for t, want in zip(tensors, wanted) if want]

        library.impl(name, backward, "CompositeExplicitAutograd")
        torch.library.register_fake(f"{IDENTITY}::{name}", fake, lib=library)
    return getattr(getattr(torch.ops, IDENTITY), name).default


def constant(function):
    """The function, whose results torch.compile keeps: as torch.compiler.assume_constant_result, which imports the compiler."""
    function._dynamo_marked_constant = True
    return function


def graded(tensors):
    """Whether a gradient is asked for."""
    return torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in tensors)


def eager(call, *arguments):
    """Calls an operator. Why it fails is told by Python, where that is why the library does."""
    try:
        return call(*arguments)
    except RuntimeError as error:
        raise (native().cause(error) if native() else error)


class Kernels:
    """An operator's calls: run(settings, *tensors) gives the output, with a gradient where one is asked for.

    now(*tensors, settings, mode) asks for none, and for no compiler. Where the operator may work in place,
    renew(*tensors, settings, mode) writes the output over the first tensor, likewise.
    """

    def __init__(self, name, gradients, in_place=False):
        operator = self.operator = Operator(OPERATORS[name])
        self.library, call = registered(operator)
        self.call = call

        traced = traceable(self.library, operator, gradients) if gradients else None

        class Differentiable(torch.autograd.Function):
            """The kernel forwards, and backwards the gradient of PyTorch's own function."""

            @staticmethod
            def forward(ctx, settings, mode, *tensors):
                ctx.settings = settings
                kept = tensors
                if operator.renewed:  # the next call changes them, and this one's gradient may come later
                    kept = (t.clone() if i in operator.renewed and t is not None else t for i, t in enumerate(tensors))
                ctx.save_for_backward(*kept)
                return call(*tensors, settings, mode)

            @staticmethod
            @once_differentiable
            def backward(ctx, gradient):
                wanted = ctx.needs_input_grad[2:]
                if torch.compiler.is_compiling():
                    found = iter(traced(gradient, ctx.saved_tensors, wanted, ctx.settings))
                    return None, None, *[next(found) if want else None for want in wanted]
                return None, None, *gradients(operator.decoded(ctx.settings), wanted, gradient, *ctx.saved_tensors)

        self.now = functools.partial(eager, getattr(call, "_op", call))  # without OpOverload's own frame

        def run(settings, *tensors, mode=""):
            if gradients and graded(tensors):
                return Differentiable.apply(settings, mode, *tensors)
            if torch.compiler.is_compiling():
                return call(*tensors, settings, mode)
            return self.now(*tensors, settings, mode)

        self.run = run
        if in_place:
            over = Operator(OPERATORS[name], in_place=True)
            over.calls = operator.calls
            self.library_in_place, call_in_place = registered(over)
            self.in_place = getattr(call_in_place, "_op", call_in_place)

    def renew(self, *arguments):
        eager(self.in_place, *arguments)
        torch.autograd.graph.increment_version(arguments[0])

    def tuned(self, settings, shapes, dtype, device, mode="", last=False):
        """The kernel that was made for a problem as its tensors lie; None where the general one alone computes it."""
        values, kernel = self.operator.decide(settings, shapes, dtype, mode, gpu(device), last)
        lies = last or self.operator.order is None or values[self.operator.order] != LAST
        return kernel if "launches" in kernel and lies else None


IN_PLACE = "inplace"  # PyTorch's argument: the output takes the place of the first tensor
ARGUMENT = re.compile(r"(\w+)(?: as (rows of |added )?(\w+))?(?: (along|over) (\w+)| (flat)(?: behind (\w+))?)?(?: ?= ?(\S+))?")
MEANING = re.compile(r"(\w+) is (.+)")
CHOICE = re.compile(r"(?:'(\S+)' if )?(\w+) == '(\w+)'(?: else '(\S+)')?")


class Name(str):
    """A default that is another argument, or an expression."""


def word(text):
    """A constant, or a name."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return Name(text)


class Call:
    """A function of PyTorch's that an operator computes, with PyTorch's arguments."""

    def __init__(self, kernels, function, arguments):
        self.kernels, self.function, operator = kernels, function, kernels.operator
        self.meant, self.given = {}, []  # (PyTorch's name, the operator's, default)
        self.chosen = {}  # by the word of an argument: (the argument, its word, what that means, what others mean)
        self.rows, self.over = False, False
        self.dim = None  # the argument that says which dimensions are one: their numbers, or with over the sizes of the last ones
        added = None  # the tensor that is added, if truths say where nothing is
        folds = {}  # by the operator's tensors: "along", or how many dimensions there are before those that are flat
        for text in arguments:
            meaning = MEANING.fullmatch(text)
            choice = meaning and CHOICE.fullmatch(meaning[2])
            if choice:
                yes, argument, wanted, no = choice.groups()
                self.chosen[meaning[1]] = argument, wanted, yes or True, no or False
                continue
            if meaning:
                self.meant[meaning[1]] = word(meaning[2])
                continue
            name, what, own, how, dim, flat, behind, default = ARGUMENT.fullmatch(text).groups()
            self.rows, self.over, self.dim = self.rows or what == "rows of ", self.over or how == "over", self.dim or dim
            self.given.append((name, own or name, word(default) if default else ...))
            if what == "added ":
                added = own or name
            if flat:
                shape = next(t["shape"] for t in operator.read if t["name"] == (own or name))
                folds[own or name] = shape.index(behind) + 1 if behind else 0
            elif how == "along":
                folds[own or name] = how
        names = [t["name"] for t in operator.read]
        by_own = {own: name for name, own, _ in self.given}
        self.places = [i for i, name in enumerate(names) if name in by_own]  # of the tensors given, in the operator's order
        self.tensors = [by_own[names[i]] for i in self.places]  # by PyTorch's names
        self.parameters = [given for given in self.given if given[0] not in self.tensors]
        self.weights = self.tensors[1:]
        self.added = self.tensors.index(by_own[added]) if added else None
        self.in_place = next((i for i, given in enumerate(self.parameters) if given[0] == IN_PLACE), None)
        self.ranks, self.folds = [len(t["shape"]) for t in operator.read], [folds.get(name) for name in names]
        # Parameters that are dimensions, which the first tensor tells.
        self.asks = [(name, dim) for name, dim in self.meant.items() if isinstance(dim, Name) and dim in operator.spec["shape"]]
        # Where one of these is set the answer is a number.
        self.reducing = [operator.components.index(name) for name, choice in self.chosen.items() if choice[2] is True]
        # All tensors that are flat have their elements along the dimension that they share.
        flat = [t["shape"] for t, fold in zip(operator.read, self.folds) if fold == 0]
        self.shared = next((i for i, text in enumerate(flat[0]) if text in flat[1]), 0) if len(flat) > 1 else None
        self.elements = self.folds[0] == 0 and self.shared is None  # each is computed by itself
        self.broadcast = [i for i in self.places[1:] if operator.read[i]["role"] == "input"]
        self.missing = [None] * (len(names) - len(self.places))  # behind those that are given, or in between
        self.follow = self.places == list(range(len(self.places)))
        self.known, self.foldings, self.number = {}, {}, len(operator.calls)
        operator.calls.append(self)
        self.constant = constant(lambda shapes, values: self.of(shapes, values))

    def settings(self, shapes, values):
        """The operator's parameters of PyTorch's values, of which None means the default."""
        operator, given = self.kernels.operator, dict(self.meant)
        passed = {own: value for (_, own, _), value in zip(self.parameters, values)}
        for name, dim in self.asks:
            given[name] = shapes[0][operator.read[0]["shape"].index(dim)]
        for (name, own, default), value in zip(self.parameters, values):
            if value is None:
                value = passed.get(default) if isinstance(default, Name) else default
            if name == IN_PLACE or self.dim and name in (self.dim, "keepdim"):
                continue
            choices = {meant: choice for meant, choice in self.chosen.items() if choice[0] == name}
            if choices:
                operator.need(value in ("none", *(choice[1] for choice in choices.values())), f"{name}={value!r} is not what the kernels compute")
                given.update({meant: yes if value == wanted else no for meant, (_, wanted, yes, no) in choices.items()})
            elif own in operator.parameters:
                given[own] = value
            elif not isinstance(default, Name):  # what shapes tell is no question
                shown = "a tensor" if isinstance(value, torch.Tensor) else value
                operator.need(shown == default, f"{name}={shown} is not what the kernels compute")
        if isinstance(given.get("padding"), str):
            given["padding"] = self.padding(given, shapes[1:])
        given = {name: value for name, value in given.items() if value is not None}
        return operator.complete(operator.settings(**given), [shapes[0] if self.asks else None, *shapes[1:]])

    def padding(self, given, shapes):
        """The numbers of zeros that "same" and "valid" mean."""
        operator, text = self.kernels.operator, given["padding"]
        count = len(operator.parameters["padding"])
        if text == "valid":
            return (0,) * count
        dilation = given["dilation"] if isinstance(given["dilation"], (tuple, list)) else (given["dilation"],) * count
        taken = [d * (k - 1) for d, k in zip(dilation, shapes[0][-count:])]
        operator.need(text == "same" and not any(t % 2 for t in taken), f"padding={text!r} pads more on one side here")
        return tuple(t // 2 for t in taken)

    def of(self, shapes, values):
        """The settings, remembered by the shapes of weights and by the values."""
        first = tuple(shapes[0]) if self.asks else None
        key = (first, *shapes[1:], *values)
        try:
            known = self.known.get(key)
        except TypeError:  # a list among them
            return self.of(shapes, [tuple(v) if isinstance(v, list) else v for v in values])
        if known is None:
            settings = self.settings(self.arranged([first or (0,) * self.ranks[0], *shapes[1:]]), values)
            known = self.known[key] = [*settings, *self.along(values), self.number]
        return known

    def along(self, values):
        """Of dimensions that are taken as one the first and the last, and whether they are kept; it stands behind settings."""
        if not self.dim:
            return []
        given = {name: default if value is None else value for (name, _, default), value in zip(self.parameters, values)}
        dim = given[self.dim]
        self.kernels.operator.need(dim is not ..., f"{self.dim} must be given")
        if self.over:
            return [-len(dim) if isinstance(dim, (tuple, list)) else -1, -1, 1]
        dims = sorted({0, -1} if dim is None else set(dim) if isinstance(dim, (tuple, list)) else {dim})
        follow = dim is None or dims and dims[-1] - dims[0] == len(dims) - 1
        self.kernels.operator.need(follow, f"{self.dim}={dim} are no dimensions that follow each other")
        return [0, -1, int(bool(given.get("keepdim")))] if dim is None else [dims[0], dims[-1], int(bool(given.get("keepdim")))]

    def dims(self, settings):
        """What along() gave: it stands behind the operator's settings, before the function's number."""
        return settings[len(self.kernels.operator.components):-1]

    def folded(self, shape, along):
        """The first of the dimensions that are one, the one behind the last, and the shape with those before and behind as one each."""
        rank = max(len(shape), 1)
        self.kernels.operator.need(all(-rank <= d < rank for d in along[:2]), f"{self.dim} is not within the {len(shape)} dimensions of {tuple(shape)}")
        first, end = along[0] % rank, along[1] % rank + 1
        return first, end, (math.prod(shape[:first]), math.prod(shape[first:end]), math.prod(shape[end:]))

    def fits(self, shape, values):
        """Refuses a first tensor whose last dimensions are not those that a call names."""
        for (name, _, _), value in zip(self.parameters, values):
            if self.over and name == self.dim:
                wanted = tuple(value) if isinstance(value, (tuple, list)) else (value,)
                found = tuple(shape[-len(wanted):])
                self.kernels.operator.need(found == wanted, f"{name} is {wanted}; the last dimensions of {tuple(shape)} are {found}")

    def level(self, count, settings):
        """A shape of so many elements: that of an entry which has as many, since only their number counts."""
        operator = self.kernels.operator
        known = operator.decoded(settings)
        alike = (e["values"] for e in operator.entries if all(e["values"][name] == value for name, value in known.items()))
        shapes = (tuple(values[name] for name in operator.spec["shape"]) for values in alike)
        return next((shape for shape in shapes if math.prod(shape) == count), (count,) + (1,) * (self.ranks[0] - 1))

    def arranged(self, shapes, settings=None):
        """The shapes, by the operator's order of tensors, with as many dimensions as those have. Without settings the first is not known."""
        operator, given = self.kernels.operator, dict(zip(self.places, shapes))
        flat = [given[i] for i, fold in enumerate(self.folds) if fold == 0 and given.get(i) is not None]
        if self.shared is not None and settings is not None:
            same = all(s == flat[0] for s in flat)
            operator.need(same, f"{self.function} takes tensors of one shape; these have {' and '.join(str(tuple(s)) for s in flat)}")
        return [None if given.get(i) is None else self.shaped(i, given[i], settings) for i in range(len(self.ranks))]

    def shaped(self, place, shape, settings):
        """A tensor's shape as the operator has it."""
        fold, rank = self.folds[place], self.ranks[place]
        if self.rows and place == 0:
            shape = (1, math.prod(shape[:-1]), shape[-1])
        elif self.over and place > 0:
            shape = (math.prod(shape),)
        elif self.dim and (fold == "along" or place == 0):
            if settings is None:
                return shape if place == 0 else None
            shape = self.folded(shape, self.dims(settings))[2]
        elif fold == 0 and place == 0 and settings is None:
            return shape
        elif fold == 0 and self.shared is None:
            shape = self.level(math.prod(shape), settings)
        elif fold == 0:
            shape = (*(1,) * self.shared, math.prod(shape), *(1,) * (rank - self.shared - 1))
        elif fold:
            shape = (*(1,) * (fold - len(shape)), *shape)
            shape = (*shape[:fold], math.prod(shape[fold:]))
        missing = rank - len(shape)
        return (*(1,) * missing, *shape) if missing == 1 or place in self.broadcast else shape  # as a mask of all heads

    def ordered(self, tensors):
        """The tensors in the operator's order, None where the function has none."""
        if self.follow:
            return *tensors, *self.missing
        given = dict(zip(self.places, tensors))
        return [given.get(i) for i in range(len(self.ranks))]

    def renew(self, settings, tensors, mode=""):
        """The function's output in the place of its first tensor, which it gives back."""
        first = tensors[0]
        last, asked = lies_last(first), graded(tensors)
        if asked or torch.compiler.is_compiling() or not (last or first.is_contiguous()):  # a compiler needs no copy for it
            return first.copy_(self.run(settings, (first.clone() if asked else first,), mode))
        self.kernels.renew(first.movedim(1, -1) if last else first, *self.missing, settings, mode)
        return first

    def run(self, settings, tensors, mode=""):
        """The function's output, of tensors as PyTorch takes them."""
        first = tensors[0]
        if self.elements and lies_last(first):  # elements are taken as they lie
            return self.run(settings, (first.movedim(1, -1),), mode).movedim(-1, 1)
        own_rank = first.dim() == self.ranks[0] or self.kernels.operator.order is None
        if own_rank and not torch.compiler.is_compiling() and not graded(tensors):
            return self.kernels.now(*self.ordered(tensors), settings, mode)
        shapes = [None if t is None else t.shape for t in self.ordered(tensors)]
        own, wanted, answer, *_ = (self.folding if torch.compiler.is_compiling() else self.remembered)(settings, shapes)
        taken = [t if t is None or t.shape == s else t.reshape(s) for t, s in zip(self.ordered(tensors), wanted)]
        y = self.kernels.run(own, *taken, mode=mode)
        return y if answer is None else y.reshape(resolved(answer, y.shape))

    def remembered(self, settings, shapes):
        """What folding() gives. It keeps the settings, by whose place in memory they are looked up."""
        key = id(settings), *shapes
        found = self.foldings.get(key)
        if found is None:
            found = self.foldings[key] = (*self.folding(settings, shapes), settings)
        return found

    def folding(self, settings, shapes):
        """Of shapes in the operator's order: its settings, the shapes that its tensors have, and that of the answer, as resolved() takes it."""
        given = [shapes[i] for i in self.places]
        return settings[:len(self.kernels.operator.components)], self.arranged(given, settings), self.answered(settings, given)

    def answered(self, settings, shapes):
        """The shape of the function's output where it is not the operator's, as resolved() takes it."""
        first, outputs = shapes[0], self.kernels.operator.outputs
        if len(outputs) > 1:
            self.kernels.operator.need(len(first) == self.ranks[0], f"{self.tensors[0]} must have {self.ranks[0]} dimensions")
            return None
        rank = len(outputs[0]["shape"])
        if any(settings[i] for i in self.reducing):
            return ()
        if self.dim:
            start, end, _ = self.folded(first, self.dims(settings))
            between = first[start:end] if rank == self.ranks[0] else (1,) * (end - start if self.dims(settings)[-1] else 0)
            return (*first[:start], *between, *first[end:])
        if any(fold is not None for fold in self.folds):  # that of the tensor that has the output's dimensions
            return next(s for i, s in zip(self.places, shapes) if self.ranks[i] == rank)
        if self.rows:
            return *first[:-1], -1
        return None if len(first) == self.ranks[0] else (-1,) * (rank - 1)

    def __call__(self, tensors, values, mode=""):
        if self.over:
            self.fits(tensors[0].shape, values)
        if self.added is not None and tensors[self.added] is not None and tensors[self.added].dtype == torch.bool:
            tensors = list(tensors)
            tensors[self.added] = torch.where(tensors[self.added], 0.0, -math.inf).to(tensors[0].dtype)
        # Under torch.compile a range makes a constant of an extent.
        first = tuple(len(range(n)) for n in tensors[0].shape) if self.asks else None
        shapes = [first, *(None if t is None else t.shape for t in tensors[1:])]
        settings = self.constant(shapes, values) if torch.compiler.is_compiling() else self.of(shapes, values)
        renews = self.in_place is not None and values[self.in_place]
        return (self.renew if renews else self.run)(settings, tensors, mode)
