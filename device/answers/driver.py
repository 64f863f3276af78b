"""Runs the function of an operator's Python file: reads a job of JSON on standard input
(python.go has its form), gives the function arrays that lie in files, and writes what
it returns into files. What goes wrong is one line of the answer, on the descriptor 3."""

import inspect
import json
import math
import os
import sys
import traceback

JOB = json.loads(sys.stdin.buffer.readline())
ANSWER = os.fdopen(3, "w")
sys.stdin = open(os.devnull)


class Wrong(Exception):
    """What the function gives cannot be an answer."""


def end(fault):
    print(json.dumps({"fault": fault}), file=ANSWER, flush=True)
    sys.stdout = sys.stderr = open(os.devnull, "w")
    os._exit(0)  # threads of the file's own do not hold it up


def place(error):
    """The last place in the operator's file that an exception came through."""
    if isinstance(error, SyntaxError) and error.filename == JOB["file"]:
        return error.lineno
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == JOB["file"]]
    return lines[-1] if lines else None


def describe(error):
    words = str(error.msg if isinstance(error, SyntaxError) else error).strip().split("\n")[0][:300]
    if isinstance(error, ModuleNotFoundError) and error.name in ("numpy", "torch"):
        words += "; `python3 -m pip install %s` installs it" % error.name
    return type(error).__name__ + (": " + words if words else "")


def array_in(t):
    """A tensor's contents: the last bytes of its file, which writing does not change."""
    dtype, count = np.dtype(t["type"]), math.prod(t["shape"])
    if count == 0:
        return np.empty(t["shape"], dtype)
    start = os.path.getsize(t["file"]) - count * dtype.itemsize
    lying = np.memmap(t["file"], dtype, "c", start, tuple(t["shape"][axis] for axis in t["order"])).view(np.ndarray)
    return lying.transpose(np.argsort(t["order"])) if lying.ndim else lying


def argument(t):
    return t["value"] if "value" in t else array_in(t)


def called(function):
    """What the function returns. Its parameters are found by name if all of them are
    names of the operator's, else they are the operator's arguments in order."""
    arguments = JOB["arguments"]
    known = {name: {"value": value} for name, value in JOB["values"].items()} | {t["name"]: t for t in arguments}
    parameters = list(inspect.signature(function).parameters.values())
    kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    if all(p.kind in kinds and (p.name in known or p.default is not p.empty) for p in parameters):
        return function(**{p.name: argument(known[p.name]) for p in parameters if p.name in known})
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError:
        raise Wrong("`%s(%s)` cannot be called: the operator has %s, in this order, and the values %s" % (
            JOB["function"], ", ".join(map(str, parameters)), ", ".join(t["name"] for t in arguments), ", ".join(sorted(JOB["values"])))) from None
    return function(*map(argument, arguments))


def as_numpy(value):
    """An array, also of a tensor of PyTorch's."""
    if hasattr(value, "detach") and hasattr(value, "cpu"):
        value = value.detach().cpu()
        try:
            return value.numpy()
        except TypeError:  # of a type that NumPy does not have
            return value.float().numpy()
    return np.asarray(value)


def answer(value, t):
    a, want, shape = as_numpy(value), np.dtype(t["type"]), tuple(t["shape"])
    if a.shape != shape:
        raise Wrong("%s has the shape %s, and the operator's has %s" % (t["name"], a.shape, shape))
    integers = a.dtype.kind in "iu" and want.kind in "iu"
    if not (integers or a.dtype.kind == want.kind == "f" or a.dtype.kind == want.kind == "b"):
        raise Wrong("%s is of %s, and the operator's of %s" % (t["name"], a.dtype, want))
    if integers and a.size and not (np.iinfo(want).min <= int(a.min()) and int(a.max()) <= np.iinfo(want).max):
        raise Wrong("%s holds %d to %d, which are beyond %s" % (t["name"], a.min(), a.max(), want))
    with np.errstate(all="ignore"):
        np.ascontiguousarray(a.transpose(t["order"]), want).tofile(t["file"])


def answers(returned):
    """The outputs by order or name."""
    names = [t["name"] for t in JOB["outputs"]]
    if isinstance(returned, dict):
        missing = [name for name in names if name not in returned]
        if missing:
            raise Wrong("the dict that `%s` returns lacks %s" % (JOB["function"], ", ".join(missing)))
        return [returned[name] for name in names]
    listed = isinstance(returned, (tuple, list))
    found = returned if listed and (len(names) > 1 or len(returned) == 1) else (returned,)
    if len(found) != len(names):
        raise Wrong("`%s` returns %d, and the operator has %d outputs: %s" % (
            JOB["function"], len(found), len(names), ", ".join(names)))
    return found


def main():
    names = {"__name__": "reference", "__file__": JOB["file"]}
    exec(compile(JOB["source"], JOB["file"], "exec"), names)
    global np
    import numpy as np
    returned = called(names[JOB["function"]])
    if returned is None:
        raise Wrong("`%s` returns nothing" % JOB["function"])
    for value, t in zip(answers(returned), JOB["outputs"]):
        answer(value, t)


try:
    main()
except Wrong as error:
    end("%s: %s" % (JOB["file"], error))
except BaseException as error:
    line = place(error)
    end("%s%s: %s" % (JOB["file"], ":%d" % line if line else "", describe(error)))
end("")
