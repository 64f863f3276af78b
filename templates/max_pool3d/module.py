class ModelNew(nn.Module):
    """3-D max pooling, as nn.MaxPool3d; it returns no indices."""

    def __init__(
        self,
        kernel_size: int,
        stride: int = None,
        padding: int = 0,
        dilation: int = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ):
        super().__init__()
        if return_indices:
            raise ValueError("max_pool3d: return_indices is not supported")
        self.settings = settings(
            kernel=kernel_size, stride=kernel_size if stride is None else stride, padding=padding, dilation=dilation,
            ceil_mode=ceil_mode,
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.dim() == 4:  # without a batch
            return self.forward(x.unsqueeze(0)).squeeze(0)
        return run(self.settings, x)


def gradients(s, wanted, gradient, x):
    """PyTorch's own, which asks where the maxima were."""
    window = [each(s, "kernel"), each(s, "stride"), each(s, "padding"), each(s, "dilation"), bool(s["ceil_mode"])]
    _, places = torch.ops.aten.max_pool3d_with_indices(x, *window)
    return [torch.ops.aten.max_pool3d_with_indices_backward(gradient, x, *window, places)]


def get_inputs():
    return [torch.rand(TUNED["n"], TUNED["c"], TUNED["d"], TUNED["h"], TUNED["w"])]


def get_init_inputs():
    sizes = [tuned(name) for name in ("kernel", "stride", "padding", "dilation")]
    return [*sizes, False, bool(tuned("ceil_mode"))]
