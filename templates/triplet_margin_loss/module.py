class ModelNew(nn.Module):
    """As nn.TripletMarginLoss, of the norms 1, 2 and infinity."""

    def __init__(self, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6, swap: bool = False, reduction: str = "mean"):
        super().__init__()
        need(reduction in ("none", "mean", "sum"), f"reduction is {reduction!r}; it must be none, mean or sum")
        need(p in (1, 2, float("inf")), f"p is {p}; it must be 1, 2 or infinity")
        self.settings = settings(margin=margin, p=0 if p == float("inf") else int(p), eps=eps, swap=swap, sum=reduction == "sum", mean=reduction == "mean")

    def forward(self, anchor: torch.Tensor, positive: torch.Tensor, negative: torch.Tensor) -> torch.Tensor:
        triplet = torch.broadcast_tensors(anchor, positive, negative)
        shape = triplet[0].shape
        need(len(shape) >= 1, "anchor is one number; it should be a row")
        y = run(self.settings, *(t.reshape(shape[:-1].numel(), shape[-1]) for t in triplet))
        return y.view(() if self.settings["sum"] or self.settings["mean"] else shape[:-1])


def get_inputs():
    return [torch.rand(TUNED["outer"], TUNED["length"], dtype=DTYPE) for _ in range(3)]


def get_init_inputs():
    p = TUNED["p"] or float("inf")
    return [TUNED["margin"], p, TUNED["eps"], TUNED["swap"], "sum" if TUNED["sum"] else "mean" if TUNED["mean"] else "none"]
