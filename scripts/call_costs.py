#!/usr/bin/env python3
"""What a call costs the host beside PyTorch's own, on a GPU.

    scripts/call_costs.py PACK...
    scripts/call_costs.py FILE...

A row for each of a PACK's entries, and for each module that replace would take: microseconds of the host a call, ours
and PyTorch's, as medians of rounds that take turns, then the same until the GPU is done. FILE is what `autotune export
--format pytorch` wrote. The last line has the most that a call took the host beyond PyTorch's, and how much that may be
(HOST_MS of the pack's loader).
"""
import copy
import functools
import pathlib
import sys

import torch

import clocks
from pack_problems import Pack


def of_pack(root):
    """The names of calls, ours and PyTorch's."""
    opened = Pack(root)
    print(f"{root}: imported in {opened.seconds:.3f} s beyond torch; allowed are {1e3 * opened.pack.HOST_MS:.0f} us")
    for entry in opened.manifest["entries"]:
        values, problem = entry["values"], opened.problem(entry["operator"], entry["values"], entry["math"])
        yield entry["problem"], function(opened, entry, values, problem), problem.theirs
        if layer := problem.module():
            module, x = layer
            swapped = copy.deepcopy(module)
            swapped.__class__ = opened.modules.MODULES[type(module).__name__]
            swapped.autotune_measured = frozenset({x.shape})
            name = f"{type(module).__name__}: {entry['problem']}"
            yield name, functools.partial(swapped, x), functools.partial(module, x)


def function(opened, entry, values, problem):
    """The pack's function that takes the problem's tensors as they are, or else what is below it."""
    call = opened.functions.CALLS[entry["operator"]][-1]
    transposed = any(call.meant.get(p, False) != values[p] for p in ("transpose_a", "transpose_b") if p in values)
    as_they_are = len(call.places) == len(problem.tensors) and not call.dim and not any(a.words for a in call.given)
    if transposed or not as_they_are:
        return problem.run
    given = tuple(problem.parameters.get(a.own, a.default) for a in call.parameters)
    return lambda: call(problem.tensors, given)


def of_file(path):
    from check_modules import both_models, load, tensors

    module = load(path)
    ours, theirs = both_models(module, module.get_init_inputs())
    inputs = [t.cuda() for t in module.get_inputs()]
    if module.OPERATOR == "matmul":
        inputs = tensors(module, [bool(module.TUNED["bias"])], list(module.TUNED.values())[:4])
    yield path.stem, lambda: ours(*inputs), lambda: theirs(*inputs)


def main(paths):
    torch.zeros(1, device="cuda")
    beyond = []
    print("| call | host, us | PyTorch's | until the GPU is done, us | PyTorch's |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for path in paths:
        for name, *calls in (of_pack if path.is_dir() else of_file)(path):
            (our, our_all), (their, their_all) = clocks.microseconds(*calls)
            beyond.append((our - their, name))
            print(f"| {name} | {our:.1f} | {their:.1f} | {our_all:.1f} | {their_all:.1f} |", flush=True)
    print("\nthe most beyond PyTorch's: {:.1f} us, {}".format(*max(beyond)))


if __name__ == "__main__":
    main([pathlib.Path(argument) for argument in sys.argv[1:]])
