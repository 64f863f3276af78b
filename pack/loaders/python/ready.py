"""Repeats earlier calls without PyTorch's dispatcher, and decides when a call is like an earlier one."""
import threading

import torch

ALIGNMENT = 16  # bytes; kernels load vectors from all tensors


def graded(tensors):
    """Whether a gradient is requested."""
    return torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in tensors)


class Learning(threading.local):
    """Records the launches of a thread's call while the call is being learned."""

    ran = None


learning = Learning()
MOST_READY = 4096  # calls that are cached for a function or a class of modules


def of_devices(count):
    """Whether all modes only set the device of new tensors, as torch.set_default_device does."""
    return all(type(torch._C._get_function_stack_at(i)).__name__ == "DeviceContext" for i in range(count))


def foreign():
    """Whether PyTorch must see each call: inside a mode, a transform of torch.func or a trace."""
    c = torch._C
    modes = c._len_torch_function_stack()
    return modes and not of_devices(modes) or c._len_torch_dispatch_stack() or c._functorch.peek_interpreter_stack() or c._get_tracing_state()


forward_differentiation = torch.autograd.forward_ad
current_device = getattr(torch._C, "_cuda_getDevice", torch.cuda.current_device)
try:
    allocate = torch._C._dynamo.guards._empty_strided_cuda  # as in code that torch.compile generates, without the dispatcher
except AttributeError:

    def allocate(shape, strides, dtype):
        return torch.empty_strided(shape, strides, dtype=dtype, device="cuda")


OWN_TYPES = {torch.Tensor, torch.nn.Parameter}


def key_of(tensors, *more):
    """Returns everything that a call's launches depend on except addresses, or None if PyTorch must see the call."""
    if foreign():
        return None
    grad, key = torch.is_grad_enabled(), [*more]
    if grad and forward_differentiation._current_level >= 0:
        return None
    try:
        for t in tensors:
            if t is None:
                key.append(None)
            elif type(t) in OWN_TYPES:
                key += t.dtype, t.shape, t.stride(), t.get_device(), grad and t.requires_grad
            else:
                return None
    except RuntimeError:  # a sparse tensor has no strides
        return None
    return tuple(key)


class Ready:
    """A repeatable call: which kernels run on which of its tensors, and what is allocated for them."""

    def __init__(self, plan, taken, outputs):
        self.start, self.frame, self.frames, self.device = plan.launch, plan.frame, plan.frames, plan.gpu.index
        self.taken = taken  # pairs of indexes: of a pointer, and of a tensor of the call
        self.outputs = outputs  # (index, shape, strides, type) of each output
        at = plan.count - len(plan.places)
        self.room = (plan.room,), (1,), torch.uint8
        self.workspaces = [(at + i, place) for i, place in enumerate(plan.places)] if plan.room else []

    def __call__(self, tensors):
        """Returns the output, or None if this call is on another GPU or has misaligned tensors."""
        if current_device() != self.device:
            return None
        frame, together = self.frame(), 0
        pointers = frame.pointers
        for place, at in self.taken:
            pointers[place] = address = tensors[at].data_ptr()
            together |= address
        if together % ALIGNMENT:
            self.frames.append(frame)
            return None
        found = []
        for place, *form in self.outputs:
            found.append(y := allocate(*form))
            pointers[place] = y.data_ptr()
        if self.workspaces:
            kept = allocate(*self.room)  # allocated until the launches are on the stream
            start = kept.data_ptr()
            for place, offset in self.workspaces:
                pointers[place] = 0 if offset is None else start + offset
        self.start(frame, torch._C._cuda_getCurrentRawStream(self.device))
        return found[0] if len(found) == 1 else tuple(found)


def learned(call, tensors, order):
    """Returns the output of a call, and a Ready object that repeats the call. order gives the tensor's index for each
    input.

    In place of the Ready object, False means that the call cannot be repeated so, and None that it could with tensors
    at other addresses.
    """
    learning.ran = []
    try:
        found, ran = call(), learning.ran
    finally:
        learning.ran = None
    if len(ran) != 1 or graded(tensors):
        return found, False
    (plan, read, outputs), = ran
    places = [place for place, t in enumerate(read) if t is not None]
    for place in places:
        t = None if order[place] is None else tensors[order[place]]
        if t is None or t.data_ptr() != read[place].data_ptr():  # the kernels read a copy of the tensor
            return found, None if t is not None and t.data_ptr() % ALIGNMENT else False
    every = found if isinstance(found, tuple) else (found,)
    if [(y.data_ptr(), y.numel(), y.dtype) for y in outputs] != [(y.data_ptr(), y.numel(), y.dtype) for y in every]:
        return found, False
    forms = [(len(read) + i, tuple(y.shape), y.stride(), y.dtype) for i, y in enumerate(every)]
    return found, Ready(plan, [(place, order[place]) for place in places], forms)


def remember(known, key, what):
    """Caches the result for a kind of call. A full cache is emptied, to limit its memory."""
    if len(known) >= MOST_READY:
        known.clear()
    known[key] = what
