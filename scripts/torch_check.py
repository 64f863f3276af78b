#!/usr/bin/env python3
"""Hold the operators' references against PyTorch, on the GPU, on the same inputs.

    torch_check.py FOLDER

FOLDER is what the GPU suite (internal/test/gputest) leaves when AUTOTUNE_TORCH_CASES
names it: a JSON file and the compiled reference of every problem, and the kernel
that fills inputs, so that the numbers are the suite's own, bit for bit.

Every output is compared element by element with

    PyTorch in float64, rounded to float32 (a maximum is taken in float32), and
    PyTorch in the tensors' type, as a user would call it, within the operator's
    tolerance (not in tf32, where PyTorch's own choice of algorithm decides how it
    rounds).

Of outputs above LARGE elements, the first and the last image are compared. Exits
with 1 when anything differs.
"""
import ctypes
import json
import pathlib
import sys
import time

import torch

import problems
from problems import torch_calls

LARGE = 1 << 24

driver = ctypes.CDLL("libcuda.so.1")


class Kernel:
    """A kernel of a cubin; called with ctypes values and tensors."""

    def __init__(self, path, entry):
        self.module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        check(driver.cuModuleLoadData(ctypes.byref(self.module), path.read_bytes()), f"load {path}")
        check(driver.cuModuleGetFunction(ctypes.byref(self.function), self.module, entry.encode()), f"find {entry}")

    def __call__(self, grid, block, *arguments):
        values = [ctypes.c_void_p(a.data_ptr() if a.numel() else None) if torch.is_tensor(a) else a for a in arguments]
        pointers = (ctypes.c_void_p * len(values))(*[ctypes.addressof(v) for v in values])
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        dims = [ctypes.c_uint(d) for d in (*grid, *block)]
        check(driver.cuLaunchKernel(self.function, *dims, ctypes.c_uint(0), stream, pointers, None), "launch")

    def unload(self):
        check(driver.cuModuleUnload(self.module), "unload")


def check(result, what):
    if result != 0:
        raise RuntimeError(f"{what}: the CUDA driver answers {result}")


def uniform(index, seed):
    """Element index of a tensor of uniform01, as docs/measuring.md has it."""
    word = (1 << 64) - 1
    x = (index * 0x9E3779B97F4A7C15 + seed * 0xD1B54A32D192ED03) & word
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & word
    x = (x ^ x >> 27) * 0x94D049BB133111EB & word
    return ((x ^ x >> 31) >> 40) / (1 << 24)


def fill(generator, case, distribution):
    """The problem's tensors by name, filled as the suite fills them, the output with a value to recognise."""
    tensors = {}
    for i, t in enumerate(case["tensors"]):
        if t["Owner"]:
            continue  # a template's, which the reference does not take
        order = t.get("Order") or list(range(len(t["Shape"])))  # axes, from the outermost in memory
        data = torch.empty([t["Shape"][axis] for axis in order], dtype=torch.float32, device="cuda")
        if t["Role"] == "output":
            data.fill_(1234.5678)
        elif t["Elements"] > 0:
            number, scale = (case["weights"], t["Scale"]) if t["Role"] == "weight" else (case["distributions"][distribution], 1.0)
            generator((1024, 1, 1), (256, 1, 1), data, ctypes.c_ulonglong(t["Elements"]),
                      ctypes.c_uint(case["seed"] + i), ctypes.c_int(number), ctypes.c_float(scale))
        if t["Role"] == "input" and distribution == "uniform01":
            last = uniform(t["Elements"] - 1, case["seed"] + i)
            if data.flatten()[-1].item() != last:
                raise RuntimeError(f"{case['problem']}: the last element of {t['Name']} is not {last}")
        if t["Type"] == "i64":  # labels of the first tensor's second dimension
            data = data.nan_to_num(0, 0, 0).abs() * 997 % case["tensors"][0]["Shape"][1]
        if t["Name"] == "running_var":
            data = data.nan_to_num(1, 1, 1).abs() + 0.5
        tensors[t["Name"]] = (data > 0 if t["Type"] == "bool" else data).to(torch_calls.dtype(t["Type"])).permute([order.index(axis) for axis in range(len(order))])
    return tensors


