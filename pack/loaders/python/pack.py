"""Code that all operators of a pack share: their problems, plans and launches through libcuda."""
import ctypes
import functools
import math
import re
import struct
import warnings

import torch

from .formulas import FORMULAS, ceil_div
from .manifest import BYTES, IMAGES, MANIFEST, OPERATORS, ROOT, PackError

TYPES = {
    "f32": "float32", "bf16": "bfloat16", "f16": "float16", "f64": "float64", "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2",
    "i64": "int64", "i32": "int32", "i16": "int16", "i8": "int8", "u64": "uint64", "u32": "uint32", "u16": "uint16", "u8": "uint8", "bool": "bool",
}
TORCH_TYPES = {word: getattr(torch, name) for word, name in TYPES.items() if hasattr(torch, name)}
SHAPED, LAST = "nchw", "nhwc"  # orders in memory: that of the shape, or with the second dimension last
FORMATS = {4: torch.channels_last, 5: torch.channels_last_3d}


def lies_last(t):
    """Whether a tensor's second dimension lies last in memory, against the order of its shape."""
    if t.is_contiguous() or t.dim() < 3:
        return False
    form = FORMATS.get(t.dim())
    return t.is_contiguous(memory_format=form) if form else t.movedim(1, -1).is_contiguous()


def last_strides(shape):
    """Returns the strides of a tensor whose second dimension lies last in memory."""
    strides, step = [1] * len(shape), max(shape[1], 1)
    for axis in (*range(len(shape) - 1, 1, -1), 0):
        strides[axis], step = step, step * max(shape[axis], 1)
    return strides


def empty(like, shape, dtype, strides=None):
    """Makes a tensor without values on the GPU of another tensor."""
    return like.new_empty_strided(shape, strides, dtype=dtype) if strides else like.new_empty(shape, dtype=dtype)


def alike(a, b):
    """Whether two values are equal. Libraries may compute powers such as `width ** -0.5` with other last digits."""
    return a == b or isinstance(a, float) and isinstance(b, float) and math.isclose(a, b, rel_tol=1e-12)


def resolved(answer, own):
    """Returns an answer's shape. Negative extents are replaced by those of the operator's output, from the end."""
    return own if answer is None else tuple(own[i - len(answer)] if n < 0 else n for i, n in enumerate(answer))


def bits(number):
    """Returns the bits of a floating-point number as an integer."""
    return int.from_bytes(struct.pack("<d", number + 0.0), "little", signed=True)


class Beyond(PackError, ArithmeticError):
    """A formula that cannot be computed."""


CHOICE, QUOTIENT = re.compile(r"((?:(?! if ).)+) if (\w+) else (.+)"), re.compile(r"(\w+) // (\w+)")
ATOM = re.compile(r"[A-Za-z_]\w*|0")


def chosen(text):
    """Splits a formula such as `a if flag else 0` into flag, a and 0. A formula that is only a name counts as the
    name for a true flag, without a flag."""
    choice = CHOICE.fullmatch(text or "")
    yes, flag, no = choice.groups() if choice else (text or "", None, "")
    return flag, yes if ATOM.fullmatch(yes) and (flag or yes != "0") else None, no if ATOM.fullmatch(no) else None


def evaluate(text, values):
    """Computes a formula of the manifest with the code that was packed for it."""
    try:
        return FORMULAS[text](values)
    except (ArithmeticError, TypeError, ValueError, LookupError) as error:
        raise Beyond(f"the formula {text!r:.60} cannot be computed: {error!r}") from None


