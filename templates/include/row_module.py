class ModelNew(nn.Module):
    """The operator along a dimension, which counts from the end where it is negative, along several, or with None along
    all. What has one answer a row leaves them with one element each if keepdim is true. Other parameters are the
    operator's own; a norm's p may be infinite. A mask is taken beside x."""

    def __init__(self, dim: int | tuple[int, ...] | None = -1, keepdim: bool = False, **parameters):
        super().__init__()
        self.dim, self.keepdim = dim, keepdim
        self.settings = settings(**{name: 0 if value == float("inf") else value for name, value in parameters.items()})

    def forward(self, x: torch.Tensor, *mask: torch.Tensor) -> torch.Tensor:
        if x.dim() == 0:
            return self.forward(x.unsqueeze(0), *mask).reshape(())
        dims = range(x.dim()) if self.dim is None else self.dim if isinstance(self.dim, (tuple, list)) else (self.dim,)
        need(all(-x.dim() <= d < x.dim() for d in dims), f"dim is {self.dim}; x has {x.dim()} dimensions")
        dims = sorted({d % x.dim() for d in dims})
        first, end = dims[0], dims[-1] + 1
        kept = [d for d in range(x.dim()) if d not in dims]
        order = [*range(x.dim())] if len(dims) == end - first else [*kept, *dims]  # where others lie between them
        if len(dims) < end - first:
            first, end = len(kept), x.dim()
        moved = x.permute(order)
        rows = moved.shape[:first].numel(), moved.shape[first:end].numel(), moved.shape[end:].numel()
        y = run(self.settings, moved.reshape(rows), *(t.expand(x.shape).permute(order).reshape(rows) for t in mask))
        if y.dim() == len(rows):
            return y.view(moved.shape).permute([order.index(d) for d in range(x.dim())])
        return y.view([1 if d in dims else n for d, n in enumerate(x.shape)] if self.keepdim else [x.shape[d] for d in kept])


def get_inputs():
    shape = list(TUNED.values())[:RANKS[0]]
    return [torch.rand(*shape, dtype=DTYPE), *(torch.rand(*shape) < 0.5 for _ in READ[1:])]


def get_init_inputs():
    return [1]