def differing(got, want, atol, rtol):
    """How many elements differ, and the largest finite difference."""
    got, want = got.to(torch.float32), want.to(torch.float32)
    difference = (got - want).abs()
    same = (got == want) | (got.isnan() & want.isnan())
    same |= want.isfinite() & (difference <= atol + rtol * want.abs())
    finite = difference.nan_to_num(0.0, 0.0, 0.0)
    return int((~same).sum()), float(finite.max()) if finite.numel() else 0.0


def parts(case, tensors, problem):
    """Inputs and output of the problem, or of its first and last image where it is large."""
    output = next(t["Name"] for t in case["tensors"] if t["Role"] == "output")
    inputs = {name: tensor for name, tensor in tensors.items() if name != output}
    images = tensors[output].shape[0]
    if tensors[output].numel() <= LARGE or images == 1:
        return [(inputs, tensors[output])]
    return [(problem.part(inputs, i, i + 1), tensors[output][i:i + 1]) for i in (0, images - 1)]


def compare(case, tensors, problem):
    """What differs from PyTorch, as a list of sentences, the largest error against float64, how many elements it
    saw and how many of them are NaN or infinite."""
    complaints, largest, elements, special = [], 0.0, 0, 0
    exact = problems.exact(case["operator"])
    for inputs, got in parts(case, tensors, problem):
        factors = {k: problems.rounded(v, case["math"]) if k != "bias" else v for k, v in inputs.items()}
        want = problem.answer(factors if exact else {k: v.double() for k, v in factors.items()})
        if want.shape != got.shape:
            complaints.append(f"PyTorch's output has the shape {tuple(want.shape)}, not {tuple(got.shape)}")
            continue
        elements += got.numel()
        special += int((~got.isfinite()).sum())
        # Of 16 bits, PyTorch's rounding of a double, or of its own sum, may be to the other neighbour.
        rounding = problems.tolerance(got.dtype, 1e-6)["rtol"]
        checks = [("float64", want, *((0.0, 0.0) if exact else (1e-9, rounding)))]
        if not exact and case["math"] == "fp32":
            checks.append((str(got.dtype).removeprefix("torch."), problem.answer(inputs), case["atol"], max(case["rtol"], rounding)))
        for name, answer, atol, rtol in checks:
            count, error = differing(got, answer, atol, rtol)
            if name == "float64":
                largest = max(largest, error)
            if count:
                complaints.append(f"{count} of {got.numel()} elements differ from PyTorch's in {name}, by up to {error:.3g}")
    return complaints, largest, elements, special


def main(folder):
    folder = pathlib.Path(folder)
    torch.zeros(1, device="cuda")  # its context is the driver's current one from here on
    torch.backends.cudnn.allow_tf32 = False
    problems.sums_in_float()
    begin, compared, failed, elements, special, largest = time.time(), 0, 0, 0, 0, {}
    generator = Kernel(folder / "generator.cubin", "fill")
    paths = sorted(folder.glob("*.json"))
    cases = [json.loads(path.read_text()) for path in paths]
    bound = problems.bound([problems.request(c["operator"], c["shape"], c["parameters"]) for c in cases])
    for path, case, problem in zip(paths, cases, bound):
        reference = Kernel(path.with_suffix(".cubin"), case["entry"])
        for distribution in case["distributions"]:
            tensors = fill(generator, case, distribution)
            reference(case["launch"]["grid"], case["launch"]["block"], *tensors.values())
            complaints, error, seen, not_finite = compare(case, tensors, problem)
            compared += 1
            elements += seen
            special += not_finite
            failed += bool(complaints)
            key = f"{case['operator']} {case['math']}"
            largest[key] = max(largest.get(key, 0.0), error)
            for complaint in complaints:
                print(f"{case['problem']} on {distribution}: {complaint}", flush=True)
            del tensors
        torch.cuda.synchronize()
        reference.unload()
    if not compared:
        sys.exit(f"{folder} holds no cases")
    for key, error in largest.items():
        print(f"{key}: the reference is within {error:.3g} of PyTorch in float64")
    print(f"PyTorch {torch.__version__}: {compared - failed} of {compared} outputs agree ({elements} elements, {special} of them NaN or infinite), {time.time() - begin:.1f} s")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    with torch.no_grad():
        main(sys.argv[1])