class Operator:
    """An operator of the pack: its tensors and parameters, and how a kernel is chosen for a problem."""

    def __init__(self, spec):
        self.spec, self.name, self.tensors = spec, spec["name"], spec["tensors"]
        self.read = [t for t in self.tensors if t["role"] != "output"]
        self.outputs = [t for t in self.tensors if t["role"] == "output"]
        self.renewed = [i for i, t in enumerate(self.read) if t["role"] == "inout"]  # inputs that kernels also write
        self.places = {t["name"]: i for i, t in enumerate((*self.read, *self.outputs))}  # indexes of pointers
        self.teller = next((i for i, t in enumerate(self.read) if t.get("type_by")), 0)  # the tensor whose type is the problem's
        self.word = next((t["type_by"] for t in self.tensors if t.get("type_by")), None)
        self.order = next((t["order_by"] for t in self.tensors if t.get("order_by")), None)
        of_tensors = (self.word, self.order)  # parameters that tensors determine
        self.parameters = {p["name"]: [c["name"] for c in p["components"]] for p in spec["parameters"] if p["name"] not in of_tensors}
        self.specs = {c["name"]: p for p in spec["parameters"] for c in p["components"] if p["name"] not in of_tensors}
        self.components = list(self.specs)
        self.defaults = {c["name"]: c.get("default") for p in spec["parameters"] for c in p["components"]}
        self.entries = [e for e in MANIFEST["entries"] if e["operator"] == spec["name"]]
        self.families = [f for f in MANIFEST.get("families", ()) if f["operator"] == spec["name"]]
        self.general = [g for g in MANIFEST["general"] if g["operator"] == spec["name"]]
        self.calls = []  # the folds of PyTorch functions; settings may end with an index here
        self.orders = sorted({e["values"][self.order] for e in self.entries + self.families}) if self.order else [SHAPED]

    def need(self, condition, message):
        if not condition:
            raise ValueError(f"{self.name}: {message}")

    def settings(self, **given):
        """Returns the given parameters by the names of their components."""
        values = {}
        for name, value in given.items():
            self.need(name in self.parameters, f"there is no parameter {name}")
            parts = tuple(value) if isinstance(value, (tuple, list)) else (value,) * len(self.parameters[name])
            self.need(len(parts) == len(self.parameters[name]), f"{name} is {value}; it has {len(self.parameters[name])} numbers")
            values.update(zip(self.parameters[name], parts))
        return values

    def coded(self, name, value):
        """Returns a component as an integer: a boolean as 0 or 1, a float by its bits, a word by its index."""
        spec = self.specs[name]
        if spec["type"] == "word":
            value = str(value).replace(" ", "")
            self.need(value in spec["words"], f"{name} must be one of {spec['words']}; it is {value}")
            return spec["words"].index(value)
        if spec["type"] == "float":
            return bits(float(value))
        self.need(math.isfinite(value) and int(value) == value, f"{name} must be an integer; it is {value}")
        return int(value)

    def decoded(self, settings):
        """Returns the components of settings by their names."""
        values = dict(zip(self.components, settings))
        for name, value in values.items():
            kind = self.specs[name]["type"]
            if kind == "word":
                values[name] = self.specs[name]["words"][value]
            elif kind == "float":
                values[name] = struct.unpack("<d", value.to_bytes(8, "little", signed=True))[0]
        return values

    def complete(self, given, shapes):
        """Returns all parameters as integers: the given ones, those that follow from tensors, and defaults."""
        values = dict(given)
        for t, shape in zip(self.read, shapes):
            flag, _, other = chosen((t["shape"] or ["0"])[0])  # for example `length if affine else 0`
            if flag in self.specs and other == "0":
                values.setdefault(flag, int(shape is not None))
        values = self.with_dimensions(values, shapes)
        for name in self.components:
            if name not in values:
                self.need(self.defaults[name] is not None, f"{name} must be given")
                values[name] = evaluate(self.defaults[name], values)
        return tuple(self.coded(name, values[name]) for name in self.components)

    def with_dimensions(self, values, shapes):
        """Adds dimensions and missing parameters that are a tensor's extent by themselves."""
        values = dict(values)
        for t, shape in zip(self.read, shapes):
            if shape is None:
                continue
            self.need(len(shape) == len(t["shape"]), f"{t['name']} has the shape {tuple(shape)}; it should have {len(t['shape'])} dimensions")
            for text, extent in zip(t["shape"], shape):
                flag, name, other = chosen(text)
                if flag:
                    default = self.defaults.get(flag)
                    name = name if values.get(flag, default and evaluate(default, values)) else other
                if name and name != "0":
                    values.setdefault(name, extent)
                    self.divide_back(values, name, extent)
        return values

    def divide_back(self, values, name, extent):
        """Adds a parameter that a derived extent equals, as kernel_w, or divides, as c_out in c_out // groups."""
        text = next((d["value"] for d in self.spec["derived"] if d["name"] == name), None)
        flag, other, _ = chosen(text)
        if other and not flag:
            values.setdefault(other, extent)
        quotient = QUOTIENT.fullmatch(text or "")
        if quotient and quotient[2] in values:
            values.setdefault(quotient[1], extent * values[quotient[2]])

    def bind(self, settings, shapes, dtype, mode, arch, order=SHAPED):
        """Computes all formulas for a problem, including the math mode, and checks the problem."""
        values = self.with_dimensions(self.decoded(settings), shapes)
        for name in self.spec["shape"]:
            values.setdefault(name, 1)
        word = next((w for w, known in TORCH_TYPES.items() if known == dtype), str(dtype))
        if self.word:
            values[self.word] = word
        if self.order:
            values[self.order] = order
        kind = self.types(self.read, dtype)[self.teller]
        self.need(dtype == kind, f"{self.read[self.teller]['name']} is {dtype}; it must be {kind}")
        for p in self.spec["parameters"]:
            least, most, one_of = p.get("min"), p.get("max"), p["words"] if p["type"] == "word" else p.get("choices")
            for name in (c["name"] for c in p["components"]):
                value = values[name]
                self.need(least is None or value >= least, f"{name} must be at least {least}; it is {value}")
                self.need(most is None or value <= most, f"{name} must be at most {most}; it is {value}")
                self.need(not one_of or value in one_of, f"{name} must be one of {one_of}; it is {value}")
                self.need(p["type"] != "float" or math.isfinite(value), f"{name} must be a number; it is {value}")
        values["arch"] = arch
        values["math"] = mode or evaluate(self.spec["math_auto"], values)
        self.need(values["math"] in self.spec["math"], f"there is no math mode {values['math']!r}; there are {self.spec['math']}")
        for d in self.spec["derived"]:
            values[d["name"]] = evaluate(d["value"], values)
        for r in self.spec["requires"]:
            if not evaluate(r["that"], values):
                parts = r["because"].replace("}", "{").split("{")
                self.need(False, "".join(str(evaluate(part, values)) if i % 2 else part for i, part in enumerate(parts)))
        for i, (t, shape) in enumerate(zip(self.read, shapes)):
            want = self.shape(t, values)
            spare = i in self.renewed and values.get("training")  # the tensor is only written
            self.need(shape is not None or 0 in want or spare, f"{t['name']} is missing; it should have the shape {want}")
            self.need(shape is None or tuple(shape) == want, f"{t['name']} has the shape {shape and tuple(shape)}; here it should have {want}")
        return values

    def made_for(self, settings):
        """Returns the entries and families that were made for these parameters, whatever the dimensions are."""
        known = self.decoded(settings)
        return [e for e in self.entries + self.families if all(alike(e["values"].get(name, value), value) for name, value in known.items())]

    @staticmethod
    def shape(tensor, values):
        return tuple(evaluate(text, values) for text in tensor["shape"])

    @staticmethod
    def types(tensors, dtype):
        """Returns PyTorch's types of tensors. Some tensors have the problem's type."""
        return [TORCH_TYPES[t["type"]] if t.get("type") else dtype for t in tensors]

    def takes(self, dtype):
        """Whether problems can have this type."""
        words = next((p["words"] for p in self.spec["parameters"] if p["name"] == self.word), [self.read[self.teller].get("type")])
        return dtype in map(TORCH_TYPES.get, words)

    def choose(self, values, mode, gpu):
        """Returns the tuned kernel of the problem that the GPU can run, or else a family's, or the general one."""
        parameters = [c["name"] for p in self.spec["parameters"] for c in p["components"]]

        def may(e, names):
            same = all(alike(e["values"][name], values[name]) for name in names)
            return same and (e["math"] == values["math"] or not mode and e.get("auto")) and gpu.runs(e)

        def has(f):
            ranges = zip(self.spec["shape"], f["range"])
            return may(f, parameters) and all(any(first <= values[name] <= last for first, last in spans) for name, spans in ranges)

        entry = max((e for e in self.entries if may(e, self.spec["shape"] + parameters)), key=gpu.rank, default=None)
        if entry:
            return entry
        family = max(filter(has, self.families), key=gpu.rank, default=None)
        if kernel := family and by_tree(family, values, gpu):
            return kernel
        wanted = values["math"], values.get(self.word, self.read[0].get("type"))
        fits = (g for g in self.general if all(values[name] == value for name, value in g.get("values", {}).items()))
        return next((g for g in fits if (g["math"], g["type"]) == wanted), None)

    def decide(self, settings, shapes, dtype, mode, gpu, last):
        """Returns the values and the kernel of a problem: first choice is a tuned kernel for the tensors' order in
        memory, then one for the other order, then the general one. last says whether the first tensor has the second
        dimension last."""
        found = []
        for order in dict.fromkeys((self.lying(last), *self.orders)):
            values = self.bind(settings, shapes, dtype, mode, gpu.arch, order)
            kernel = self.choose(values, mode, gpu)
            if kernel and "launches" in kernel:
                return values, kernel
            found += [(values, kernel)] * bool(kernel)
        if not found:
            raise PackError(f"{self.name}: no kernel of the pack is for this problem in math mode {values['math']} on {gpu.name}")
        return found[0]

    def lying(self, last):
        """Returns the order in memory for which kernels are tried first."""
        return LAST if last and LAST in self.orders else SHAPED

    def lasts(self, values):
        """Returns for each input and output whether its second dimension lies last in memory."""
        return [bool(t.get("order_by")) and values[self.order] == LAST and len(t["shape"]) > 2 for t in (*self.read, *self.outputs)]

    def taken(self, settings, shapes):
        """Returns settings and shapes in the kernels' form, and the shape of the output for resolved()."""
        if len(settings) == len(self.components):
            return settings, shapes, None
        return self.calls[settings[-1]](settings, shapes)

    def results(self, values, dtype, answer=None):
        """Returns the shape, type and strides of each output. The strides of a contiguous output are None."""
        shapes, lasts = [resolved(answer, self.shape(t, values)) for t in self.outputs], self.lasts(values)[len(self.read):]
        return [(s, kind, last_strides(s) if last else None) for s, kind, last in zip(shapes, self.types(self.outputs, dtype), lasts)]


