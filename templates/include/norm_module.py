class ModelNew(nn.Module):
    """A norm over the last dimensions, as nn.LayerNorm and nn.RMSNorm, or with dim, and a number for the shape, along one
    dimension."""

    def __init__(self, normalized_shape, eps: float = None, elementwise_affine: bool = True, bias: bool = True, dim: int = None):
        super().__init__()
        self.shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.dim = dim
        has_bias = "bias" in PARAMETERS and elementwise_affine and bias
        self.weight = nn.Parameter(torch.ones(self.shape, dtype=DTYPE)) if elementwise_affine else None
        self.bias = nn.Parameter(torch.zeros(self.shape, dtype=DTYPE)) if has_bias else None
        chosen = {"affine": elementwise_affine, **({"bias": has_bias} if "bias" in PARAMETERS else {})}
        self.settings = settings(**chosen, **({} if eps is None else {"eps": eps}))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first = x.dim() - len(self.shape) if self.dim is None else self.dim % x.dim()
        end = first + len(self.shape)
        need(first >= 0 and x.shape[first:end] == self.shape, f"x has the shape {tuple(x.shape)}; it should have {self.shape} there")
        rows = x.shape[:first].numel(), x.shape[first:end].numel(), x.shape[end:].numel()
        weights = self.weight, self.bias
        flat = [None if t is None else (rows[1],) for t in weights]
        return run(self.settings, x, *weights, shapes=(rows, *flat), answer=x.shape)


def get_inputs():
    return [torch.rand(*list(TUNED.values())[:RANKS[0]], dtype=DTYPE)]


def get_init_inputs():
    return [TUNED["length"], TUNED["eps"], bool(TUNED["affine"]), bool(TUNED.get("bias")), 1]
