"""Imports exported files with the stand-in for PyTorch beside this file and says,
in JSON, what is in them.

    inspect_module.py < {"path": FILE, "calls": [[[ARGUMENTS], [SHAPE]], ...]} a line

A SHAPE may be a list of shapes, for a call with several tensors.
"""
import ctypes
import importlib.util
import inspect
import json
import sys

from torch.utils import cpp_extension
import torch


def complaint(module, arguments, inputs):
    """What a call answers: the launch that it makes, or its complaint."""
    cpp_extension.launches.clear()
    try:
        model, before = module.ModelNew(*arguments), torch.Tensor.made
        output = model(*inputs)
    except Exception as e:
        return {"error": f"{type(e).__name__}: {e}"}
    made = torch.Tensor.made - before
    again, launches = model(*inputs), cpp_extension.launches  # which is known by now
    if len(set(map(str, launches))) > 1 or (again.shape, again.dtype, again.last) != (output.shape, output.dtype, output.last):
        return {"error": f"the second call launches {launches[-1]} and gives {again.shape}"}
    return {**(launches or [{}])[-1], "returned": list(output.shape), "made": made}


def describe(path, calls):
    spec = importlib.util.spec_from_file_location("exported", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    ctypes.CDLL = cpp_extension.Library
    arguments = [tuple(a) if isinstance(a, list) else a for a in module.get_init_inputs()]
    answers = [complaint(module, arguments, module.get_inputs())]
    for given, shape in calls:
        given = [tuple(a) if isinstance(a, list) else a for a in given]
        shapes = shape if isinstance(shape[0], list) else [shape]
        answers.append(complaint(module, given, [torch.Tensor(*s, dtype=getattr(module, "DTYPE", torch.float32)) for s in shapes]))
    answers.append(complaint(module, arguments, [t if t is None else torch.Tensor(*t.shape, is_cuda=False) for t in module.get_inputs()]))
    given = [t for t in module.get_inputs() if t is not None]
    flags = [build["extra_cuda_cflags"] for build in cpp_extension.builds]
    cpp_extension.builds.clear()
    return {
        "constructor": str(inspect.signature(module.ModelNew)),
        "arguments": module.get_init_inputs(),
        "inputs": [list(t.shape) for t in given],
        "types": sorted({t.dtype for t in given}),
        "answers": answers,
        "flags": flags,
        "tuned_sizes": module.TUNED_SIZES,
    }


for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps(describe(request["path"], request["calls"])))