EAGER, COMPILED = "torch_eager", "torch_compile"  # baselines of a search: PyTorch's own call and torch.compile's
PLAIN, GRAPH, COMPILE = "plain", "graph", "compile"  # how a program runs a model

# The most that a call of the pack may cost the host beyond a PyTorch call, in milliseconds.
HOST_MS = 0.005


def why_slow(kernel, gpu, run=PLAIN):
    """Returns why a kernel is not known to make the program faster than PyTorch on this model of GPU, or None if it
    is. If run is None, the program asked for the kernel, which then is refused only if it was slower."""
    baselines = kernel.get("evidence", {}).get("baselines", {})
    ways = (EAGER, COMPILED) if run == COMPILE else (EAGER,)
    beside = [baselines[way] for way in ways if "speedup_ci95" in baselines.get(way, {})]
    slower = any(b["speedup_ci95"][0] <= 1 for b in beside)
    if run is None and not slower:
        return None
    if len(beside) < len(ways):
        return f"nothing tells whether its kernels are faster than PyTorch: search with --baseline {'torch,torch-compile' if run == COMPILE else 'torch'}, or give replace the model's inputs"
    if kernel["device"] != gpu.name or "time_ms" not in kernel:
        return f"its kernels were measured on {kernel['device']}, and this is {gpu.name}: give replace the model's inputs"
    if slower:
        return "no kernel for its parameters was faster than PyTorch"
    least = min((b["speedup_ci95"][0] - 1) * kernel["time_ms"]["median"] for b in beside)
    if run == PLAIN and least <= HOST_MS:
        return f"its kernels save {1e3 * least:.1f} us, and a call may take the host {1e3 * HOST_MS:.0f} us more: replace(model, run=\"graph\") is for CUDA graphs"
    return None


