class ModelNew(nn.Module):
    """The tuned expression of x, and of w and b where it names them: tensors that are broadcast
    against x as PyTorch does, or numbers."""

    def __init__(self):
        super().__init__()
        self.settings = settings()

    def forward(self, x: torch.Tensor, w: torch.Tensor | float | None = None, b: torch.Tensor | float | None = None) -> torch.Tensor:
        beside = [x.new_full((1,), t) if isinstance(t, (int, float)) else t for t in (w, b)]
        given = [t for t in beside if t is not None]
        shape = torch.broadcast_shapes(x.shape, *[t.shape for t in given])
        x = x.expand(shape)
        first, last = span(shape, given)
        folded = shape[:first].numel(), shape[first:last].numel(), shape[last:].numel()
        alone = first == last  # nothing, or one number, beside x
        if alone and (TUNED["length"] == 1 or not given) and shape.numel() == prod(TUNED.values()):
            folded = tuple(TUNED[name] for name in ("outer", "length", "inner"))
        along = [n if first <= i < last else 1 for i, n in enumerate(shape)]
        beside = [t if t is None else t.expand(along).reshape(1, -1, 1) for t in beside]
        return run(self.settings, x.reshape(folded), *beside).view(() if self.settings["sum"] or self.settings["mean"] else shape)


def span(shape, tensors):
    """The dimensions that tensors are not broadcast along: from the first to before the last."""
    own = [len(shape) - 1 - i for t in tensors for i, n in enumerate(reversed(t.shape)) if n != 1]
    return (min(own), max(own) + 1) if own else (len(shape), len(shape))


def get_inputs():
    outer, length, inner = (TUNED[name] for name in ("outer", "length", "inner"))
    beside = [torch.rand(length, 1, dtype=DTYPE) if 0 not in shape else None for shape in plan(**TUNED)[2:-1]]
    return [torch.rand(outer, length, inner, dtype=DTYPE), *beside]


def get_init_inputs():
    return []
