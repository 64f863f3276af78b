from .. import Tensor, conv2d, relu, seen  # noqa: F401


@seen(2)
def linear(input, weight, bias=None):
    return Tensor(*input.shape[:-1], weight.shape[0], device=input.device.type)


@seen(1)
def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    return Tensor(1, device=input.device.type)


@seen(0)
def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, size_average=None, reduce=None, reduction="mean"):
    return Tensor(1, device=anchor.device.type)
