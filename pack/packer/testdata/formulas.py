"""Prints what formulas compute: formulas.py FOLDER, with their values as JSON in standard input."""
import json
import sys

sys.path[:0] = [sys.argv[1]]
from formulas import FORMULAS  # noqa: E402

for i, values in enumerate(json.load(sys.stdin)):
    print(int(FORMULAS[str(i)](values)))
