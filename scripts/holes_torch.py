"""PyTorch's side of scripts/holes.py: the calls of its problems, their math modes, and torch.compile's
cache. The programs that ask PyTorch are autotune's own, so that it compiles the same code later."""
import concurrent.futures
import functools
import json
import os
import queue
import subprocess
import threading

from kept import ROOT, forget_tried

AUTOTUNE = os.environ.get("AUTOTUNE", str(ROOT / "bin/autotune"))
LIMIT_S = 120  # for one answer
CLEAR = 4  # how much nearer than every other rounding the nearest must be, as for autotune itself

WINDOW = {"stride": 1, "padding": 0, "dilation": 1}
CONVOLUTION = {"tensors": {"input": "x", "weight": "weight", "bias": "bias"}, "values": {**WINDOW, "groups": 1}}
TRANSPOSED = {**CONVOLUTION, "values": {**CONVOLUTION["values"], "output_padding": 0}}
POOL = {"tensors": {"input": "x"}, "values": {"kernel_size": None, "stride": None, "padding": 0, "dilation": 1, "ceil_mode": False,
                                             "count_include_pad": True, "divisor_override": 0}}
ALONG = {"tensors": {"input": "x"}, "given": {"dim": 1}}
ROW_NORM = {"tensors": {"input": "x", "weight": "weight", "bias": "bias"}, "values": {"eps": None}, "rows": ("input",)}
LOSS = {"given": {"reduction": "mean"}}

# Each operator's function of PyTorch's: which tensors and which of the problem's values it takes by which names, with
# PyTorch's defaults (None: always given), and what is always given. TestHolesCallPyTorchAlike holds them against op.yaml.
CALLS = {
    **{name: CONVOLUTION for name in ("conv1d", "conv2d", "conv3d")},
    **{name: TRANSPOSED for name in ("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")},
    "depthwise_conv2d": {**CONVOLUTION, "function": "conv2d"},
    **{f"{kind}_pool{axes}d": POOL for kind in ("avg", "max") for axes in (1, 2, 3)},
    **{name: ALONG for name in ("argmax", "argmin", "cumprod", "cumsum", "log_softmax", "mean", "normalize", "prod", "softmax", "sum")},
    "max": {**ALONG, "function": "amax"},
    "min": {**ALONG, "function": "amin"},
    "layer_norm": ROW_NORM,
    "rms_norm": ROW_NORM,
    "group_norm": {"tensors": ROW_NORM["tensors"], "values": {"num_groups": None}},
    "batch_norm": {"tensors": {**ROW_NORM["tensors"], "running_mean": "running_mean", "running_var": "running_var"}, "values": {"training": False}},
    "cross_entropy": {**LOSS, "tensors": {"input": "x", "target": "target"}, "rows": ("input", "target")},
    "triplet_margin_loss": {"tensors": {name: name for name in ("anchor", "positive", "negative")}, "given": {**LOSS["given"], "eps": 1e-6, "p": 2.0}},
    "scaled_dot_product_attention": {"tensors": {"query": "q", "key": "k", "value": "v"},
                                     "values": {"is_causal": False, "enable_gqa": False, "scale": None}},
}
NAMES = {"kernel_size": "kernel", "num_groups": "groups", "is_causal": "causal", "enable_gqa": "gqa"}  # that are not the problem's own


@functools.cache
def described(operator):
    """What `autotune ops show` says of an operator."""
    return json.loads(subprocess.run([AUTOTUNE, "ops", "show", operator, "--json", "-"], check=True, capture_output=True, text=True).stdout)


def choices(operator, parameter):
    """The words that a parameter takes; one, which is empty, if the operator lacks it."""
    return next((p["choices"] for p in described(operator)["parameters"] if p["name"] == parameter), [""])


