"""Calls that were made before: what they are known by, and what makes them again without PyTorch's dispatcher."""
import threading

import torch

ALIGNMENT = 16  # of all tensors, which kernels load vectors from


def graded(tensors):
    """Whether a gradient is asked for."""
    return torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in tensors)


class Learning(threading.local):
    """What a thread's call ran, while it is learned."""

    ran = None


learning = Learning()
MOST_READY = 4096  # calls that are remembered of a function, or of a class of modules


def of_devices(count):
    """Whether all modes only say where tensors are made, as torch.set_default_device does."""
    return all(type(torch._C._get_function_stack_at(i)).__name__ == "DeviceContext" for i in range(count))


def foreign():
    """Whether PyTorch has to see each call: within a mode, a transform of torch.func or a trace."""
    c = torch._C
    modes = c._len_torch_function_stack()
    return modes and not of_devices(modes) or c._len_torch_dispatch_stack() or c._functorch.peek_interpreter_stack() or c._get_tracing_state()


forward_differentiation = torch.autograd.forward_ad
current_device = getattr(torch._C, "_cuda_getDevice", torch.cuda.current_device)
try:
    allocate = torch._C._dynamo.guards._empty_strided_cuda  # as code that torch.compile generates: without the dispatcher
except AttributeError:

    def allocate(shape, strides, dtype):
        return torch.empty_strided(shape, strides, dtype=dtype, device="cuda")


OWN_TYPES = {torch.Tensor, torch.nn.Parameter}


def key_of(tensors, *more):
    """All that a call's launches depend on but the addresses; None where PyTorch has to see the call."""
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
    """A call that was made before: which kernels run on which of its tensors, and what is allocated for them."""

    def __init__(self, plan, taken, outputs):
        self.start, self.frame, self.frames, self.device = plan.launch, plan.frame, plan.frames, plan.gpu.index
        self.taken = taken  # places among pointers, and among the call's tensors
        self.outputs = outputs  # (place, shape, strides, type) of each
        at = plan.count - len(plan.places)
        self.room = (plan.room,), (1,), torch.uint8
        self.workspaces = [(at + i, place) for i, place in enumerate(plan.places)] if plan.room else []

    def __call__(self, tensors):
        """The answer; None if this call is not like the one that was made: on another GPU, or of tensors at odd addresses."""
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
            kept = allocate(*self.room)  # until the launches are on the stream
            start = kept.data_ptr()
            for place, offset in self.workspaces:
                pointers[place] = 0 if offset is None else start + offset
        self.start(frame, torch._C._cuda_getCurrentRawStream(self.device))
        return found[0] if len(found) == 1 else tuple(found)


def learned(call, tensors, order):
    """The answer of a call, and what makes it again; order says which of the tensors each one is that kernels read.

    False instead: it cannot be made so. None: it can with tensors at other addresses.
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
        if t is None or t.data_ptr() != read[place].data_ptr():  # the kernels had another tensor made
            return found, None if t is not None and t.data_ptr() % ALIGNMENT else False
    every = found if isinstance(found, tuple) else (found,)
    if [(y.data_ptr(), y.numel(), y.dtype) for y in outputs] != [(y.data_ptr(), y.numel(), y.dtype) for y in every]:
        return found, False
    forms = [(len(read) + i, tuple(y.shape), y.stride(), y.dtype) for i, y in enumerate(every)]
    return found, Ready(plan, [(place, order[place]) for place in places], forms)


def remember(known, key, what):
    """Keeps what is known of a call. Calls of ever new shapes do not fill the memory."""
    if len(known) >= MOST_READY:
        known.clear()
    known[key] = what
