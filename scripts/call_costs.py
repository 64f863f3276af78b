#!/usr/bin/env python3
"""What a module costs beside its kernel, on a GPU: its first import, later ones, and a call on the host.

    scripts/call_costs.py FILE...
    scripts/call_costs.py PACK...

Each FILE is what `autotune export --format pytorch` wrote. A row a file: seconds of the first import, when nothing
is compiled yet, and of the next, beyond PyTorch's own; then microseconds of the host a call, ours and PyTorch's own
module's, as medians of rounds that take turns; at last the same of a plain loop that waits for the GPU at its end. Of a
PACK it is a row an entry: a call of the pack's function and one of PyTorch's own, and where a module is just that, a
replaced module and PyTorch's. The last line has the most that a call took the host beyond PyTorch's: HOST_MS of the pack's
loader says how much that may be.
"""
import copy
import functools
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROUNDS, CALLS = 15, 200

IMPORT = """
import sys, time, torch
torch.zeros(1, device="cuda")
begin = time.perf_counter()
sys.path.insert(0, sys.argv[1])
__import__(sys.argv[2])
print(time.perf_counter() - begin)
"""


def import_seconds(path):
    """Of two new processes, one after the other: the first compiles."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "TORCH_EXTENSIONS_DIR": folder}
        command = [sys.executable, "-c", IMPORT, str(path.parent), path.stem]
        runs = [subprocess.run(command, env=environment, capture_output=True, text=True, check=True) for _ in range(2)]
    return [float(run.stdout.split()[-1]) for run in runs]


def rounds(call, wait):
    """Microseconds a call of a round: on the host, and with the GPU's work."""
    wait()
    begin = time.perf_counter()
    for _ in range(CALLS):
        call()
    host = time.perf_counter() - begin
    wait()
    return host / CALLS * 1e6, (time.perf_counter() - begin) / CALLS * 1e6


def call_times(path):
    from check_modules import both_models, load, tensors

    module = load(path)
    ours, theirs = both_models(module, module.get_init_inputs())
    inputs = [t.cuda() for t in module.get_inputs()]
    if module.OPERATOR == "matmul":
        inputs = tensors(module, [bool(module.TUNED["bias"])], list(module.TUNED.values())[:4])
    return taking_turns([lambda: ours(*inputs), lambda: theirs(*inputs)])


def taking_turns(calls):
    """Medians of rounds of several calls that take turns: microseconds on the host, and with the GPU's work."""
    import torch

    times = [[] for _ in calls]
    with torch.no_grad():
        for _ in range(ROUNDS + 3):
            for kept, call in zip(times, calls):
                kept.append(rounds(call, torch.cuda.synchronize))
    return [[statistics.median(column) for column in zip(*kept[3:])] for kept in times]


def pack_costs(root):
    from pack_problems import Pack

    opened = Pack(root)
    print(f"{root}: imported in {opened.seconds:.3f} s beyond torch")
    print("| problem | call, us | PyTorch's | in a loop, us | PyTorch's |\n| --- | ---: | ---: | ---: | ---: |")
    beyond = []
    for entry in opened.manifest["entries"]:
        values, problem = entry["values"], opened.problem(entry["operator"], entry["values"], entry["math"])
        call = opened.functions.CALLS[entry["operator"]][-1]
        ours = problem.run
        meant = not any(call.meant.get(p, False) != values[p] for p in ("transpose_a", "transpose_b") if p in values)
        if meant and len(call.places) == len(problem.tensors) and not call.dim and not any(a.words for a in call.given):
            given = tuple(problem.parameters.get(a.own, a.default) for a in call.parameters)
            ours = lambda: call(problem.tensors, given)  # noqa: E731
        rows = [(entry["problem"], ours, problem.theirs)]
        if layer := problem.module():
            module, x = layer
            swapped = copy.deepcopy(module)
            swapped.__class__ = opened.modules.MODULES[type(module).__name__]
            swapped.autotune_measured = frozenset({x.shape})
            rows.append((f"{type(module).__name__}: {entry['problem']}", functools.partial(swapped, x), functools.partial(module, x)))
        for name, *calls in rows:
            (our, our_loop), (their, their_loop) = taking_turns(calls)
            beyond.append((our - their, name))
            print(f"| {name} | {our:.1f} | {their:.1f} | {our_loop:.1f} | {their_loop:.1f} |", flush=True)
    print("\nthe most beyond PyTorch's: {:.1f} us, {}; allowed are {:.0f} us".format(*max(beyond), 1e3 * opened.pack.HOST_MS))


def main():
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    if all(pathlib.Path(argument).is_dir() for argument in sys.argv[1:]):
        import torch

        torch.zeros(1, device="cuda")
        for argument in sys.argv[1:]:
            pack_costs(pathlib.Path(argument))
        return
    print("| module | first import, s | next, s | call, us | PyTorch's | in a loop, us | PyTorch's |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for path in map(pathlib.Path, sys.argv[1:]):
        first, after = import_seconds(path)
        (ours, our_loop), (theirs, their_loop) = call_times(path)
        print(f"| {path.stem} | {first:.1f} | {after:.2f} | {ours:.1f} | {theirs:.1f} | {our_loop:.1f} | {their_loop:.1f} |", flush=True)


if __name__ == "__main__":
    main()
