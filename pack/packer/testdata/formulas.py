"""Prints what formulas compute, by the package that they were written for: formulas.py STAND_IN FOLDER, with their values as JSON in standard input."""
import json
import sys
import types

sys.path[:0] = [sys.argv[1]]
sys.modules["layers"] = types.ModuleType("layers")
sys.modules["layers"].__path__ = [sys.argv[2] + "/layers"]
from layers.formulas import FORMULAS  # noqa: E402

for i, values in enumerate(json.load(sys.stdin)):
    try:
        print(int(FORMULAS[str(i)](values)))
    except ArithmeticError:
        print("bad")
