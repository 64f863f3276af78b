class ModelNew(nn.Module):
    """Products of matrices, as torch.matmul of two of them or of two batches; stored
    transposed, and with a bias a column, where the tuned problem is."""

    def __init__(self):
        super().__init__()
        self.settings = settings()

    def forward(self, a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
        if a.dim() == 2:  # without a batch
            return self.forward(a.unsqueeze(0), b.unsqueeze(0), bias).squeeze(0)
        return run({**self.settings, "bias": int(bias is not None)}, a, b, bias)


def gradients(s, wanted, gradient, a, b, bias):
    """Products of matrices, too."""
    left = gradient @ (b if s["transpose_b"] else b.mT) if wanted[0] else None
    right = (a if s["transpose_a"] else a.mT) @ gradient if wanted[1] else None
    if left is not None and s["transpose_a"]:
        left = left.mT
    if right is not None and s["transpose_b"]:
        right = right.mT
    return left, right, gradient.sum((0, 1)) if wanted[2] else None


def get_inputs():
    batch, m, k, n = (TUNED[name] for name in ("batch", "m", "k", "n"))
    shapes = (k, m) if TUNED["transpose_a"] else (m, k), (n, k) if TUNED["transpose_b"] else (k, n)
    return [torch.rand(batch, *shape) for shape in shapes]


def get_init_inputs():
    return []
