from .. import Tensor, conv2d, relu, seen  # noqa: F401


@seen(2)
def linear(input, weight, bias=None):
    return Tensor(*input.shape[:-1], weight.shape[0], device=input.device.type)


@seen(1)
def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    return Tensor(1, device=input.device.type)
