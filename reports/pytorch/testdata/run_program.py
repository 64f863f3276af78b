"""Runs a written program on the CPU, whose tensors pass for those of a GPU. In place of kernels there is PyTorch.

    run_program.py < {"path": FILE, "kernels": {NAME: KERNEL, ...}} a line

A KERNEL is {"read": [SHAPE or null, ...], "written": SHAPE, "types": [PyTorch's, of those in turn], "last":
channels-last, "body": PYTHON}. A body gives what the kernel writes, of the tensors t0, t1 and so on that it reads, and
may write those.
"""
import ctypes
import json
import math
import sys

import stand_in
import torch

kernels, launches = {}, stand_in.launches


def at(pointer, shape, dtype, last=False):
    """A tensor in memory that is somebody else's."""
    dtype = getattr(torch, dtype)
    data = (ctypes.c_char * (math.prod(shape) * dtype.itemsize)).from_address(pointer)
    flat = torch.frombuffer(data, dtype=dtype)
    return flat.view(shape[0], *shape[2:], shape[1]).movedim(-1, 1) if last else flat.view(shape)


class Kernel:
    def __init__(self, name):
        self.name = name

    def __call__(self, *pointers):
        assert len(pointers) == len(self.argtypes), (pointers, self.argtypes)
        k = kernels[self.name]
        given = zip(pointers, k["read"], k["types"])
        read = [shape and at(p, shape, dtype, k["last"] and len(shape) > 2) for p, shape, dtype in given]
        with torch.no_grad():
            y = eval(k["body"], {"torch": torch}, {f"t{i}": t for i, t in enumerate(read)})
            at(pointers[len(read)], k["written"], k["types"][-1], k["last"]).copy_(y)
        launches.append(self.name)
        return 0


def functions():
    allowed = {f"allow_{name}": lambda: 0 for name in kernels}
    return {f"launch_{name}": Kernel(name) for name in kernels} | allowed | {"error_of": Kernel("")}


stand_in.functions = functions
stand_in.always.__exit__(None, None, None)  # the tensors here have memory
torch.set_default_device(None)
torch.set_grad_enabled(True)


def pair(program, seed=0):
    """A Model and a ModelNew that are alike."""
    made = []
    for kind in (program.Model, program.ModelNew):
        torch.manual_seed(seed)
        made.append(kind(*program.get_init_inputs()))
    return made


def like(got, want, what):
    got, want = ([t] if isinstance(t, torch.Tensor) else t for t in (got, want))
    for g, w in zip(got, want, strict=True):
        if (g is None) != (w is None):
            sys.exit(f"{what}: {g} and {w}")
        if g is not None:
            rtol = 1e-2 if g.dtype is torch.bfloat16 else 1e-4
            torch.testing.assert_close(g, w, rtol=rtol, atol=1e-5, check_stride=True, msg=lambda m: f"{what}: {m}")


def alike(program, inputs, what, change=lambda model: model, grad=False):
    """Compares outputs, buffers and gradients. Gives what was launched."""
    launches.clear()
    old, new = map(change, pair(program))
    results = []
    for model in (old, new):
        given = [t.clone().requires_grad_(grad and t.is_floating_point()) for t in inputs]
        with stand_in.on(0), torch.set_grad_enabled(grad):
            y = model(*given)
            if grad:
                sum(t.square().sum() for t in ([y] if isinstance(y, torch.Tensor) else y)).backward()
        results.append((y, [*model.state_dict().values()], [t.grad for t in (*given, *model.parameters())]))
    for part, got, want in zip(("outputs", "state", "gradients"), results[1], results[0]):
        like(got, want, f"{what}: {part}")
    return list(launches)


def check(path):
    """Holds a program against its Model in calls of many kinds, and says what each kind launched."""
    program = stand_in.loaded(path)
    torch.manual_seed(1)
    inputs = program.get_inputs()
    old, new = pair(program)
    like([*new.state_dict().values()], [*old.state_dict().values()], "state")
    new.load_state_dict(pair(program, 2)[0].state_dict(), strict=True)
    with stand_in.on(-1), torch.no_grad():
        like(new(*inputs), pair(program, 2)[0](*inputs), "on the CPU")
    assert not launches
    memory = [torch.empty(t.numel() + 1, dtype=t.dtype) for t in inputs]
    views = [m.as_strided(t.shape, t.stride(), 1).copy_(t) for m, t in zip(memory, inputs)]  # which are not aligned
    return {
        "tuned": alike(program, inputs, "tuned"),
        "unaligned": alike(program, views, "unaligned"),
        "gradients": alike(program, inputs, "gradients", grad=True),
        "evaluated": alike(program, inputs, "evaluated", lambda m: m.eval()),
        "another type": alike(program, [t.double() for t in inputs], "another type", lambda m: m.double()),
        "other strides": alike(program, [t.mT.contiguous().mT if t.dim() > 1 else t for t in inputs], "other strides"),
        "half frozen": alike(program, inputs, "half frozen", lambda m: m.requires_grad_(False), grad=True),
    }


for line in sys.stdin:
    request, launches[:] = json.loads(line), []
    kernels.clear()
    kernels.update(request["kernels"])
    print(json.dumps(check(request["path"])))
