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

    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, dtype=torch.float32, **others):
        kernel = kernel_size if isinstance(kernel_size, tuple) else (kernel_size,) * self.axes
        self.weight = torch.Tensor(*self.channels(in_channels, out_channels, groups), *kernel, dtype=dtype)
        self.bias = torch.Tensor(out_channels, dtype=dtype) if bias else None

    def channels(self, in_channels, out_channels, groups):
        return out_channels, in_channels // groups


class Transposed(Convolution):
    def channels(self, in_channels, out_channels, groups):
        return in_channels, out_channels // groups


Conv1d, Conv2d, Conv3d = (type(f"Conv{n}d", (Convolution,), {"axes": n}) for n in (1, 2, 3))
ConvTranspose1d, ConvTranspose2d, ConvTranspose3d = (type(f"ConvTranspose{n}d", (Transposed,), {"axes": n}) for n in (1, 2, 3))
