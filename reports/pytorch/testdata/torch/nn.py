import torch


def Parameter(tensor):
    return tensor


class Module:
    def __init__(self):
        pass

    def __call__(self, *inputs):
        return self.forward(*inputs)

    def add_module(self, name, module):
        setattr(self, name, module)


class Convolution(Module):
    axes = 2

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True, padding_mode="zeros",
                 device=None, dtype=torch.float32):
        vars(self).update({name: value for name, value in locals().items() if name != "self"})
        kernel = kernel_size if isinstance(kernel_size, tuple) else (kernel_size,) * self.axes
        self.weight = torch.Tensor(*self.channels(in_channels, out_channels, groups), *kernel, dtype=dtype)
        self.bias = torch.Tensor(out_channels, dtype=dtype) if bias else None

    def channels(self, in_channels, out_channels, groups):
        return out_channels, in_channels // groups


class Transposed(Convolution):
    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True, dilation=1,
                 padding_mode="zeros", device=None, dtype=torch.float32):
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, dtype=dtype)
        self.output_padding = output_padding

    def channels(self, in_channels, out_channels, groups):
        return in_channels, out_channels // groups


class MaxPool(Module):
    def __init__(self, kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False):
        vars(self).update({name: value for name, value in locals().items() if name != "self"})
        self.stride = kernel_size if stride is None else stride


class AvgPool1d(Module):
    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
        vars(self).update({name: value for name, value in locals().items() if name != "self"})
        self.stride = kernel_size if stride is None else stride


class AvgPool(AvgPool1d):
    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        super().__init__(kernel_size, stride, padding, ceil_mode, count_include_pad)
        self.divisor_override = divisor_override


MaxPool1d = MaxPool2d = MaxPool3d = MaxPool
AvgPool2d = AvgPool3d = AvgPool
Conv1d, Conv2d, Conv3d = (type(f"Conv{n}d", (Convolution,), {"axes": n}) for n in (1, 2, 3))
ConvTranspose1d, ConvTranspose2d, ConvTranspose3d = (type(f"ConvTranspose{n}d", (Transposed,), {"axes": n}) for n in (1, 2, 3))
