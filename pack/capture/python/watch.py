"""The mode that sees the functions of PyTorch that a program calls, and the record of them.

A call costs the host a few microseconds and the GPU two events. Nothing waits for the GPU. What goes
wrong in here ends the watching and never the program.
"""
import json
import os
import sys
import threading
import time

import torch
from torch.overrides import TorchFunctionMode

from .clock import Clock
from .problems import FUNCTIONS, described

SCHEMA = "autotune/capture/1"
MOST_KEYS = 4096  # different calls; further ones are counted by function only
EVERY = 2.0  # seconds between the records written while the program runs
SHARE = 50  # writing takes at most one SHARE-th of the program's time

PLAIN = (torch.Tensor, torch.nn.Parameter)


def is_plain(t):
    """Whether a tensor is a dense tensor of PyTorch's own classes. Other tensors may have no shape or layout."""
    return type(t) in PLAIN and t.layout is torch.strided and not t.is_nested


def first_tensor(values):
    """Returns the first tensor among the arguments, or in a list among them."""
    for value in values:
        if isinstance(value, torch.Tensor):
            return value
        if type(value) in (list, tuple) and value and isinstance(value[0], torch.Tensor):
            return value[0]
    return None


def outline(value):
    """Describes an argument without its data: shapes, types, layouts and parameters."""
    kind = type(value)
    if isinstance(value, torch.Tensor) and is_plain(value):
        return described(value)
    if kind in (int, bool, float) or value is None:
        return value
    if isinstance(value, (list, tuple)):
        return tuple(map(outline, value))
    return value if value in ("same", "valid", "none", "tanh", "mean", "sum", "batchmean") else "a " + kind.__name__


class Entry:
    """How often a call was made, and how long it took."""

    __slots__ = ("device", "key", "calls", "first", "timed", "ms", "tf32", "found")

    def __init__(self, device, key):
        self.device, self.key = device, key
        self.calls, self.timed, self.first, self.ms = 0, 0, None, 0.0
        self.tf32, self.found = allowed(key[0]), None

    def add(self, ms):
        """Adds the time of a call. The first time is kept separately, since it includes the loading of kernels."""
        if self.first is None:
            self.first = ms
        else:
            self.timed, self.ms = self.timed + 1, self.ms + ms

    def total(self):
        """Estimates the time of all calls, including those that were not timed."""
        mean = self.ms / self.timed if self.timed else self.first or 0.0
        return mean * self.calls


def allowed(name):
    """Whether PyTorch may round the inputs of a function to TF32."""
    convolves = name.startswith("conv")
    products = torch.backends.cudnn if convolves else torch.backends.cuda.matmul
    precision = getattr(products.conv if convolves and hasattr(products, "conv") else products, "fp32_precision", None)
    return products.allow_tf32 if precision is None else precision == "tf32"


def leaves(device):
    """Returns why packs would leave a call to PyTorch at this moment, or None if they would not."""
    if torch.is_autocast_enabled(device):
        return f"autocast computes it in {torch.get_autocast_dtype(device)}, and packs leave it to PyTorch"
    if torch._C._functorch.peek_interpreter_stack() is not None:
        return "torch.func transforms it"
    return None


def is_real(t):
    """Whether a tensor has data on a device; tensors of compilers and tracers have none."""
    if t.device.type == "meta" or type(t).__module__.startswith("torch._subclasses"):
        return False
    return not is_plain(t) or all(type(n) is int for n in t.shape)


