"""Makes and times calls of PyTorch functions, which autotune describes in JSON (torchtimes.Call): a function with
its tensors and values by PyTorch's names. Searches and scripts use this module."""
import math

try:
    import torch
except ImportError:
    torch = None

WARM_UP = 3  # calls before the samples
OF_MATRICES = ("matmul", "mm", "linear")  # functions for which a batch of one would cost PyTorch a loop
TYPES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "bool": "bool",
         "u8": "uint8", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64"}


def dtype(word):
    return getattr(torch, TYPES[word])


def function(name):
    """Returns PyTorch's function of that name, or None. Of the package torch itself only functions of tensors
    count, since a foreign op.yaml could name functions such as torch.load, which executes files."""
    if hasattr(torch.nn.functional, name):
        return getattr(torch.nn.functional, name)
    found = getattr(torch, name, None)
    known = any(found in functions for functions in torch.overrides.get_overridable_functions().values())
    return found if known else None


def found(calls):
    """Returns the first of the calls whose function PyTorch has, and that function."""
    for call in calls:
        if there := function(call["function"]):
            return there, call
    raise AttributeError("PyTorch has no function of tensors called " + " or ".join(c["function"] for c in calls))


def values(call):
    """Returns the values that a function takes. In autotune's norms, a p of 0 stands for infinity."""
    made = {name: tuple(v) if isinstance(v, list) else v for name, v in call["values"].items()}
    infinite = call["function"] in ("normalize", "triplet_margin_loss") and made.get("p") == 0
    return {**made, "p": math.inf} if infinite else made


def lying(t):
    """Returns the extents of a tensor in the order of its axes in memory."""
    return [t["shape"][axis] for axis in t["order"]]


def standing(t, made):
    """Returns a view with its axes in PyTorch's order of a tensor in memory order."""
    return made.permute([t["order"].index(axis) for axis in range(len(t["order"]))])


def uniform(t):
    """Makes a tensor of uniform random numbers on the GPU, in its order in memory."""
    return torch.empty(lying(t), device="cuda").uniform_(t["low"], t["high"]).to(dtype(t["type"]))


def alone(call, tensors):
    """Returns a call's tensors. A matrix product is called without a batch of one, over which PyTorch would loop."""
    if call["function"] in OF_MATRICES and all(t.shape[0] == 1 for t in tensors.values() if t.dim() == 3):
        return {argument: t[0] if t.dim() == 3 else t for argument, t in tensors.items()}
    return tensors


def timed(call, samples, flush=None):
    """Times calls in milliseconds with CUDA events. Writing flush, which is larger than the L2, empties the cache."""
    for _ in range(WARM_UP):
        call()
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(samples)]
    for start, end in events:
        if flush is not None:
            flush.zero_()
        start.record()
        call()
        end.record()
    torch.cuda.synchronize()
    return [start.elapsed_time(end) for start, end in events]