def by_tree(family, values, gpu):
    """Returns the kernel that a family's tree chooses for a problem, as an entry, or None for the general kernel."""
    try:
        node = family["tree"]
        while "if" in node:
            node = node["then"] if evaluate(node["if"], values) else node["else"]
        kernels = (variant(family, family["entries"][at], values) for at in node.get("entries", ()))
        return next((kernel for kernel in kernels if kernel and gpu.runs(kernel)), None)
    except ArithmeticError:
        return None


ANY = -1 << 63, (1 << 63) - 1
BOUNDS = {"grid": (1, (1 << 31) - 1), "block": (1, 1024), "cluster": (1, 16), "shared_bytes": (0, 1 << 20)}


def variant(family, entry, values):
    """Returns an entry of a family with the numbers for a problem, or None if the entry does not serve it."""
    values = dict(values)

    def number(text, least, most):
        if isinstance(text, list):
            return [number(one, least, most) for one in text]
        n = evaluate(text, values)
        if not isinstance(n, int) or not least <= n <= most:
            raise ArithmeticError(f"{text} is {n}")
        return n

    def named(some, least, most):
        return [{"name": one["name"], "value": number(one["value"], least, most)} for one in some]

    try:
        for d in entry["define"]:
            values[d["name"]] = evaluate(d["value"], values)
        if not all(evaluate(text, values) for text in entry["where"]):
            return None
        made = [launch for launch in entry["launches"] if "when" not in launch or evaluate(launch["when"], values)]
        launches = [{**launch, **{key: number(launch[key], *bounds) for key, bounds in BOUNDS.items() if key in launch},
                     "dependent": launch.get("dependent", False) and launch is not made[0],
                     "maps": [{"at": m["at"], "words": number(m["words"], *ANY)} for m in launch.get("maps", ())]} for launch in made]
        sizes = b"".join(int(values[name]).to_bytes(4, "little", signed=True) for name in entry["sizes"]["names"])
        return launches and {
            "target": family["target"], "device": family["device"], "file": entry["file"], "patch": (entry["sizes"]["at"], sizes),
            "launches": launches, "workspaces": named(entry["workspaces"], 0, 1 << 50), "scalars": named(entry.get("scalars", ()), *ANY),
        }
    except ArithmeticError:
        return None


