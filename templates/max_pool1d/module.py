class ModelNew(nn.Module):
    """1-D max pooling, as nn.MaxPool1d; it returns no indices."""

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
            raise ValueError("max_pool1d: return_indices is not supported")
        self.settings = settings(
            kernel=kernel_size, stride=kernel_size if stride is None else stride, padding=padding, dilation=dilation,
            ceil_mode=ceil_mode,
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.dim() == 2:  # without a batch
            return self.forward(x.unsqueeze(0)).squeeze(0)
        return run(self.settings, x)


def gradients(s, wanted, gradient, x):
    """PyTorch's own, which knows rows as images of height 1 and asks where the maxima were."""
    window = [[1, s["kernel"]], [1, s["stride"]], [0, s["padding"]], [1, s["dilation"]], bool(s["ceil_mode"])]
    row = x.unsqueeze(-2)
    _, places = torch.ops.aten.max_pool2d_with_indices(row, *window)
    above = torch.ops.aten.max_pool2d_with_indices_backward(gradient.unsqueeze(-2), row, *window, places)
    return [above.squeeze(-2)]


def get_inputs():
    return [torch.rand(TUNED["n"], TUNED["c"], TUNED["w"])]


def get_init_inputs():
    sizes = [tuned(name) for name in ("kernel", "stride", "padding", "dilation")]
    return [*sizes, False, bool(tuned("ceil_mode"))]
