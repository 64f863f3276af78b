"""PyTorch's side of scripts/holes.py: the math modes of its problems, torch.compile's cache, and times of what PyTorch
has no single function for. It asks PyTorch through autotune's own programs, so that a search compiles the same code.

As a program it reads a problem a line and writes its times in milliseconds, eager and by torch.compile. They are
baselines of a search, so nothing else may run on the GPU meanwhile."""
import concurrent.futures
import functools
import json
import os
import queue
import subprocess
import sys
import threading

import clocks
import problems
import torch_roundings
from kept import forget_tried
from problems import ROOT

LIMIT_S = 120  # for one answer


class Driver:
    """A process that does PyTorch's jobs one after another, as a search's does; another one when it is gone."""

    def __init__(self, environment, log):
        path = [str(ROOT / "pack/loaders/python"), *filter(None, [environment.get("PYTHONPATH")])]
        self.environment, self.log = environment | {"PYTHONPATH": os.pathsep.join(path)}, log
        self.process = None

    def ask(self, job):
        if self.process is None:
            self.process = problems.answering(ROOT / "tuner/torchtimes/times.py", env=self.environment, stderr=self.log)
        late = threading.Timer(LIMIT_S, self.process.kill)
        late.start()
        try:
            self.process.stdin.write(json.dumps(job) + "\n")
            self.process.stdin.flush()
            return json.loads(self.process.stdout.readline())
        except (OSError, ValueError):
            self.close()
            return {"fault": f"PyTorch ended, or took more than {LIMIT_S} s"}
        finally:
            late.cancel()

    def close(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        self.process = None

    def compile(self, calls, math):
        """Has torch.compile compile a problem's call. Returns the fault, if there is one."""
        job = {"ordinal": 0, "names": ["torch_compile"], "calls": calls, "flush": 0, "tf32": math != "fp32"}
        said = self.ask(job)
        if "fault" in said:
            return said["fault"]
        self.ask({})
        return " ".join(said.get("left", {}).values())


def warm(wanted, environment, processes, log, done):
    """Finds the math modes of problems by name, and fills torch.compile's cache for them, several at a time.
    done(name, about) is called for each one when it is ready, one at a time."""
    environment = environment | {"TORCHINDUCTOR_COMPILE_THREADS": "1"}  # here processes are the threads
    drivers, telling = queue.SimpleQueue(), threading.Lock()
    for _ in range(processes):
        drivers.put(Driver(environment, log))

    def one(name):
        p, about = wanted[name], {}
        if p.about["ask_math"]:
            math, why = torch_roundings.mode(p.about, environment)
            about |= {"math": math} if math else {"math_unknown": why}
        if p.calls:
            driver = drivers.get()
            try:
                about["fault"] = driver.compile(p.calls, about.get("math", "fp32"))
            finally:
                drivers.put(driver)
        with telling:
            done(name, about)

    try:
        with concurrent.futures.ThreadPoolExecutor(processes) as pool:
            list(pool.map(one, wanted))
    finally:
        for _ in range(processes):
            drivers.get().close()
    forget_tried(environment["TORCHINDUCTOR_CACHE_DIR"])


def composed(requests, environment, log):
    """Times of problems that PyTorch has no single function for: a dict each, or its fault."""
    text = "".join(json.dumps(r) + "\n" for r in requests)
    command = ["python3", ROOT / "scripts/holes_torch.py"]
    ran = subprocess.run(command, input=text, stdout=subprocess.PIPE, stderr=log, text=True, env=environment)
    return map(json.loads, ran.stdout.splitlines())


def times(p, flush):
    import torch

    call, tensors = functools.partial(problems.COMPOSED[p.operator], p.parameters), p.drawn()
    compiled = torch.compile(call)
    made = {
        "torch_eager": clocks.milliseconds(lambda: call(tensors), flush),
        "torch_compile": clocks.milliseconds(lambda: compiled(tensors), flush),
    }
    torch.compiler.reset()
    return made


def main():
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    flush = clocks.flush()
    with torch.no_grad():
        for p in problems.bound([json.loads(line) for line in sys.stdin]):
            try:
                made = times(p, flush)
            except Exception as error:
                made = {"fault": f"{type(error).__name__}: {error}".splitlines()[0]}
            print(json.dumps(made), flush=True)


if __name__ == "__main__":
    main()