def read(text):
    """A value as it is written in a problem."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


class Problem:
    """A problem with its values: of dimensions, of parameters' components, and derived ones."""

    def __init__(self, asked):
        self.asked, self.operator = asked, asked["operator"]
        self.about = described(self.operator)
        self.known = dict(zip(self.about["shape"], map(int, asked["shape"].split("x"))))
        for p in self.about["parameters"]:
            self.add(p)
        for d in self.about["derived"]:
            try:
                self.known[d["name"]] = self.evaluated(d["expression"])
            except NameError:  # of the device
                pass

    def add(self, parameter):
        given = self.asked["parameters"].get(parameter["name"])
        parts = None if given is None else [read(w) for w in given.split("x")] if given[:1].isdigit() else [read(given)]
        for at, name in enumerate(parameter["names"]):
            if parts:
                self.known[name] = parts[at % len(parts)]
            elif parameter["type"] in ("word", "expression"):
                self.known[name] = parameter["default"]
            else:  # another parameter's component, or an expression
                component = self.known.get(name.replace(parameter["name"], parameter["default"], 1))
                self.known[name] = self.evaluated(parameter["default"]) if component is None else component

    def evaluated(self, expression):
        there = {"ceil_div": lambda a, b: -(-a // b), "min": min, "max": max, "abs": abs}
        return eval(expression, {"__builtins__": {}, **there}, self.known)

    def parameter(self, name):
        """A parameter's components; one alone is no list."""
        names = next((p["names"] for p in self.about["parameters"] if p["name"] == name), None)
        if names is None:
            return None
        parts = [self.known[n] for n in names]
        return parts[0] if len(parts) == 1 else parts

    def tensor(self, name):
        """Shape, type and order in memory, as PyTorch is told them; None if the problem has no such tensor."""
        t = next((t for t in self.about["tensors"] if t["name"] == name), None)
        shape = [self.evaluated(str(extent)) for extent in t["shape"]] if t else [0]
        if 0 in shape:
            return None
        order = list(range(len(shape)))
        if "order" in t and self.known.get("layout") == "nhwc":
            order = [0, *order[2:], 1]
        return {"shape": shape, "type": self.known["type"] if "type_by" in t else t.get("type", "f32"), "order": order}

    def call(self):
        """PyTorch's function and its arguments; None if it has no function that computes the problem."""
        if self.operator == "elementwise":
            name = self.known["f"].partition("(")[0]
            return self.finished(name, {"input": "x"}, {"approximate": "none"} if name == "gelu" else {}, ("input",))
        if self.operator == "matmul":
            return self.product()
        if self.operator not in CALLS:
            return None
        c = CALLS[self.operator]
        values = dict(c.get("given", {}))
        for name, default in c.get("values", {}).items():
            value = self.parameter(NAMES.get(name, name))
            if value is not None and any(v != default or default is None for v in (value if isinstance(value, list) else [value])):
                values[name] = value
        if self.operator == "depthwise_conv2d":
            values["groups"] = self.known["c"]
        if "scale" in values:  # Go's power of -0.5; Python's may differ in the last bit
            values["scale"] = 1 / self.known["width"] ** 0.5
        made = self.finished(c.get("function", self.operator), c["tensors"], values, c.get("rows", ()))
        if c is ROW_NORM:
            values["normalized_shape"] = made["tensors"]["input"]["shape"][1:]
        return made

    def product(self):
        if self.known["transpose_b"] and not self.known["transpose_a"] and self.known["batch"] == 1:
            return self.finished("linear", {"input": "a", "weight": "b", "bias": "bias"}, {})
        made = self.finished("matmul", {"input": "a", "other": "b"}, {})
        for name, which in (("input", "a"), ("other", "b")):
            if self.known[f"transpose_{which}"]:
                shape = made["tensors"][name]["shape"]
                made["tensors"][name] |= {"shape": [shape[0], shape[2], shape[1]], "order": [0, 2, 1]}
        return made

    def finished(self, function, tensors, values, flat=()):
        """A call; tensors that are flat lose their last dimension where all of them have one of size 1."""
        made = {argument: t for argument, name in sorted(tensors.items()) if (t := self.tensor(name))}
        if flat and all(made[name]["shape"][-1] == 1 for name in flat):
            for name in flat:
                made[name] = {key: part[:-1] if key != "type" else part for key, part in made[name].items()}
        return {"function": function, "tensors": made, "values": values}


def started(program, *arguments, **options):
    """A Python program, in the python3 that autotune takes, whose answers on the descriptor 3 are read here."""
    return subprocess.Popen(["bash", "-c", 'exec python3 -c "$0" 3>&1 1>&2', program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            text=True, **options)


class Driver:
    """A process that does PyTorch's jobs one after another, as a search's does; another when it is gone."""

    def __init__(self, environment, log):
        self.environment, self.log, self.process = environment, log, None

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

    def compile(self, problem, math):
        """Has torch.compile compile a problem's call; the fault, if there is one."""
        tensors = {name: {**t, "file": "", "low": 0, "high": 1} for name, t in problem["tensors"].items()}
        said = self.ask({"ordinal": 0, "names": ["torch_compile"], "calls": [{**problem, "tensors": tensors}], "output": None, "atol": 0, "rtol": 0,
                         "flush": 0, "tf32": math != "fp32"})
        fault = said.get("fault") or " ".join(said.get("left", {}).values())
        if not said.get("fault"):
            self.ask({})
        return fault


def mode(problem, environment):
    """The math mode that PyTorch computes a convolution in, and why it is not known."""
    tensors = {t["name"]: problem.tensor(t["name"]) for t in problem.about["tensors"] if t["role"] in ("input", "weight")}
    there = {name: t for name, t in tensors.items() if t}
    job = {"ask": True, "operator": problem.operator, "source": (ROOT / "templates/include/torch_convolution.py").read_text(), "ordinal": 0,
           "file": "torch_convolution.py", "tensors": {name: t["shape"] if t else [0] for name, t in tensors.items()},
           "orders": {name: t["order"] for name, t in there.items() if t["order"] != sorted(t["order"])},
           "parameters": {p["name"]: [problem.known[n] for n in p["names"]] for p in problem.about["parameters"]}}
    process = started((ROOT / "tuner/torchmath/ask.py").read_text(), env=environment, stderr=subprocess.DEVNULL)
    try:
        said = json.loads(process.communicate(json.dumps(job) + "\n", LIMIT_S)[0] or "{}")
    except (subprocess.TimeoutExpired, ValueError):
        process.kill()
        return None, f"no answer in {LIMIT_S} s"
    nearest, second = [*sorted((e, rule) for rule, e in said.get("errors", {}).items()), (0, ""), (0, "")][:2]
    if nearest[1] in problem.about["math_modes"] and nearest[0] * CLEAR <= second[0]:
        return nearest[1], ""
    return None, said.get("fault", "PyTorch rounds in a way that has no mode")


def warm(problems, environment, processes, log, done):
    """Fills torch.compile's cache for problems by name, several at a time, and finds out the math modes of convolutions
    of floats. done(name, about) is called of each as it is ready, one at a time."""
    environment = environment | {"TORCHINDUCTOR_COMPILE_THREADS": "1"}  # here processes are the threads
    drivers, telling = queue.SimpleQueue(), threading.Lock()
    for _ in range(processes):
        drivers.put(Driver(environment, log))

    def one(name):
        problem, about = problems[name], {}
        if len(problem.about["math_modes"]) > 1 and problem.known["type"] == "f32" and problem.operator.startswith("conv") and problem.call():
            about["math"], why = mode(problem, environment)
            about |= {"math_unknown": why} if why else {}
        if call := problem.call():
            driver = drivers.get()
            try:
                about["fault"] = driver.compile(call, about.get("math") or "fp32")
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
