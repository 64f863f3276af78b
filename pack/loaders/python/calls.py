"""Makes the functions of an operator: it registers the operator with PyTorch, computes gradients, and accepts
PyTorch's own arguments.

A repeated call costs the host little: one look-up finds its launches, and only the pointers change (ready.py). Calls
that need PyTorch's dispatcher go through it: those with gradients, torch.compile, modes or subclasses of tensors.
"""
import functools
import json
import math
import pathlib

import torch
from torch.autograd.function import once_differentiable

from .arguments import IN_PLACE, Function
from .manifest import IDENTITY
from .pack import LAST, OPERATORS, Operator, Plan, empty, gpu, lies_last, resolved
from .ready import ALIGNMENT, graded, key_of, learned, learning, remember

FOLDER = pathlib.Path(__file__).absolute().parent
plans = {}
is_compiling = torch.compiler.is_compiling


def dense(t, last=False):
    """Returns a tensor in the form that kernels accept: aligned, and contiguous or with its second dimension last."""
    if last:
        if not lies_last(t):
            t = t.movedim(1, -1).contiguous().movedim(-1, 1)
    elif not t.is_contiguous():
        t = t.contiguous()
    return t if t.data_ptr() % ALIGNMENT == 0 else t.clone()


def planned(operator, key, tensors):
    """Makes the plan of a call that is new."""
    device, dtype, mode, settings, last, *shapes = key
    for named, kind, t in zip(operator.read, operator.types(operator.read, dtype), tensors):
        if t is not None and (t.get_device() != device or device < 0 or t.dtype != kind):
            operator.need(False, f"{named['name']} is {t.dtype} on {t.device}; it must be {kind}, and all tensors on one GPU")
    plan = plans[operator, *key] = Plan(operator, device, settings, mode, dtype, shapes, last)
    return plan


def compute(operator, *arguments):
    """Computes the output or outputs on the current stream of the first tensor's GPU."""
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
            return planned(operator, key, tensors)  # raises the error for these tensors
        t = dense(t, last)
        taken.append(t)
        pointers.append(t.data_ptr())
    outputs = [empty(first, *output) for output in plan.outputs]
    pointers += [y.data_ptr() for y in outputs]
    if plan.room:
        kept = first.new_empty(plan.room, dtype=torch.uint8)  # allocated until the launches are on the stream
        start = kept.data_ptr()
        pointers += [0 if place is None else start + place for place in plan.places]
    elif plan.places:
        pointers += [0] * len(plan.places)
    plan.run(pointers, torch._C._cuda_getCurrentRawStream(device))
    for i in operator.renewed:
        if taken[i] is not tensors[i]:
            tensors[i].copy_(taken[i])
    if learning.ran is not None:
        learning.ran.append((plan, taken, outputs))
    return answer(outputs)


def answer(outputs):
    """Returns a single output by itself, and several outputs as a tuple."""
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


def registered(operator):
    """Registers the operator with PyTorch's dispatcher, once even if the package is loaded several times."""
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

    library.impl(operator.name, functools.partial(compute, operator), "CUDA")
    torch.library.register_fake(f"{IDENTITY}::{operator.name}", fake, lib=library)
    return library, getattr(getattr(torch.ops, IDENTITY), operator.name).default


def traceable(library, operator, gradients):
    """Registers an operator that computes gradients, so that torch.compile supports it with and without autograd."""
    name = operator.name + "_backward"
    if library:  # otherwise it was registered with the operator before
        library.define(f"{name}(Tensor gradient, Tensor?[] tensors, bool[] wanted, int[] settings) -> Tensor[]")

        def backward(gradient, tensors, wanted, settings):
            found = gradients(operator.decoded(settings), wanted, gradient, *tensors)
            return [torch.empty_like(t).copy_(g) for t, g, want in zip(tensors, found, wanted) if want]  # outputs must not share memory

        def fake(gradient, tensors, wanted, settings):
            return [torch.empty_like(t) for t, want in zip(tensors, wanted) if want]

        library.impl(name, backward, "CompositeExplicitAutograd")
        torch.library.register_fake(f"{IDENTITY}::{name}", fake, lib=library)
    return getattr(getattr(torch.ops, IDENTITY), name).default


def constant(function):
    """Lets torch.compile treat a function's results as constants, without torch.compiler, whose import is slow."""
    function._dynamo_marked_constant = True
    return function


def now(operator, call, *arguments):
    """Calls an operator. While a call is being learned, PyTorch's dispatcher is bypassed."""
    return call(*arguments) if learning.ran is None else compute(operator, *arguments)


