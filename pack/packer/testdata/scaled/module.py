class ModelNew(nn.Module):
    """Twice and a half of each element, backwards."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return run(settings(), x)


def get_inputs():
    return [torch.rand(TUNED["n"])]


def get_init_inputs():
    return []
