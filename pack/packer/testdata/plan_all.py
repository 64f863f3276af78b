"""Plans and launches with a pack the problems in standard input, which are JSON: plan_all.py PACK"""
import ctypes
import json
import sys
import types

import on_cpu  # noqa: F401

sys.modules["layers"] = types.ModuleType("layers")  # skip the package's modules, which need all of torch
sys.modules["layers"].__path__ = [sys.argv[1] + "/python/layers"]
from layers import pack  # noqa: E402

operators = {name: pack.Operator(spec) for name, spec in pack.OPERATORS.items()}
for case in json.load(sys.stdin):
    shapes = [shape and tuple(shape) for shape in case["shapes"]]
    plan = pack.Plan(operators[case["operator"]], 0, case["settings"], "", pack.TORCH_TYPES[case["type"]], shapes)
    plan.run([4096 * (i + 1) for i in range(plan.count)], 7)
    ctypes.CDLL(None).fflush(None)
    operator, tuned = operators[case["operator"]], "launches" in plan.kernel
    if tuned and not operator.made_for(case["settings"]):
        raise SystemExit("layers.replace would leave a module that a family serves")
    if not tuned:
        print("sizes", *plan.steps[0].last)
    print("workspaces", plan.room, "tuned" if tuned else "general", flush=True)
