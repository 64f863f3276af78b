class ModelNew(nn.Module):
    """1-D average pooling, as nn.AvgPool1d(kernel_size, stride, padding).

    What the constructor does not take (ceil_mode, count_include_pad) is as tuned.
    """

    def __init__(self, kernel_size: int, stride: int = None, padding: int = 0):
        super().__init__()
        self.settings = settings(
            kernel=kernel_size, stride=kernel_size if stride is None else stride, padding=padding
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.dim() == 2:  # without a batch
            return self.forward(x.unsqueeze(0)).squeeze(0)
        return run(self.settings, x)


def gradients(s, wanted, gradient, x):
    """PyTorch's own, which knows rows as images of height 1."""
    above = torch.ops.aten.avg_pool2d_backward(
        gradient.unsqueeze(-2), x.unsqueeze(-2), [1, s["kernel"]], [1, s["stride"]], [0, s["padding"]],
        bool(s["ceil_mode"]), bool(s["count_include_pad"]), None,
    )
    return [above.squeeze(-2)]


def get_inputs():
    return [torch.rand(TUNED["n"], TUNED["c"], TUNED["w"])]


def get_init_inputs():
    return [tuned("kernel"), tuned("stride"), tuned("padding")]