class Kernels:
    """Calls an operator's kernels: run() returns the output with gradients, if requested, and now() without
    gradients and without support for torch.compile."""

    def __init__(self, name, gradients):
        operator = self.operator = Operator(OPERATORS[name])
        self.library, call = registered(operator)
        self.call = call

        traced = traceable(self.library, operator, gradients) if gradients else None

        class Differentiable(torch.autograd.Function):
            """Computes the output with the kernel, and gradients with PyTorch's own functions."""

            @staticmethod
            def forward(ctx, settings, mode, *tensors):
                ctx.settings = settings
                kept = tensors
                if operator.renewed:  # the next call changes these tensors before this gradient is computed
                    kept = (t.clone() if i in operator.renewed and t is not None else t for i, t in enumerate(tensors))
                ctx.save_for_backward(*kept)
                return call(*tensors, settings, mode)

            @staticmethod
            @once_differentiable
            def backward(ctx, gradient):
                wanted = ctx.needs_input_grad[2:]
                if is_compiling():
                    found = iter(traced(gradient, ctx.saved_tensors, wanted, ctx.settings))
                    return None, None, *[next(found) if want else None for want in wanted]
                return None, None, *gradients(operator.decoded(ctx.settings), wanted, gradient, *ctx.saved_tensors)

        self.now = functools.partial(now, operator, getattr(call, "_op", call))  # skips a Python call of OpOverload

        def run(settings, *tensors, mode=""):
            if gradients and graded(tensors):
                return Differentiable.apply(settings, mode, *tensors)
            if is_compiling():
                return call(*tensors, settings, mode)
            return self.now(*tensors, settings, mode)

        self.run = run

    def tuned(self, settings, shapes, dtype, device, mode="", last=False):
        """Returns the kernel tuned for a problem with this memory order, or None if only the general one can run."""
        values, kernel = self.operator.decide(settings, shapes, dtype, mode, gpu(device), last)
        lies = last or self.operator.order is None or values[self.operator.order] != LAST
        return kernel if "launches" in kernel and lies else None


def each(found, change):
    """Applies a function to an output, or to each of several outputs."""
    return tuple(map(change, found)) if isinstance(found, tuple) else change(found)


class Call(Function):
    """Runs a PyTorch function on tensors in PyTorch's form."""

    def __init__(self, kernels, function, spec):
        super().__init__(kernels.operator, function, spec)
        self.kernels, self.foldings, self.ready = kernels, {}, {}
        self.order = [self.places.index(i) if i in self.places else None for i in range(len(kernels.operator.read))]
        self.in_place = next((i for i, given in enumerate(self.parameters) if given.name == IN_PLACE), None)
        self.missing = [None] * (len(kernels.operator.read) - len(self.places))  # for optional tensors of the operator
        self.follow = self.places == list(range(len(self.places)))
        self.constant = constant(lambda shapes, values: self.of(shapes, values))

    def ordered(self, tensors):
        """Returns the tensors in the operator's order, with None for tensors that the function does not have."""
        if self.follow:
            return *tensors, *self.missing
        given = dict(zip(self.places, tensors))
        return [given.get(i) for i in range(len(self.operator.read))]

    def run(self, settings, tensors, mode=""):
        """Returns the function's output for tensors in PyTorch's form."""
        first = tensors[0]
        if self.folds.elements and lies_last(first):  # single elements are computed in any memory order
            return each(self.run(settings, (first.movedim(1, -1),), mode), lambda y: y.movedim(-1, 1))
        tensors, compiles = self.ordered(tensors), is_compiling()
        own_rank = first.dim() == self.folds.ranks[0] or self.operator.order is None
        if own_rank and not compiles and not graded(tensors):
            return self.kernels.now(*tensors, settings, mode)
        shapes = [None if t is None else t.shape for t in tensors]
        own, wanted, answer, *_ = (self.folds if compiles else self.remembered)(settings, shapes)
        taken = [t if t is None or t.shape == s else t.reshape(s) for t, s in zip(tensors, wanted)]
        found = self.kernels.run(own, *taken, mode=mode)
        return found if answer is None else each(found, lambda y: y.reshape(resolved(answer, y.shape)))

    def remembered(self, settings, shapes):
        """Returns the cached folding of shapes. Its key contains the id of settings, which the cache keeps alive."""
        key = id(settings), *shapes
        found = self.foldings.get(key)
        if found is None:
            found = self.foldings[key] = (*self.folds(settings, shapes), settings)
        return found

    def __call__(self, tensors, values, mode=""):
        if is_compiling() or not (key := key_of(tensors, values, mode)):
            return self.anew(tensors, values, mode)
        try:
            ready = self.ready.get(key)
        except TypeError:  # a value is a list, which cannot be hashed
            hashable = tuple(tuple(v) if isinstance(v, list) else v for v in values)
            return self.anew(tensors, values, mode) if hashable == values else self(tensors, hashable, mode)
        if ready is None:
            found, ready = learned(lambda: self.anew(tensors, values, mode), tensors, self.order)
            if ready is not None:
                remember(self.ready, key, ready)
            return found
        found = ready(tensors) if ready else None
        return self.anew(tensors, values, mode) if found is None else found

    def anew(self, tensors, values, mode):
        """Computes the function's output without the cache of repeated calls."""
        self.fits(tensors[0].shape, values)
        if self.added is not None and tensors[self.added] is not None and tensors[self.added].dtype == torch.bool:
            tensors = list(tensors)
            tensors[self.added] = torch.where(tensors[self.added], 0.0, -math.inf).to(tensors[0].dtype)
        # In torch.compile, a range turns an extent into a constant.
        first = tuple(len(range(n)) for n in tensors[0].shape) if self.asks else None
        shapes = [first, *(None if t is None else t.shape for t in tensors[1:])]
        settings = self.constant(shapes, values) if is_compiling() else self.of(shapes, values)
        if self.in_place is None or not values[self.in_place]:
            return self.run(settings, tensors, mode)
        first = tensors[0]
        return first.copy_(self.run(settings, (first.clone() if graded(tensors) else first,), mode))


def calls(kernels):
    """Returns all functions that the pack's operators compute, by PyTorch's names. kernels has keys such as _conv2d."""
    listed = json.loads((FOLDER / "functions.json").read_text())
    return {function: [Call(kernels["_" + c["operator"]], function, c) for c in of] for function, of in listed.items()}
