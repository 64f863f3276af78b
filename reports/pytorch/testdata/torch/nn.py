import torch


class Module:
    def __init__(self):
        pass

    def __call__(self, *inputs):
        return self.forward(*inputs)


class Conv2d(Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode="zeros"):
        height, width = kernel_size if isinstance(kernel_size, tuple) else (kernel_size, kernel_size)
        self.weight = torch.Tensor(out_channels, in_channels // groups, height, width)
        self.bias = torch.Tensor(out_channels) if bias else None
