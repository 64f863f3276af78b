class Functions:
    """The functions of expressions: PyTorch's methods of tensors, and its operators, but for a few."""

    def __getattr__(self, name):
        if hasattr(torch.Tensor, name):  # exp, log, tanh, ...
            return lambda x, *given: getattr(torch.as_tensor(x), name)(*given)
        return lambda x, *given: getattr(torch.ops.aten, name)(x, *given)

    def max(self, x, y):
        return torch.maximum(*self.both(x, y))

    def min(self, x, y):
        return torch.minimum(*self.both(x, y))

    def both(self, x, y):
        return [t if isinstance(t, torch.Tensor) else torch.full((), t, dtype=other.dtype, device=other.device) for t, other in ((x, y), (y, x))]

    def silu(self, x):
        return x * x.sigmoid()

    swish = silu

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


def gradients(s, wanted, gradient, *given):
    def reduced(*tensors):
        y = f(s, Functions(), *tensors)
        return y.sum() if s["sum"] else y.mean() if s["mean"] else y

    return differentiated(reduced, wanted, gradient, *given)
