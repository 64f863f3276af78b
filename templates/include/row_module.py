class ModelNew(nn.Module):
    """The operator along a dimension, which counts from the end where it is negative, along several, or with None along
    all. What has one answer a row leaves them with one element each if keepdim is true. Other parameters are the
    operator's own; a norm's p may be infinite. A mask is taken beside x: what it is true for,
    or factors of another type, as PyTorch multiplies them."""

    def __init__(self, dim: int | tuple[int, ...] | None = -1, keepdim: bool = False, **parameters):
        super().__init__()
        self.dim, self.keepdim = dim, keepdim
        self.settings = settings(**{name: 0 if value == float("inf") else value for name, value in parameters.items()})

    def forward(self, x: torch.Tensor, *mask: torch.Tensor) -> torch.Tensor:
        if x.dim() == 0:
            return self.forward(x.unsqueeze(0), *mask).reshape(())
        if mask and mask[0].dtype is not torch.bool:  # what else there is of it counts as a factor
            x, mask = x * mask[0], [torch.ones_like(mask[0], dtype=torch.bool)]
        rows, order, back, left = folding(x.shape, tuple(self.dim) if isinstance(self.dim, list) else self.dim, self.keepdim)
        taken = x, *(t if t.shape == x.shape else t.expand(x.shape) for t in mask)
        y = run(self.settings, *((t.permute(order) if order else t).reshape(rows) for t in taken))
        if y.dim() < len(rows):
            return y.view(left)
        return y.view([x.shape[d] for d in order]).permute(back) if order else y.view(x.shape)


@functools.lru_cache(maxsize=1024)
def folding(shape, dim, keepdim):
    """The rows along some dimensions; where others lie between these, the order that moves them to the end, and the
    way back; and the shape of what has one answer a row."""
    rank = len(shape)
    dims = range(rank) if dim is None else dim if isinstance(dim, tuple) else (dim,)
    need(all(-rank <= d < rank for d in dims), f"dim is {dim}; x has {rank} dimensions")
    dims = sorted({d % rank for d in dims})
    first, end, order, back = dims[0], dims[-1] + 1, None, None
    kept = [d for d in range(rank) if d not in dims]
    if len(dims) < end - first:
        first, end, order = len(kept), rank, [*kept, *dims]
        back = [order.index(d) for d in range(rank)]
    moved = [shape[d] for d in order] if order else shape
    left = [1 if d in dims else n for d, n in enumerate(shape)] if keepdim else [shape[d] for d in kept]
    return (prod(moved[:first]), prod(moved[first:end]), prod(moved[end:])), order, back, left


def get_inputs():
    shape = list(TUNED.values())[:RANKS[0]]
    return [torch.rand(*shape, dtype=DTYPE), *(torch.rand(*shape) < 0.5 for _ in READ[1:])]


def get_init_inputs():
    return [1]
