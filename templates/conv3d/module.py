class ModelNew(nn.Module):
    """3-D convolution, as nn.Conv3d with zeros for padding."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        padding: int = 0,
        dilation: int = 1,
        groups: int = 1,
        bias: bool = False,
    ):
        super().__init__()
        # It computes nothing: it holds the parameters, with PyTorch's names and
        # initial values.
        self.conv3d = nn.Conv3d(
            in_channels, out_channels, kernel_size,
            stride=stride, padding=padding, dilation=dilation, groups=groups, bias=bias,
        )
        self.settings = settings(
            c_out=out_channels, kernel=kernel_size, stride=stride, padding=padding,
            dilation=dilation, groups=groups, bias=bias,
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.dim() == 4:  # without a batch
            return self.forward(x.unsqueeze(0)).squeeze(0)
        return run(self.settings, x, self.conv3d.weight, self.conv3d.bias)


def gradients(s, wanted, gradient, x, weight, bias):
    """PyTorch's own."""
    return torch.ops.aten.convolution_backward(
        gradient, x, weight, None if bias is None else [s["c_out"]],
        each(s, "stride"), each(s, "padding"), each(s, "dilation"), False, [0, 0, 0], s["groups"], list(wanted),
    )


def get_inputs():
    return [torch.rand(TUNED["n"], TUNED["c"], TUNED["d"], TUNED["h"], TUNED["w"])]


def get_init_inputs():
    sizes = [tuned(name) for name in ("c_out", "kernel", "stride", "padding", "dilation", "groups")]
    return [TUNED["c"], *sizes, bool(tuned("bias"))]
