"""Calls of PyTorch's functions as autotune writes them in JSON (torchtimes.Call): a function, its tensors and its values
by PyTorch's names; and how they are timed. What times PyTorch beside a search imports this, and so do the scripts."""
import math

WARM_UP = 3  # calls before samples
OF_MATRICES = ("matmul", "mm", "linear")  # to these a batch of one would be a batch
TYPES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "bool": "bool",
         "u8": "uint8", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64"}


def dtype(word):
    import torch

    return getattr(torch, TYPES[word])


def function(name):
    """PyTorch's function of that name; None if it has none. An op.yaml from elsewhere may name any, and torch.load runs
    what is in a file. So of the package torch itself only functions of tensors count."""
    import torch

    if hasattr(torch.nn.functional, name):
        return getattr(torch.nn.functional, name)
    found = getattr(torch, name, None)
    known = any(found in functions for functions in torch.overrides.get_overridable_functions().values())
    return found if known else None


def found(calls):
    """The first call whose function PyTorch has, and that function."""
    for call in calls:
        if there := function(call["function"]):
            return there, call
    raise AttributeError("PyTorch has no function of tensors called " + " or ".join(c["function"] for c in calls))


def values(call):
    """The values that a function takes. The p of autotune's norms is 0 where it is infinite."""
    made = {name: tuple(v) if isinstance(v, list) else v for name, v in call["values"].items()}
    infinite = call["function"] in ("normalize", "triplet_margin_loss") and made.get("p") == 0
    return {**made, "p": math.inf} if infinite else made


def lying(t):
    """The extents of a tensor in the order in which its axes lie in memory."""
    return [t["shape"][axis] for axis in t["order"]]


def standing(t, made):
    """A tensor with its axes in PyTorch's order, over what lies in memory."""
    return made.permute([t["order"].index(axis) for axis in range(len(t["order"]))])


def uniform(t):
    """Uniform numbers on the GPU for a tensor, as it lies."""
    import torch

    return torch.empty(lying(t), device="cuda").uniform_(t["low"], t["high"]).to(dtype(t["type"]))


def channels_last(t):
    return t.movedim(1, -1).contiguous().movedim(-1, 1) if t.dim() > 2 else t


def alone(call, tensors):
    """A call's tensors, of a product of two matrices without the batch that PyTorch would loop over."""
    if call["function"] in OF_MATRICES and all(t.shape[0] == 1 for t in tensors.values() if t.dim() == 3):
        return {argument: t[0] if t.dim() == 3 else t for argument, t in tensors.items()}
    return tensors


def timed(call, samples, flush=None):
    """Times in milliseconds, by events around one call each. Writing flush, which is larger than the L2, empties it."""
    import torch

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