def target(name):
    """Returns an architecture's number, and whether its code runs on no later architecture."""
    digits = name.removeprefix("sm_")
    return int(digits.rstrip("abcdefghijklmnopqrstuvwxyz")), not digits.isdigit()


@functools.cache
def libcuda():
    return ctypes.CDLL("libcuda.so.1")  # without argument types, whose conversion takes as long as a launch


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
    """A GPU with the kernels that were loaded on it."""

    def __init__(self, index):
        about = torch.cuda.get_device_properties(index)
        self.index, self.name, self.arch = index, about.name, 10 * about.major + about.minor
        self.shared = getattr(about, "shared_memory_per_block_optin", 48 << 10)
        self.kernel, self.context = functools.cache(self.load), ctypes.c_void_p()
        if not any(map(self.runs, MANIFEST["entries"] + MANIFEST.get("families", []))):
            warnings.warn(f"the pack {ROOT}: none of its kernels was made for {self.name}, so the general ones run, which are slow")

    def runs(self, entry):
        arch, own = target(entry["target"])
        fits = all(l["shared_bytes"] <= self.shared and (not l.get("cooperative") or entry["device"] == self.name) for l in entry.get("launches", ()))
        return fits and (arch == self.arch or not own and arch // 10 == self.arch // 10 and arch < self.arch)

    def rank(self, entry):
        return entry["device"] == self.name and ("time_ms" in entry or "regret" in entry), target(entry["target"])

    def current(self):
        """Makes the GPU's context current in this thread, as PyTorch does at a thread's first CUDA call."""
        context, device = self.context, ctypes.c_int()
        check("cuInit", libcuda().cuInit(0))
        check("cuDeviceGet", libcuda().cuDeviceGet(ctypes.byref(device), self.index))
        check("cuDevicePrimaryCtxRetain", libcuda().cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
        check("cuCtxSetCurrent", libcuda().cuCtxSetCurrent(context))

    @functools.cache
    def opened(self, file, patch):
        """Loads a file, after replacing the bytes at an offset by the sizes that a family's kernel reads."""
        self.current()
        at, sizes = patch
        module, image = ctypes.c_void_p(), IMAGES[file]
        if not 0 <= at < len(image) - len(sizes):
            raise PackError(f"the pack {ROOT}: {file} has no {len(sizes)} bytes at {at}")
        image = image[:at] + sizes + image[at + len(sizes):]
        check(f"load {file}", libcuda().cuModuleLoadData(ctypes.byref(module), image))
        return module, image  # the image must live as long as the module

    def load(self, file, patch, name, shared):
        cuda, (module, _), function = libcuda(), self.opened(file, patch), ctypes.c_void_p()
        check(f"find {name}", cuda.cuModuleGetFunction(ctypes.byref(function), module, name.encode()))
        if shared:  # more than 48 KB must be allowed; the kernel's static memory counts, too
            check(f"give {name} {shared} bytes", cuda.cuFuncSetAttribute(function, 8, shared))
        if hasattr(cuda, "cuFuncLoad"):  # load the kernel now, not while a stream is captured
            check(f"load {name}", cuda.cuFuncLoad(function))
        return function


@functools.cache
def gpu(index):
    return GPU(index)


class Step:
    """One launch of a plan: a kernel, its sizes, and the indexes of the pointers that it takes."""

    def __init__(self, device, kernel, launch, places, sizes=()):
        self.function = device.kernel(kernel["file"], kernel.get("patch", (0, b"")), launch["entry"], launch["shared_bytes"])
        self.sizes = (*launch["grid"], *launch["block"], launch["shared_bytes"])
        self.places, self.last = list(places), [int(n) for n in sizes]
        wanted = {2: [launch.get("cooperative", 0)], 4: launch.get("cluster", [0]), 6: [launch.get("dependent", 0)]}
        self.attributes = {number: [*map(int, value), 0, 0][:3] for number, value in wanted.items() if any(value) and value != [1] * 3}


class Frame:
    """The arguments of one call of a plan: the pointers, and for each launch the addresses of its arguments."""

    def __init__(self, plan):
        self.pointers = (ctypes.c_uint64 * (plan.count + len(plan.behind)))()
        self.pointers[plan.count:] = plan.behind
        self.kept, self.launches = [], []
        base = ctypes.addressof(self.pointers)
        for step in plan.steps:
            taken = [base + 8 * place for place in step.places]
            last = (ctypes.c_int64 * len(step.last))(*step.last)
            if step.last:  # the struct of sizes, and the number of elements
                taken += (ctypes.addressof(last), ctypes.addressof(last) + 8 * (len(last) - 1))
            taken = (ctypes.c_void_p * len(taken))(*taken)
            attributes = [Attribute(n, 0, (ctypes.c_uint * 16)(*value)) for n, value in step.attributes.items()]
            attributes = (Attribute * len(attributes))(*attributes)
            config = Config(step.sizes, None, ctypes.addressof(attributes), len(attributes))
            self.kept += [last, attributes]
            self.launches.append((config, (ctypes.byref(config), step.function, taken, None)))


class Plan:
    """A problem with the loaded kernel that was chosen for it."""

    def __init__(self, operator, device, settings, mode, dtype, shapes, last=False):
        self.gpu, self.driver = gpu(device), libcuda()
        settings, shapes, answer = operator.taken(settings, shapes)
        values, self.kernel = operator.decide(settings, shapes, dtype, mode, self.gpu, last)
        self.types, self.outputs = operator.types(operator.read, dtype), operator.results(values, dtype, answer)
        self.lasts = operator.lasts(values)[:len(self.types)]
        given = len(operator.read) + len(operator.outputs)
        spare = [t for t, shape in zip(operator.read, shapes) if shape is None and t["role"] == "inout"]
        spare = [{"name": t["name"], "value": math.prod(operator.shape(t, values)) * BYTES} for t in spare]
        workspaces = [*self.kernel.get("workspaces", ()), *spare]
        scalars = self.kernel.get("scalars", ())
        places = {**operator.places, **{known["name"]: given + i for i, known in enumerate((*workspaces, *scalars))}}
        self.count = given + len(workspaces)  # number of pointers
        self.behind = [s["value"] for s in scalars]  # scalars and words of tensor maps, which follow the pointers
        self.maps = []  # indexes of each tensor map's words and of its tensor
        self.places, self.room = [], 0  # workspaces' offsets in one allocation, and its size
        for w in workspaces:
            self.places.append(self.room if w["value"] else None)
            self.room += ceil_div(w["value"], 256) * 256
        self.frames = []
        if "launches" in self.kernel:
            self.steps = [Step(self.gpu, self.kernel, l, self.taken(l, places)) for l in self.kernel["launches"]]
            return
        elements = math.prod(self.outputs[0][0] if self.outputs else shapes[0])
        launch = {"entry": self.kernel["entry"], "grid": (min(ceil_div(elements, 256), 1 << 20), 1, 1), "block": (256, 1, 1), "shared_bytes": 0}
        sizes = [bits(v) if isinstance(v, float) else int(v) for v in map(values.get, self.kernel["sizes"])] + [elements]
        self.steps = [Step(self.gpu, self.kernel, launch, [places[name] for name in self.kernel["arguments"]], sizes)]

    def taken(self, launch, places):
        """Returns the indexes of a launch's arguments. A tensor map is 16 words: address, seven words and zeros."""
        taken = [places[name] for name in launch["arguments"]]
        for m in launch.get("maps", ()):
            place = self.count + len(self.behind)
            self.maps += [(place, taken[m["at"]])]
            self.behind += [0, *m["words"], *[0] * 8]
            taken[m["at"]] = place
        return taken

    def frame(self):
        """Returns a frame that no other call uses until its launch."""
        try:
            return self.frames.pop()
        except IndexError:
            return Frame(self)

    def run(self, pointers, stream):
        """Launches on a stream. The pointers are those of the inputs, the outputs and the workspaces."""
        frame = self.frame()
        frame.pointers[:self.count] = pointers
        self.launch(frame, stream)

    def launch(self, frame, stream):
        """Launches a filled frame, and makes the frame available again."""
        pointers = frame.pointers
        for place, of in self.maps:
            pointers[place] = pointers[of]
        launch = self.driver.cuLaunchKernelEx
        for config, passed in frame.launches:
            config.stream = stream
            code = launch(*passed)
            if code == 201:
                self.gpu.current()  # this thread has made no CUDA call yet
                code = launch(*passed)
            if code:
                check("launch", code)
        self.frames.append(frame)
