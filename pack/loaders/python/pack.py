"""What all operators of a pack share: the manifest, formulas, plans and launches through libcuda."""
import ast
import ctypes
import functools
import hashlib
import json
import math
import pathlib

import torch
from torch.autograd.function import once_differentiable

SCHEMA = "autotune/pack/1"
ROOT = pathlib.Path(__file__).absolute().parents[3]


class PackError(RuntimeError):
    """The pack is damaged, or cannot do what it is asked for."""


def read(path, most):
    """A file of the pack, which must be of at most so many bytes."""
    file = ROOT / path
    if ".." in pathlib.PurePosixPath(path).parts or not file.is_file() or file.stat().st_size > most:
        raise PackError(f"the pack {ROOT}: {path} is missing, too large or outside of it")
    return file.read_bytes()


def verified():
    """The manifest and the kernels' binaries. All of them are as they were packed."""
    manifest = json.loads(read("manifest.json", 64 << 20))
    if manifest.get("schema") != SCHEMA:
        raise PackError(f"the pack {ROOT} has the schema {manifest.get('schema')!r} and this loader reads {SCHEMA!r}")
    images = {}
    for kernel in manifest["entries"] + manifest["general"]:
        path = kernel["file"]
        want = manifest["files"][path]
        data = read(path, want["bytes"])
        if len(data) != want["bytes"] or hashlib.sha256(data).hexdigest() != want["sha256"]:
            raise PackError(f"the pack {ROOT}: {path} is not the file that was packed")
        images[path] = data + b"\0"  # which ends PTX
    return manifest, images


MANIFEST, IMAGES = verified()
OPERATORS = {o["name"]: o for o in MANIFEST["operators"]}
TORCH_TYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}


