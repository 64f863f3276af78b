class ModelNew(nn.Module):
    """Multiplies each element by 2.5, and reverses the order."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return run(settings(), x)


def get_inputs():
    return [torch.rand(TUNED["n"])]


def get_init_inputs():
    return []
