class ModelNew(nn.Module):
    """Transposed convolution over one, two or three axes, as nn.ConvTranspose1d, nn.ConvTranspose2d
    and nn.ConvTranspose3d, which refuse
    a padding_mode other than zeros. layout is how tensors lie: nchw, nhwc, or auto, as the input does; else as tuned."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        padding: int = 0,
        output_padding: int = 0,
        groups: int = 1,
        bias: bool = False,
        dilation: int = 1,
        padding_mode: str = "zeros",
        layout: str = None,
    ):
        super().__init__()
        # It computes nothing: it holds the parameters, with PyTorch's names and
        # initial values.
        layers = {"conv_transpose1d": nn.ConvTranspose1d, "conv_transpose2d": nn.ConvTranspose2d, "conv_transpose3d": nn.ConvTranspose3d}
        layer = layers[OPERATOR](
            in_channels, out_channels, kernel_size,
            stride=stride, padding=padding, output_padding=output_padding, dilation=dilation, groups=groups, bias=bias,
            padding_mode=padding_mode, dtype=DTYPE,
        )
        self.add_module(OPERATOR, layer)
        self.settings = settings(
            c_out=out_channels, kernel=kernel_size, stride=stride, padding=padding,
            output_padding=output_padding, dilation=dilation, groups=groups, bias=bias, layout=layout,
        )
        layer.weight.data = laid(layer.weight.data, self.settings["layout"])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.dim() == RANKS[0] - 1:  # without a batch
            return self.forward(x.unsqueeze(0)).squeeze(0)
        layer = getattr(self, OPERATOR)
        return run(self.settings, x, layer.weight, layer.bias)


def get_inputs():
    return [laid(torch.rand(*list(TUNED.values())[:RANKS[0]], dtype=DTYPE), TUNED["layout"])]


def get_init_inputs():
    sizes = [tuned(name) for name in ("c_out", "kernel", "stride", "padding", "output_padding", "groups")]
    return [TUNED["c"], *sizes, bool(tuned("bias")), tuned("dilation")]
