from .. import Tensor, conv2d, relu, seen  # noqa: F401


@seen(2)
def linear(input, weight, bias=None):
    return Tensor(*input.shape[:-1], weight.shape[0], device=input.device.type)


@seen(1)
def relu_(input):
    return input


@seen(1)
def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    return Tensor(1, device=input.device.type)


@seen(0)
def cross_entropy(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0):
    return Tensor(device=input.device.type)


@seen(0)
def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    return Tensor(device=input.device.type)


@seen(0)
def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    return input


@seen(0)
def gelu(input, approximate="none"):
    return input


@seen(0)
def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, size_average=None, reduce=None, reduction="mean"):
    return Tensor(1, device=anchor.device.type)


@seen(0)
def scaled_dot_product_attention(query, key, value, attn_mask=None):
    return query
