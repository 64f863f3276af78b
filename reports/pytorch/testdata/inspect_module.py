"""Imports exported files with PyTorch itself, whose tensors have no memory here and pass for those of a GPU, and says in
JSON what is in the files.

    inspect_module.py < {"path": FILE, "calls": [[[ARGUMENTS], [SHAPE]], ...]} a line

A SHAPE may be a list of shapes, for a call with several tensors.
"""
import inspect
import json
import sys

import stand_in
import torch
from torch.utils._python_dispatch import TorchDispatchMode


class Counted(TorchDispatchMode):
    """Counts the calls that make tensors, views included."""

    made = 0

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        self.made += 1
        return function(*arguments, **(named or {}))


def complaint(module, arguments, inputs):
    """What a call answers: the launch that it makes, or its complaint."""
    stand_in.launches.clear()
    try:
        model = module.ModelNew(*arguments)
        with Counted() as counted:
            output = model(*inputs)
    except Exception as e:
        return {"error": f"{type(e).__name__}: {e}"}
    again, launches = model(*inputs), stand_in.launches  # which is known by now
    if len(set(map(str, launches))) > 1 or (again.shape, again.dtype, again.stride()) != (output.shape, output.dtype, output.stride()):
        return {"error": f"the second call launches {launches[-1]} and gives {again.shape}"}
    return {**(launches or [{}])[-1], "returned": list(output.shape), "made": counted.made}


def describe(path, calls):
    module = stand_in.loaded(path)
    arguments = [tuple(a) if isinstance(a, list) else a for a in module.get_init_inputs()]
    answers = [complaint(module, arguments, module.get_inputs())]
    for given, shape in calls:
        given = [tuple(a) if isinstance(a, list) else a for a in given]
        shapes = shape if isinstance(shape[0], list) else [shape]
        answers.append(complaint(module, given, [torch.empty(s, dtype=getattr(module, "DTYPE", torch.float32)) for s in shapes]))
    with stand_in.on(-1):
        answers.append(complaint(module, arguments, module.get_inputs()))
    given = [t for t in module.get_inputs() if t is not None]
    flags = list(stand_in.builds)
    stand_in.builds.clear()
    return {
        "constructor": str(inspect.signature(module.ModelNew)),
        "arguments": module.get_init_inputs(),
        "inputs": [list(t.shape) for t in given],
        "types": sorted({str(t.dtype).removeprefix("torch.") for t in given}),
        "answers": answers,
        "flags": flags,
        "tuned_sizes": module.TUNED_SIZES,
    }


for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps(describe(request["path"], request["calls"])))
