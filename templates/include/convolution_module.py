class ModelNew(nn.Module):
    """Convolution over one, two or three axes, as nn.Conv1d, nn.Conv2d and nn.Conv3d. layout is how
    tensors lie: nchw, nhwc, or auto, as the input does; else as tuned."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        padding: int | str = 0,
        dilation: int = 1,
        groups: int = 1,
        bias: bool = False,
        padding_mode: str = "zeros",
        layout: str = None,
    ):
        super().__init__()
        # It computes nothing: it holds the parameters, with PyTorch's names and
        # initial values.
        layer = {"conv1d": nn.Conv1d, "conv2d": nn.Conv2d, "conv3d": nn.Conv3d}[OPERATOR](
            in_channels, out_channels, kernel_size,
            stride=stride, padding=padding, dilation=dilation, groups=groups, bias=bias, padding_mode=padding_mode, dtype=DTYPE,
        )
        self.add_module(OPERATOR, layer)
        self.settings = settings(
            c_out=out_channels, kernel=kernel_size, stride=stride, padding=0 if isinstance(padding, str) else padding,
            dilation=dilation, groups=groups, bias=bias, layout=layout,
        )
        layer.weight.data = laid(layer.weight.data, self.settings["layout"])
        # The kernel pads zeros, as many before as behind; what is more, or other, is padded first.
        self.mode = "constant" if padding_mode == "zeros" else padding_mode
        self.first = margins(self.settings, padding)
        if padding_mode == "zeros":
            within = self.first[::2]
            self.settings.update(zip(PARAMETERS["padding"], reversed(within)))
            self.first = [size - within[i // 2] for i, size in enumerate(self.first)]
        else:
            self.settings.update(dict.fromkeys(PARAMETERS["padding"], 0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.dim() == RANKS[0] - 1:  # without a batch
            return self.forward(x.unsqueeze(0)).squeeze(0)
        if any(self.first):
            x = torch.ops.aten.pad(x, self.first, self.mode)
        layer = getattr(self, OPERATOR)
        return run(self.settings, x, layer.weight, layer.bias)


def margins(s, padding):
    """What is padded before and behind along each axis, the last one first: as many as
    numbers say, none for "valid", and for "same" as many as the kernel takes away."""
    pairs = zip(each(s, "padding"), each(s, "padding"))
    if padding == "same":
        taken = [dilation * (kernel - 1) for kernel, dilation in zip(each(s, "kernel"), each(s, "dilation"))]
        pairs = [(t // 2, t - t // 2) for t in taken]
    return [size for pair in reversed(list(pairs)) for size in pair]


def get_inputs():
    return [laid(torch.rand(*list(TUNED.values())[:RANKS[0]], dtype=DTYPE), TUNED["layout"])]


def get_init_inputs():
    sizes = [tuned(name) for name in ("c_out", "kernel", "stride", "padding", "dilation", "groups")]
    return [TUNED["c"], *sizes, bool(tuned("bias"))]
