class ModelNew(nn.Module):
    """As nn.TripletMarginLoss; p may be infinite."""

    def __init__(self, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6, swap: bool = False, size_average=None, reduce=None,
                 reduction: str = "mean"):
        super().__init__()
        need(size_average is None and reduce is None, "size_average and reduce are PyTorch's of old; say reduction")
        need(reduction in ("none", "mean", "sum"), f"reduction is {reduction!r}; it must be none, mean or sum")
        need(margin > 0, f"margin is {margin}; it must be above 0")
        need(p > 0, f"p is {p}; it must be above 0")
        self.settings = settings(margin=margin, p=0 if p == float("inf") else p, eps=eps, swap=swap, sum=reduction == "sum", mean=reduction == "mean")

    def forward(self, anchor: torch.Tensor, positive: torch.Tensor, negative: torch.Tensor) -> torch.Tensor:
        given = anchor, positive, negative
        need(anchor.dim() >= 1 and all(t.dim() == anchor.dim() for t in given), "anchor, positive and negative must have one number of dimensions, of 1 at least")
        same = anchor.shape == positive.shape == negative.shape
        shape = anchor.shape if same else torch.broadcast_shapes(*(t.shape for t in given))
        y = run(self.settings, *((t if same else t.expand(shape)).reshape(shape[:-1].numel(), shape[-1]) for t in given))
        return y.view(() if self.settings["sum"] or self.settings["mean"] else shape[:-1])


def get_inputs():
    return [torch.rand(TUNED["outer"], TUNED["length"], dtype=DTYPE) for _ in range(3)]


def get_init_inputs():
    how = "sum" if TUNED["sum"] else "mean" if TUNED["mean"] else "none"
    return [TUNED["margin"], TUNED["p"] or float("inf"), TUNED["eps"], bool(TUNED["swap"]), None, None, how]
