class ModelNew(nn.Module):
    """2-D convolution of each channel with its own kernel, as nn.Conv2d with as many groups as channels. layout is how
    tensors lie: nchw, nhwc, or auto, as the input does; else as tuned. An epilogue's tensors follow x."""

    def __init__(
        self, in_channels: int, kernel_size: int, stride: int = 1, padding: int | str = 0, bias: bool = False, dilation: int = 1,
        layout: str = None,
    ):
        super().__init__()
        # It computes nothing: it holds the parameters, with PyTorch's names and initial values.
        self.conv2d = nn.Conv2d(
            in_channels, in_channels, kernel_size,
            stride=stride, padding=padding, dilation=dilation, groups=in_channels, bias=bias, dtype=DTYPE,
        )
        self.settings = settings(
            kernel=kernel_size, stride=stride, padding=0 if isinstance(padding, str) else padding, bias=bias, dilation=dilation,
            layout=layout,
        )
        # The kernel pads as many zeros before as behind; one more row or column is padded first.
        self.first = [0, 0, 0, 0]
        if padding == "same":
            taken = [d * (k - 1) for k, d in zip(each(self.settings, "kernel"), each(self.settings, "dilation"))]
            self.settings.update(zip(PARAMETERS["padding"], [t // 2 for t in taken]))
            self.first = [0, taken[1] % 2, 0, taken[0] % 2]

    def forward(self, x: torch.Tensor, *beside: torch.Tensor) -> torch.Tensor:
        if x.dim() == 3:  # without a batch
            return self.forward(x.unsqueeze(0), *beside).squeeze(0)
        if any(self.first):
            x = torch.ops.aten.pad(x, self.first, "constant")
        return run(self.settings, x, self.conv2d.weight, self.conv2d.bias, *beside)


def get_inputs():
    return [laid(torch.rand(TUNED["n"], TUNED["c"], TUNED["h"], TUNED["w"], dtype=DTYPE), TUNED["layout"]), *epilogue_inputs(3)]


def get_init_inputs():
    return [TUNED["c"], *[tuned(name) for name in ("kernel", "stride", "padding")], bool(tuned("bias")), tuned("dilation")]
