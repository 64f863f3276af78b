def through_epilogue(s, wanted, gradient, sums, *beside):
    """PyTorch's gradients of what an epilogue begins with, which sums() computes, and of the epilogue's tensors."""
    if epilogue(s, Functions(), gradient, *beside) is gradient:
        return [gradient]
    outputs = lambda x, *beside: epilogue(s, Functions(), x, *beside).expand_as(x).to(gradient.dtype)
    return differentiated(outputs, (True, *wanted), gradient, sums(), *beside)


def before_epilogue(gradients):
    """The gradients of an operator that has no epilogue; with one they would be others."""
    own = gradients.__code__.co_argcount - 3

    def checked(s, wanted, gradient, *tensors):
        if epilogue(s, Functions(), gradient, *tensors[own:]) is not gradient:
            raise NotImplementedError("the gradient behind this operator's epilogue is not there: ask for none")
        return *gradients(s, wanted[:own], gradient, *tensors[:own]), *[None] * len(tensors[own:])

    return checked


class Functions:
    """The functions of expressions: PyTorch's methods of tensors, and its operators, but for a few."""

    def __getattr__(self, name):
        if hasattr(torch.Tensor, name):
            return lambda x, *given: getattr(torch.as_tensor(x), name)(*given)
        return lambda x, *given: getattr(torch.ops.aten, name)(x, *given)

    def max(self, x, y):
        return torch.maximum(*self.both(x, y))

    def min(self, x, y):
        return torch.minimum(*self.both(x, y))

    def both(self, *given):
        like = next((t for t in given if isinstance(t, torch.Tensor)), torch.zeros(()))
        return [t if isinstance(t, torch.Tensor) else torch.full((), t, dtype=like.dtype, device=like.device) for t in given]

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
