"""PyTorch's side of scripts/holes.py: the math modes of its problems, torch.compile's cache, and times of what PyTorch has no
single function for. The programs that ask PyTorch are autotune's own, so that it compiles the same code later."""
import concurrent.futures
import json
import os
import queue
import subprocess
import threading

from kept import ROOT, forget_tried

LIMIT_S = 120  # for one answer
CLEAR = 4  # how much nearer than every other rounding the nearest must be, as for autotune itself


def started(program, **options):
    """A Python program, in the python3 that autotune takes, whose answers on the descriptor 3 are read here."""
    return subprocess.Popen(["bash", "-c", 'exec python3 -c "$0" 3>&1 1>&2', program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options)


class Driver:
    """A process that does PyTorch's jobs one after another, as a search's does; another when it is gone."""

    def __init__(self, environment, log):
        path = [str(ROOT / "pack/loaders/python"), *filter(None, [environment.get("PYTHONPATH")])]
        self.environment, self.log, self.process = environment | {"PYTHONPATH": os.pathsep.join(path)}, log, None

    def ask(self, job):
        if self.process is None:
            self.process = started((ROOT / "tuner/torchtimes/times.py").read_text(), env=self.environment, stderr=self.log)
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
        """Has torch.compile compile a problem's call; the fault, if there is one."""
        said = self.ask({"ordinal": 0, "names": ["torch_compile"], "calls": calls, "flush": 0, "tf32": math != "fp32"})
        fault = said.get("fault") or " ".join(said.get("left", {}).values())
        if not said.get("fault"):
            self.ask({})
        return fault


def mode(about, environment):
    """The math mode that PyTorch computes a problem in, and why it is not known."""
    process = started((ROOT / "tuner/torchmath/ask.py").read_text(), env=environment, stderr=subprocess.DEVNULL)
    try:
        said = json.loads(process.communicate(json.dumps(about["ask_math"]) + "\n", LIMIT_S)[0] or "{}")
    except (subprocess.TimeoutExpired, ValueError):
        process.kill()
        return None, f"no answer in {LIMIT_S} s"
    nearest, second = [*sorted((e, rule) for rule, e in said.get("errors", {}).items()), (0, ""), (0, "")][:2]
    if nearest[1] in about["math_modes"] and nearest[0] * CLEAR <= second[0]:
        return nearest[1], ""
    return None, said.get("fault", "PyTorch rounds in a way that has no mode")


def warm(problems, environment, processes, log, done):
    """Fills torch.compile's cache for problems by name, several at a time, and finds out the math modes that PyTorch is asked for.
    done(name, about) is called of each as it is ready, one at a time."""
    environment = environment | {"TORCHINDUCTOR_COMPILE_THREADS": "1"}  # here processes are the threads
    drivers, telling = queue.SimpleQueue(), threading.Lock()
    for _ in range(processes):
        drivers.put(Driver(environment, log))

    def one(name):
        p, about = problems[name], {}
        if p.about["ask_math"]:
            about["math"], why = mode(p.about, environment)
            about |= {"math_unknown": why} if why else {}
        if p.calls:
            driver = drivers.get()
            try:
                about["fault"] = driver.compile(p.calls, about.get("math") or "fp32")
            finally:
                drivers.put(driver)
        with telling:
            done(name, about)

    try:
        with concurrent.futures.ThreadPoolExecutor(processes) as pool:
            list(pool.map(one, problems))
    finally:
        for _ in range(processes):
            drivers.get().close()
    forget_tried(environment["TORCHINDUCTOR_CACHE_DIR"])


def composed(requests, environment, log):
    """Times of problems that PyTorch has no function for, by scripts/holes_composed.py: a dict each, or its fault."""
    command = ["python3", ROOT / "scripts/holes_composed.py"]
    text = "".join(json.dumps(r) + "\n" for r in requests)
    return map(json.loads, subprocess.run(command, input=text, stdout=subprocess.PIPE, stderr=log, text=True, env=environment).stdout.splitlines())
