class ModelNew(nn.Module):
    """Products of vectors, matrices and batches of matrices that fit each other, as PyTorch's
    own; stored transposed, and with a bias a column, where the tuned problem is. An epilogue's
    tensors follow the bias, in READ's order; all are then batches, as the problem has them."""

    def __init__(self):
        super().__init__()
        self.settings = settings()

    def forward(self, a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None = None, *beside: torch.Tensor) -> torch.Tensor:
        s = {**self.settings, "bias": int(bias is not None)}
        if beside or (a.dim() == b.dim() == 3 and a.size(0) == b.size(0) and not s["broadcast_a"] and not s["broadcast_b"]):
            return run(s, a, b, bias, *beside)
        if a.dim() == 1:  # a row
            return self.forward(a.unsqueeze(1 if s["transpose_a"] else 0), b, bias).squeeze(-1 if b.dim() == 1 else -2)
        if b.dim() == 1:  # a column
            return self.forward(a, b.unsqueeze(0 if s["transpose_b"] else 1), bias).squeeze(-1)
        if b.dim() == 2 and not s["transpose_a"] and not s["broadcast_b"] and not s["triangular_a"] and not s["triangular_output"]:  # the rows of all of a's matrices are those of one
            rows = a.shape[:-1]
            y = run({**s, "broadcast_a": 0}, a.reshape(1, rows.numel(), a.size(-1)), b.unsqueeze(0), bias)
            return y.view(*rows, y.size(-1))
        batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        matrices = []
        for factor, t in (("broadcast_a", a), ("broadcast_b", b)):
            shared = t.shape[:-2].numel() == 1 and batch.numel() > (0 if s[factor] else 1)
            t = t if shared else t.expand(*batch, -1, -1)
            matrices.append(t.reshape(1 if shared else batch.numel(), *t.shape[-2:]))
            s[factor] = int(shared)
        y = run(s, *matrices, bias)
        return y.view(*batch, *y.shape[-2:])


def get_inputs():
    batch, m, k, n = (TUNED[name] for name in ("batch", "m", "k", "n"))
    shapes = (k, m) if TUNED["transpose_a"] else (m, k), (n, k) if TUNED["transpose_b"] else (k, n)
    factors = [torch.rand(1 if TUNED[f"broadcast_{factor}"] else batch, *shape, dtype=DTYPE) for factor, shape in zip("ab", shapes)]
    if not READ[3:]:
        return factors
    return [*factors, torch.rand(n, dtype=DTYPE) if TUNED["bias"] else None, *epilogue_inputs(3)]


def get_init_inputs():
    return []
