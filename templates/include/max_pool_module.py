class ModelNew(nn.Module):
    """Max pooling over one, two or three axes, as nn.MaxPool1d, nn.MaxPool2d and nn.MaxPool3d. It returns no indices.
    layout is how tensors lie: nchw, nhwc, or auto, as the input does; else as tuned."""

    def __init__(
        self,
        kernel_size: int,
        stride: int = None,
        padding: int = 0,
        dilation: int = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
        layout: str = None,
    ):
        super().__init__()
        if return_indices:
            raise ValueError(f"{OPERATOR}: return_indices is not supported")
        self.settings = settings(
            kernel=kernel_size, stride=kernel_size if stride is None else stride, padding=padding, dilation=dilation,
            ceil_mode=ceil_mode, layout=layout,
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.dim() == RANKS[0] - 1:  # without a batch
            return self.forward(x.unsqueeze(0)).squeeze(0)
        return run(self.settings, x)


def get_inputs():
    return [laid(torch.rand(*list(TUNED.values())[:RANKS[0]], dtype=DTYPE), TUNED["layout"])]


def get_init_inputs():
    sizes = [tuned(name) for name in ("kernel", "stride", "padding", "dilation")]
    return [*sizes, False, bool(tuned("ceil_mode"))]