class Watch(TorchFunctionMode):
    """Counts and times the outermost PyTorch calls."""

    def __init__(self, folder):
        super().__init__()
        self.folder = folder
        self.names, self.quiet = {}, set()  # names of functions; functions that return no tensors
        self.lock = threading.Lock()
        self.failed = False
        self.begin_again()

    def begin_again(self):
        """Begins the record of this process, which may have been forked."""
        self.lock = threading.Lock()
        self.clock = Clock(getattr(self, "clock", None))
        self.ended = False
        self.entries, self.file = {}, self.folder / f"{os.getpid()}-{time.monotonic_ns()}.json"
        self.next = time.monotonic() + EVERY

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        # torch.compile only traces this call and does not run it.
        if torch.compiler.is_compiling() or self.failed:
            return func(*args, **kwargs)
        call = self.before(func, args, kwargs)
        try:
            answer = func(*args, **kwargs)
        except BaseException:
            self.undo(call)
            raise
        if call is not None:
            self.after(func, call, answer)
        return answer

    def before(self, func, args, kwargs):
        """Returns the entry of a call and the start of its timing, or None if the call is not counted."""
        try:
            if func in self.quiet:
                return None
            name = self.names.get(func)
            if name is None:
                if len(self.names) >= MOST_KEYS:
                    return None
                name = self.names[func] = getattr(func, "__name__", None) or type(func).__name__
                if name in ("__get__", "__set__"):
                    self.quiet.add(func)
                    return None
            first = first_tensor((*args, *kwargs.values()))
            if first is None or not is_real(first):
                return None
            entry = self.entry(name, first, args, kwargs)
            with self.lock:
                entry.calls += 1
                timing = self.clock.start(entry, first)
            return entry, timing, time.perf_counter()
        except Exception as error:
            return self.fail(error)

    def entry(self, name, first, args, kwargs):
        device = first.device.type
        if name in FUNCTIONS:
            given = outline(args), tuple((k, outline(v)) for k, v in kwargs.items())
            key = name, given, leaves(device)
        else:
            key = name, ((tuple(first.shape), first.dtype, "") if is_plain(first) else outline(first),), None
        found = self.entries.get((device, key))
        if found is None:
            if len(self.entries) >= MOST_KEYS:
                key = name, None, None
            with self.lock:
                found = self.entries.setdefault((device, key), Entry(device, key))
        return found

    def after(self, func, call, answer):
        entry, timing, began = call
        ended = time.perf_counter()
        try:
            with self.lock:
                if answer is not None and not isinstance(answer, (torch.Tensor, list, tuple)):
                    # The function returns a shape, a number or a boolean, so its time is spent on the host.
                    self.quiet.add(func)
                    self.clock.drop(timing)
                    self.entries.pop((entry.device, entry.key), None)
                else:
                    self.clock.stop(entry, timing, 1e3 * (ended - began))
            now = time.monotonic()
            if now > self.next:
                self.write(False)
                self.next = time.monotonic() + max(EVERY, SHARE * (time.monotonic() - now))
        except Exception as error:
            self.fail(error)

    def undo(self, call):
        """Uncounts a call that raised an error."""
        if call is not None:
            entry, timing, _ = call
            with self.lock:
                entry.calls -= 1
                self.clock.drop(timing)

    def fail(self, error):
        """Stops watching, and writes the reason into the record."""
        self.failed = f"{type(error).__name__}: {error}"
        try:
            self.write(False)
        except Exception:
            pass

    def end(self):
        """Writes the final record when the process ends normally."""
        if self.failed:
            return
        try:
            self.clock.finish()
            self.write(True)
            self.ended = True
        except Exception as error:
            self.fail(error)

    def first(self):
        """Writes a first record without calls, since the process may be killed before it writes another one."""
        try:
            self.write(False)
        except Exception as error:
            self.fail(error)

    def leave(self):
        """Writes a record when the process ends at once, without waiting for the GPU."""
        if self.entries and not self.ended and not self.failed:
            self.first()

    def write(self, whole):
        with self.lock:
            self.clock.collect()
            entries = list(self.entries.values())
        calls = []
        for e in entries:
            if e.calls == 0:  # all calls raised errors
                continue
            if e.found is None:
                e.found = FUNCTIONS.found(*e.key)
            calls.append({"function": e.key[0], "device": e.device, "calls": e.calls, "ms": e.total(), "tf32": e.tf32, **e.found})
        record = {
            "schema": SCHEMA, "torch": torch.__version__, "gpu": self.clock.gpu(), "whole": whole, "fault": self.failed or "",
            "compiled": compiled(), "captured": self.clock.captured, "calls": calls,
        }
        part = self.file.with_suffix(".part")
        part.write_text(json.dumps(record))
        part.replace(self.file)


def compiled():
    """Returns how many graphs torch.compile has made. Calls inside these graphs cannot be watched."""
    dynamo = sys.modules.get("torch._dynamo.utils")
    return int(dynamo.counters["stats"]["unique_graphs"]) if dynamo else 0
