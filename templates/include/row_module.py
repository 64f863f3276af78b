class ModelNew(nn.Module):
    """The operator along a dimension, which counts from the end where it is negative. What has one answer a row takes
    several dimensions, too, or with None all, and with keepdim leaves them with one element each."""

    def __init__(self, dim: int | tuple[int, ...] | None = -1, keepdim: bool = False):
        super().__init__()
        self.dim, self.keepdim = dim, keepdim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.dim() == 0:
            return self.forward(x.unsqueeze(0)).reshape(())
        dims = range(x.dim()) if self.dim is None else self.dim if isinstance(self.dim, (tuple, list)) else (self.dim,)
        need(all(-x.dim() <= d < x.dim() for d in dims), f"dim is {self.dim}; x has {x.dim()} dimensions")
        dims = sorted({d % x.dim() for d in dims})
        first, end = dims[0], dims[-1] + 1
        if len(dims) < end - first:  # others lie between them
            kept = [d for d in range(x.dim()) if d not in dims]
            moved = ModelNew(tuple(range(len(kept), x.dim()))).forward(x.permute(*kept, *dims))
        else:
            rows = x.shape[:first].numel(), x.shape[first:end].numel(), x.shape[end:].numel()
            moved = run(settings(), x.reshape(rows))
            if moved.dim() == len(rows):
                return moved.view(x.shape)
            moved = moved.view((*x.shape[:first], *x.shape[end:]))
        return moved.view([1 if d in dims else n for d, n in enumerate(x.shape)]) if self.keepdim else moved


def get_inputs():
    return [torch.rand(*list(TUNED.values())[:RANKS[0]], dtype=DTYPE)]


def get_init_inputs():
    return [1]
