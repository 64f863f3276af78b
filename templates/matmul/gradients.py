def triangle(t, which):
    """What counts of matrices: the upper triangle (1), the lower one (-1) or all."""
    return t.triu() if which > 0 else t.tril() if which < 0 else t


class Activations:
    """The functions of an activation, by PyTorch's operators."""

    def __getattr__(self, name):
        return getattr(torch.ops.aten, name)

    def gelu_tanh(self, x):
        return torch.ops.aten.gelu(x, approximate="tanh")


def gradients(s, wanted, gradient, a, b, bias):
    """Products of matrices, too; where there is an activation, PyTorch's own of the sums first."""
    a, b = (t.mT if s[f"transpose_{name}"] else t for name, t in (("a", a), ("b", b)))
    if activation(s, Activations(), gradient) is not gradient:
        sums = triangle(triangle(a, s["triangular_a"]) @ triangle(b, s["triangular_b"]), s["triangular_output"])
        sums = (sums if bias is None else sums + bias).detach().requires_grad_()
        with torch.enable_grad():
            y = activation(s, Activations(), sums)
        gradient, = torch.autograd.grad(y, [sums], gradient)
    gradient = triangle(gradient, s["triangular_output"])
    left = triangle(gradient @ triangle(b, s["triangular_b"]).mT, s["triangular_a"]) if wanted[0] else None
    right = triangle(triangle(a, s["triangular_a"]).mT @ gradient, s["triangular_b"]) if wanted[1] else None
    if left is not None:
        left = left.sum(0, True) if s["broadcast_a"] else left
        left = left.mT if s["transpose_a"] else left
    if right is not None:
        right = right.sum(0, True) if s["broadcast_b"] else right
        right = right.mT if s["transpose_b"] else right
    return left, right, gradient.sum((0, 1)) if wanted[2] else None
