class ModelNew(nn.Module):
    """Average pooling over one, two or three axes, as nn.AvgPool1d, nn.AvgPool2d and nn.AvgPool3d. As there, a
    divisor of its own is not of one axis. layout is how tensors lie: nchw, nhwc, or auto, as the input does;
    else as tuned."""

    def __init__(
        self,
        kernel_size: int,
        stride: int = None,
        padding: int = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int = None,
        layout: str = None,
    ):
        super().__init__()
        if divisor_override == 0:
            raise ValueError(f"{OPERATOR}: divisor_override must not be zero")
        divisor = {"divisor_override": divisor_override or 0}
        if "divisor_override" not in PARAMETERS:
            if divisor_override is not None:
                raise ValueError(f"{OPERATOR}: divisor_override is not supported")
            divisor = {}
        self.settings = settings(
            kernel=kernel_size, stride=kernel_size if stride is None else stride, padding=padding, ceil_mode=ceil_mode,
            count_include_pad=count_include_pad, layout=layout, **divisor,
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.dim() == RANKS[0] - 1:  # without a batch
            return self.forward(x.unsqueeze(0)).squeeze(0)
        return run(self.settings, x)


def get_inputs():
    return [laid(torch.rand(*list(TUNED.values())[:RANKS[0]], dtype=DTYPE), TUNED["layout"])]


def get_init_inputs():
    sizes = [tuned(name) for name in ("kernel", "stride", "padding")]
    divisor = [tuned("divisor_override") or None] if "divisor_override" in PARAMETERS else []
    return [*sizes, bool(tuned("ceil_mode")), bool(tuned("count_include_pad")), *divisor]
