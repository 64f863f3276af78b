class ModelNew(nn.Module):
    """3-D average pooling, as nn.AvgPool3d."""

    def __init__(
        self,
        kernel_size: int,
        stride: int = None,
        padding: int = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int = None,
    ):
        super().__init__()
        if divisor_override == 0:
            raise ValueError("avg_pool3d: divisor_override must not be zero")
        self.settings = settings(
            kernel=kernel_size, stride=kernel_size if stride is None else stride, padding=padding, ceil_mode=ceil_mode,
            count_include_pad=count_include_pad, divisor_override=divisor_override or 0,
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.dim() == 4:  # without a batch
            return self.forward(x.unsqueeze(0)).squeeze(0)
        return run(self.settings, x)


def gradients(s, wanted, gradient, x):
    """PyTorch's own."""
    return [torch.ops.aten.avg_pool3d_backward(
        gradient, x, each(s, "kernel"), each(s, "stride"), each(s, "padding"),
        bool(s["ceil_mode"]), bool(s["count_include_pad"]), s["divisor_override"] or None,
    )]


def get_inputs():
    return [torch.rand(TUNED["n"], TUNED["c"], TUNED["d"], TUNED["h"], TUNED["w"])]


def get_init_inputs():
    sizes = [tuned(name) for name in ("kernel", "stride", "padding")]
    return [*sizes, bool(tuned("ceil_mode")), bool(tuned("count_include_pad")), tuned("divisor_override") or None]
