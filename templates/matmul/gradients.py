def triangle(t, which):
    """What counts of matrices: the upper triangle (1), the lower one (-1) or all."""
    return t.triu() if which > 0 else t.tril() if which < 0 else t


class Functions:
    """The functions of an epilogue: PyTorch's methods of tensors, and its operators, but for a few."""

    def __getattr__(self, name):
        if hasattr(torch.Tensor, name):
            return lambda x, *given: getattr(torch.as_tensor(x), name)(*given)
        return lambda x, *given: getattr(torch.ops.aten, name)(x, *given)

    def max(self, x, y):
        return torch.maximum(*self.both(x, y))

    def min(self, x, y):
        return torch.minimum(*self.both(x, y))

    def both(self, x, y):
        return [t if isinstance(t, torch.Tensor) else torch.full((), t, device=other.device) for t, other in ((x, y), (y, x))]

    def where(self, condition, x, y):
        return torch.where(condition, *self.both(x, y))

    def clamp(self, x, low, high):
        return self.min(self.max(x, low), high)

    def f32(self, x):
        return x.float()

    def bf16(self, x):
        return x.to(torch.bfloat16).float()

    def f16(self, x):
        return x.to(torch.half).float()

    def swish(self, x):
        return torch.ops.aten.silu(x)

    def gelu_tanh(self, x):
        return torch.ops.aten.gelu(x, approximate="tanh")

    min_gpt_new_gelu = gelu_tanh

    def logsigmoid(self, x):
        return -torch.ops.aten.softplus(-x)

    def softsign(self, x):
        return x / (1 + x.abs())

    def smooth_l1(self, x, beta=1):
        return torch.ops.aten.smooth_l1_loss(x, torch.zeros_like(x), 0, beta)

    def huber(self, x, delta=1):
        return torch.ops.aten.huber_loss(x, torch.zeros_like(x), 0, delta)


def gradients(s, wanted, gradient, a, b, bias, *beside):
    """Products of matrices, too; where there is an epilogue, PyTorch's own of the sums and of its tensors first."""
    a, b = (t.mT if s[f"transpose_{name}"] else t for name, t in (("a", a), ("b", b)))
    found = [None] * len(beside)
    if epilogue(s, Functions(), gradient, *beside) is not gradient:
        sums = triangle(triangle(a, s["triangular_a"]) @ triangle(b, s["triangular_b"]), s["triangular_output"])
        sums = (sums if bias is None else sums + bias).detach().requires_grad_()
        given = [t if t is None else t.detach().requires_grad_(want) for t, want in zip(beside, wanted[3:])]
        with torch.enable_grad():
            y = epilogue(s, Functions(), sums, *given).expand_as(sums).to(gradient.dtype)
        places = [i for i, t in enumerate(given) if t is not None and t.requires_grad]
        gradient, *more = torch.autograd.grad(y, [sums, *(given[i] for i in places)], gradient, materialize_grads=True)
        for i, g in zip(places, more):
            found[i] = g
    gradient = triangle(gradient, s["triangular_output"])
    left = triangle(gradient @ triangle(b, s["triangular_b"]).mT, s["triangular_a"]) if wanted[0] else None
    right = triangle(triangle(a, s["triangular_a"]).mT @ gradient, s["triangular_b"]) if wanted[1] else None
    if left is not None:
        left = left.sum(0, True) if s["broadcast_a"] else left
        left = left.mT if s["transpose_a"] else left
    if right is not None:
        right = right.sum(0, True) if s["broadcast_b"] else right
        right = right.mT if s["transpose_b"] else right
    return left, right, gradient.sum((0, 1)) if wanted[2] else None, *found
