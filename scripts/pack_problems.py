"""A pack as a Python module, and its problems with tensors: for scripts that hold packs against PyTorch."""
import importlib
import json
import subprocess
import sys
import time

import torch  # noqa: F401: which the pack's time shall not have

import problems
from problems import torch_calls


class Pack:
    """A pack, opened; seconds is how long Python took to import it, beyond torch."""

    def __init__(self, root):
        self.manifest = json.loads((root / "manifest.json").read_text())
        sys.path.insert(0, str(root / "python"))
        begin, name = time.perf_counter(), self.manifest["name"]
        importlib.import_module(name)
        self.seconds = time.perf_counter() - begin
        self.pack, self.functions = (importlib.import_module(f"{name}.{part}") for part in ("pack", "functions"))

    def problem(self, name, values, math):
        """An operator's problem of values of dimensions and components; None if the operator does not allow them."""
        operator = self.pack.Operator(self.pack.OPERATORS[name])
        parameters = {p["name"]: [values[c["name"]] for c in p["components"]] for p in operator.spec["parameters"]}
        try:
            bound, = problems.bound([problems.request(name, [values[n] for n in operator.spec["shape"]], parameters)])
        except subprocess.CalledProcessError:
            return None
        return Problem(self, operator, {**values, "math": math}, bound)


class Problem:
    """A problem with tensors that are drawn: None where it has none, in the order that its kernels take."""

    def __init__(self, opened, operator, values, bound):
        self.operator, self.kernels, self.bound = operator, getattr(opened.functions, "_" + operator.name), bound
        self.settings = [operator.coded(c, values[c]) for c in operator.components]
        self.dtype = torch_calls.dtype(values.get(operator.word, "f32"))
        drawn = bound.drawn()
        self.lasts = [bool(bound.arguments[t["name"]]["Order"]) for t in operator.read]
        self.names = [t["name"] for t in operator.read]
        given = {name: drawn[name] for name in self.names if name in drawn}
        given |= {name: torch_calls.channels_last(given[name]) for name, last in zip(self.names, self.lasts)
                  if last and name in given}
        self.tensors = [given.get(name) for name in self.names]

    def run(self, mode=""):
        return self.kernels.run(self.settings, *self.tensors, mode=mode)

    def theirs(self, change=lambda t: t):
        """PyTorch's own answer, of tensors that may be changed first."""
        given = zip(self.names, self.tensors)
        return self.bound.answer({name: change(t) for name, t in given if t is not None})
