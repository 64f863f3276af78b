class ModelNew(nn.Module):
    """The tuned expression of x, and of w and b where it names them: tensors that are broadcast
    against x as PyTorch does, or numbers."""

    def __init__(self):
        super().__init__()
        self.settings = settings()

    def forward(self, x: torch.Tensor, w: torch.Tensor | float | None = None, b: torch.Tensor | float | None = None) -> torch.Tensor:
        w, b = (x.new_full((), t) if isinstance(t, (int, float)) else t for t in (w, b))
        shape, folded, along = folding(x.shape, *(None if t is None else t.shape for t in (w, b)))
        x = x if x.shape == shape else x.expand(shape)
        y = run(self.settings, x.reshape(folded), *(None if t is None else flat(t, along) for t in (w, b)))
        return y.view(() if self.settings["sum"] or self.settings["mean"] else shape)


@functools.lru_cache(maxsize=1024)
def folding(x, *beside):
    """Of shapes: the one of the output, the kernel's, and the one that w and b are broadcast to."""
    given = [shape for shape in beside if shape is not None]
    shape = torch.broadcast_shapes(x, *given)
    first, last = span(shape, given)
    folded = shape[:first].numel(), shape[first:last].numel(), shape[last:].numel()
    alone = first == last  # nothing, or one number, beside x
    tuned = tuple(TUNED[name] for name in ("outer", "length", "inner"))
    if alone and (TUNED["length"] == 1 or not given) and shape.numel() == prod(tuned):
        folded = tuned
    return shape, folded, torch.Size(n if first <= i < last else 1 for i, n in enumerate(shape))


def flat(tensor, along):
    """A number for each of `length`, a copy only where they do not lie one behind the other."""
    return (tensor if tensor.numel() == along.numel() else tensor.expand(along)).reshape(1, -1, 1)


def span(shape, beside):
    """The dimensions that others are not broadcast along: from the first to before the last."""
    own = [len(shape) - 1 - i for other in beside for i, n in enumerate(reversed(other)) if n != 1]
    return (min(own), max(own) + 1) if own else (len(shape), len(shape))


def get_inputs():
    outer, length, inner = (TUNED[name] for name in ("outer", "length", "inner"))
    beside = [torch.rand(*shape, dtype=DTYPE) if 0 not in shape else None for shape in plan(**TUNED)[2:-1]]
    return [torch.rand(outer, length, inner, dtype=DTYPE), *beside]


def get_init_inputs():
    return []