def ceil_div(a, b):
    return -(-a // b)


FUNCTIONS = {f.__name__: f for f in (abs, bool, ceil_div, float, math.gcd, int, max, min, round)}
NODES = (
    ast.Expression, ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.Compare, ast.IfExp, ast.Call, ast.Name, ast.Constant, ast.Tuple,
    ast.List, ast.boolop, ast.operator, ast.unaryop, ast.cmpop, ast.expr_context,
)


@functools.cache
def formula(text):
    """A formula as a tree and as code. It has numbers, names, operators and a few functions, and nothing else of Python."""
    tree = ast.parse(text, mode="eval")
    for node in ast.walk(tree):
        known = not isinstance(node, ast.Call) or getattr(node.func, "id", "") in FUNCTIONS and not node.keywords
        if not isinstance(node, NODES) or not known:
            raise PackError(f"the formula {text!r} has more than a formula may have")
    return tree.body, compile(tree, "a formula", "eval")


def evaluate(text, values):
    return eval(formula(text)[1], {"__builtins__": {}, **FUNCTIONS}, values)


def is_number(parameter):
    return parameter["type"] != "word"


class Operator:
    """An operator of the pack: what it takes, and how its kernels are chosen."""

    def __init__(self, spec):
        self.spec, self.name, self.tensors = spec, spec["name"], spec["tensors"]
        self.read = [t for t in self.tensors if t["role"] in ("input", "weight")]
        self.output = next(t for t in self.tensors if t["role"] == "output")
        self.parameters = {p["name"]: [c["name"] for c in p["components"]] for p in spec["parameters"] if is_number(p)}
        self.components = [c for names in self.parameters.values() for c in names]
        self.defaults = {c["name"]: c.get("default") for p in spec["parameters"] for c in p["components"]}
        self.word = next((t["type_by"] for t in self.tensors if t.get("type_by")), None)
        self.entries = [e for e in MANIFEST["entries"] if e["operator"] == self.name]
        self.general = {(g["math"], g["type"]): g for g in MANIFEST["general"] if g["operator"] == self.name}

    def need(self, condition, message):
        if not condition:
            raise ValueError(f"{self.name}: {message}")

    def settings(self, **given):
        """The parameters that are given, by their components' names."""
        values = {}
        for name, value in given.items():
            self.need(name in self.parameters, f"there is no parameter {name}")
            parts = tuple(value) if isinstance(value, (tuple, list)) else (value,) * len(self.parameters[name])
            self.need(len(parts) == len(self.parameters[name]), f"{name} is {value}; it has {len(self.parameters[name])} numbers")
            values.update(zip(self.parameters[name], parts))
        return values

    def complete(self, given, shapes):
        """All parameters: as given, as the tensors' shapes have them, or their defaults."""
        values = dict(given)
        for t, shape in zip(self.read, shapes):
            if t["name"] in self.parameters:
                values.setdefault(t["name"], int(shape is not None))
        values = self.with_dimensions(values, shapes)
        for name in self.components:
            if name not in values:
                self.need(self.defaults[name] is not None, f"{name} must be given")
                values[name] = evaluate(self.defaults[name], values)
        return tuple(int(values[name]) for name in self.components)

    def with_dimensions(self, values, shapes):
        """Adds what a tensor's extent is by itself: dimensions, and parameters that are not given."""
        values = dict(values)
        for t, shape in zip(self.read, shapes):
            if shape is None:
                continue
            self.need(len(shape) == len(t["shape"]), f"{t['name']} has the shape {tuple(shape)}; it should have {len(t['shape'])} dimensions")
            for text, extent in zip(t["shape"], shape):
                tree = formula(text)[0]
                if isinstance(tree, ast.IfExp) and isinstance(tree.test, ast.Name):
                    chosen = values.get(tree.test.id, evaluate(self.defaults.get(tree.test.id) or "False", values))
                    tree = tree.body if chosen else tree.orelse
                if isinstance(tree, ast.Name):
                    values.setdefault(tree.id, extent)
        return values

    def bind(self, settings, shapes, dtype, mode, arch):
        """All that formulas say of a problem, with the math mode. It is checked on the way."""
        values = self.with_dimensions(dict(zip(self.components, settings)), shapes)
        for name in self.spec["shape"]:
            values.setdefault(name, 1)
        word = next((w for w, known in TORCH_TYPES.items() if known == dtype), str(dtype))
        if self.word:
            values[self.word] = word
        types = {t.get("type") or word for t in self.tensors}
        self.need(types == {word}, f"its tensors are {dtype}; the kernels compute in {', '.join(sorted(types))}")
        for p in self.spec["parameters"]:
            for c in p["components"]:
                value = values[c["name"]]
                for holds, what in (
                    (p.get("min") is None or value >= p["min"], f"at least {p.get('min')}"),
                    (p.get("max") is None or value <= p["max"], f"at most {p.get('max')}"),
                    (not p.get("choices") or value in p["choices"], f"one of {p.get('choices')}"),
                    (is_number(p) or value in p["words"], f"one of {p.get('words')}"),
                ):
                    self.need(holds, f"{c['name']} must be {what}; it is {value}")
        values["arch"] = arch
        values["math"] = mode or evaluate(self.spec["math_auto"], values)
        self.need(values["math"] in self.spec["math"], f"there is no math mode {values['math']!r}; there are {self.spec['math']}")
        for d in self.spec["derived"]:
            values[d["name"]] = evaluate(d["expression"], values)
        for r in self.spec["requires"]:
            if not evaluate(r["that"], values):
                parts = r["because"].replace("}", "{").split("{")
                self.need(False, "".join(str(evaluate(part, values)) if i % 2 else part for i, part in enumerate(parts)))
        for t, shape in zip(self.read, shapes):
            want = self.shape(t, values)
            self.need(shape is not None or 0 in want, f"{t['name']} is missing; it should have the shape {want}")
            self.need(shape is None or tuple(shape) == want, f"{t['name']} has the shape {shape and tuple(shape)}; here it should have {want}")
        return values

    @staticmethod
    def shape(tensor, values):
        return tuple(evaluate(text, values) for text in tensor["shape"])

    def choose(self, values, mode, gpu):
        """The entry of the problem that the GPU can run, or else the general kernel."""
        known = self.spec["shape"] + [c["name"] for p in self.spec["parameters"] for c in p["components"]]

        def serves(e):
            same = all(e["values"][name] == values[name] for name in known)
            return same and (e["math"] == values["math"] or not mode and e.get("auto")) and gpu.runs(e)

        for step in self.spec["dispatch"]:
            if step["by"] == "exact":
                entry = max(filter(serves, self.entries), key=gpu.rank, default=None)
                if entry:
                    return entry
            general = self.general.get((values["math"], values.get(self.word, self.output.get("type"))))
            if step["by"] == "general" and general:
                return general
        raise PackError(f"{self.name}: no kernel of the pack is for this problem in math mode {values['math']} on {gpu.name}")


def target(name):
    """An architecture's number, and whether its code runs on no later one."""
    digits = name.removeprefix("sm_")
    return int(digits.rstrip("abcdefghijklmnopqrstuvwxyz")), not digits.isdigit()


@functools.cache
def libcuda():
    lib = ctypes.CDLL("libcuda.so.1")
    lib.cuLaunchKernel.argtypes = [ctypes.c_void_p] + [ctypes.c_uint] * 7 + [ctypes.c_void_p] * 3
    return lib


def check(call, code):
    if code:
        text = ctypes.c_char_p()
        libcuda().cuGetErrorString(code, ctypes.byref(text))
        raise PackError(f"{call}: {(text.value or b'unknown error').decode()} ({code})")


class Attribute(ctypes.Structure):
    _fields_ = [("id", ctypes.c_uint), ("unused", ctypes.c_uint), ("value", ctypes.c_uint * 16)]


class Config(ctypes.Structure):
    _fields_ = [("sizes", ctypes.c_uint * 7), ("stream", ctypes.c_void_p), ("attributes", ctypes.c_void_p), ("count", ctypes.c_uint)]


class GPU:
    """A GPU, by its number, with the kernels that it has loaded."""

    def __init__(self, index):
        about = torch.cuda.get_device_properties(index)
        self.index, self.name, self.arch = index, about.name, 10 * about.major + about.minor
        self.shared = getattr(about, "shared_memory_per_block_optin", 48 << 10)
        self.kernel = functools.cache(self.load)

    def runs(self, entry):
        arch, own = target(entry["target"])
        fits = all(l["shared_bytes"] <= self.shared and (not l.get("cooperative") or entry["device"] == self.name) for l in entry["launches"])
        return fits and (arch == self.arch or not own and arch // 10 == self.arch // 10 and arch < self.arch)

    def rank(self, entry):
        return entry["device"] == self.name and "time_ms" in entry, target(entry["target"])

    def current(self):
        """Makes the GPU's context that of this thread, as PyTorch does at a thread's first call of CUDA's."""
        context, device = ctypes.c_void_p(), ctypes.c_int()
        check("cuInit", libcuda().cuInit(0))
        check("cuDeviceGet", libcuda().cuDeviceGet(ctypes.byref(device), self.index))
        check("cuDevicePrimaryCtxRetain", libcuda().cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
        check("cuCtxSetCurrent", libcuda().cuCtxSetCurrent(context))

    @functools.cache
    def library(self, file):
        self.current()
        module, image = ctypes.c_void_p(), IMAGES[file]
        if hasattr(libcuda(), "cuLibraryLoadData"):
            check(f"load {file}", libcuda().cuLibraryLoadData(ctypes.byref(module), image, None, None, 0, None, None, 0))
        else:
            check(f"load {file}", libcuda().cuModuleLoadData(ctypes.byref(module), image))
        return module

    def load(self, file, name, shared):
        cuda, library, kernel, function = libcuda(), self.library(file), ctypes.c_void_p(), ctypes.c_void_p()
        if hasattr(cuda, "cuLibraryLoadData"):
            check(f"find {name}", cuda.cuLibraryGetKernel(ctypes.byref(kernel), library, name.encode()))
            check(f"find {name}", cuda.cuKernelGetFunction(ctypes.byref(function), kernel))
        else:
            check(f"find {name}", cuda.cuModuleGetFunction(ctypes.byref(function), library, name.encode()))
        if shared > 48 << 10:
            check(f"give {name} {shared} bytes", cuda.cuFuncSetAttribute(function, 8, shared))
        if hasattr(cuda, "cuFuncLoad"):  # now, and not within a captured stream
            check(f"load {name}", cuda.cuFuncLoad(function))
        return function


@functools.cache
def gpu(index):
    return GPU(index)


class Step:
    """One launch: a function that takes the pointers' and sizes' array, and a stream."""

    def __init__(self, device, file, launch, places, sizes=()):
        self.function = device.kernel(file, launch["entry"], launch["shared_bytes"])
        self.sizes = (*launch["grid"], *launch["block"], launch["shared_bytes"])
        self.offsets = [8 * place for place in places]
        self.taken, self.last = ctypes.c_void_p * (len(places) + bool(sizes) * 2), (ctypes.c_int64 * len(sizes))(*sizes)
        wanted = {2: [launch.get("cooperative", 0)], 4: launch.get("cluster", [0]), 6: [launch.get("dependent", 0)]}
        wanted = {number: value for number, value in wanted.items() if any(value)}
        self.attributes = (Attribute * len(wanted))(*(Attribute(n, 0, (ctypes.c_uint * 16)(*map(int, v))) for n, v in wanted.items()))

    def __call__(self, pointers, stream):
        addresses = [pointers + offset for offset in self.offsets]
        if self.last:  # a struct, and how many elements are written
            addresses += (ctypes.addressof(self.last), ctypes.addressof(self.last) + 8 * (len(self.last) - 1))
        taken = self.taken(*addresses)
        if not self.attributes:
            return libcuda().cuLaunchKernel(self.function, *self.sizes, stream, taken, None)
        config = Config(self.sizes, stream, ctypes.addressof(self.attributes), len(self.attributes))
        return libcuda().cuLaunchKernelEx(ctypes.byref(config), self.function, taken, None)


class Plan:
    """A problem with the kernel that was chosen for it, loaded."""

    def __init__(self, operator, device, settings, mode, dtype, shapes):
        self.gpu = gpu(device)
        values = operator.bind(settings, shapes, dtype, mode, self.gpu.arch)
        self.output = operator.shape(operator.output, values)
        self.kernel = operator.choose(values, mode, self.gpu)
        names = [t["name"] for t in operator.read] + [operator.output["name"]]
        self.places, self.room = [], 0  # of workspaces, in the one that holds all
        for w in self.kernel.get("workspaces", ()):
            self.places.append(self.room if w["bytes"] else None)
            self.room += ceil_div(w["bytes"], 256) * 256
        self.array = ctypes.c_void_p * (len(names) + len(self.places))
        if "launches" in self.kernel:
            names += [w["name"] for w in self.kernel["workspaces"]]
            self.steps = [Step(self.gpu, self.kernel["file"], l, [names.index(name) for name in l["arguments"]]) for l in self.kernel["launches"]]
            return
        elements = math.prod(self.output)
        launch = {"entry": self.kernel["entry"], "grid": (min(ceil_div(elements, 256), 1 << 20), 1, 1), "block": (256, 1, 1), "shared_bytes": 0}
        sizes = [int(values[name]) for name in self.kernel["sizes"]] + [elements]
        self.steps = [Step(self.gpu, self.kernel["file"], launch, range(len(names)), sizes)]

    def run(self, tensors, workspace, stream):
        pointers = self.array(*[None if t is None else t.data_ptr() or None for t in tensors])
        for i, place in enumerate(self.places, len(tensors)):
            pointers[i] = None if place is None else workspace.data_ptr() + place
        for step in self.steps:
            code = step(ctypes.addressof(pointers), stream)
            if code == 201:  # this thread has called nothing of CUDA's yet
                self.gpu.current()
                code = step(ctypes.addressof(pointers), stream)
            check("launch", code)


@functools.lru_cache(maxsize=4096)
def prepared(operator, device, settings, mode, dtype, *shapes):
    return Plan(operator, device, settings, mode, dtype, shapes)


def dense(t):
    """A tensor as kernels take it: contiguous, and aligned as memory from cudaMalloc is."""
    t = t.contiguous()
    return t if t.data_ptr() % 256 == 0 else t.clone()


def compute(operator, tensors, settings, mode):
    """The output, on the current stream of the first tensor's GPU."""
    first = tensors[0]
    device = first.get_device()
    for name, t in zip(operator.read, tensors):
        if t is not None and (t.get_device() != device or device < 0 or t.dtype != first.dtype):
            operator.need(False, f"{name['name']} is {t.dtype} on {t.device}; all tensors must be of one type, on one GPU")
    plan = prepared(operator, device, tuple(settings), mode, first.dtype, *(None if t is None else t.shape for t in tensors))
    if device != torch.cuda.current_device():
        with torch.cuda.device(device):
            return compute(operator, tensors, settings, mode)
    y = first.new_empty(plan.output)
    kept = first.new_empty(plan.room, dtype=torch.uint8) if plan.room else None  # until the launches are on the stream
    taken = [None if t is None else dense(t) for t in tensors]
    plan.run([*taken, y], kept, torch._C._cuda_getCurrentRawStream(device))
    return y


def registered(operator, namespace):
    """The operator as PyTorch's dispatcher knows it."""
    library = torch.library.Library(namespace, "FRAGMENT")
    tensors = ", ".join(f"Tensor{'?' if i else ''} {t['name']}_" for i, t in enumerate(operator.read))
    library.define(f"{operator.name}({tensors}, int[] settings, str mode) -> Tensor")

    def fake(*arguments):
        *tensors, settings, mode = arguments
        arch = gpu(torch.cuda.current_device()).arch if torch.cuda.is_available() else 90
        values = operator.bind(settings, [None if t is None else t.shape for t in tensors], tensors[0].dtype, mode, arch)
        return tensors[0].new_empty(operator.shape(operator.output, values))

    library.impl(operator.name, lambda *a: compute(operator, a[:-2], a[-2], a[-1]), "CUDA")
    torch.library.register_fake(f"{namespace}::{operator.name}", fake, lib=library)
    return library, getattr(getattr(torch.ops, namespace), operator.name).default


def give_names(name, module):
    """Gives an operator's module the names that docs/pytorch-export.md tells of."""
    operator = Operator(OPERATORS[name])
    digest = hashlib.sha256((str(ROOT) + __name__).encode()).hexdigest()[:8]
    library, call = registered(operator, f"autotune_{MANIFEST['name']}_{digest}")
    tuned = {n: int(v) for n, v in operator.entries[0]["values"].items() if not isinstance(v, str)} if operator.entries else {}

    class Differentiable(torch.autograd.Function):
        """The kernel forwards, and backwards the gradient of PyTorch's own function."""

        @staticmethod
        def forward(ctx, settings, mode, *tensors):
            ctx.settings = settings
            ctx.save_for_backward(*tensors)
            return call(*tensors, settings, mode)

        @staticmethod
        @once_differentiable
        def backward(ctx, gradient):
            named = dict(zip(operator.components, ctx.settings))
            return None, None, *module["gradients"](named, ctx.needs_input_grad[2:], gradient, *ctx.saved_tensors)

    def run(settings, *tensors, mode=""):
        """The output, with a gradient where one is asked for."""
        values = [int(settings[name]) for name in operator.components]
        if torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in tensors):
            return Differentiable.apply(values, mode, *tensors)
        return call(*tensors, values, mode)

    def function(*tensors, mode="", **parameters):
        tensors += (None,) * (len(operator.read) - len(tensors))
        shapes = [None if t is None else t.shape for t in tensors]
        return run(dict(zip(operator.components, operator.complete(operator.settings(**parameters), shapes))), *tensors, mode=mode)

    def settings(**given):
        values = operator.settings(**given)
        for component in operator.components:
            if component not in values:
                default = operator.defaults[component]
                values[component] = int(tuned[component] if default is None else evaluate(default, values))
        return values

    function.__name__ = name
    function.__doc__ = f"{operator.spec.get('summary', name)} Parameters: {', '.join(operator.parameters)}."
    module.update({
        "OPERATOR": name, "PARAMETERS": operator.parameters, "TUNED": tuned, "LIBRARY": library, "CALL": call, "function": function, "run": run,
        "RANKS": [len(t["shape"]) for t in operator.read], "DTYPE": torch.get_default_dtype(), "settings": settings,
        "each": lambda values, parameter: [values[c] for c in operator.parameters[parameter]], "torch": torch, "nn": torch.nn,
        "tuned": lambda parameter: tuple(tuned[c] for c in operator.parameters[parameter]),
    })
