class ModelNew(nn.Module):
    """As nn.BatchNorm1d, 2d or 3d: in training by the batch's statistics, which also renew the running ones."""

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = True,
                 track_running_stats: bool = True, bias: bool = True):
        super().__init__()
        need(momentum is not None, "momentum is None; it must be a number")
        self.weight = nn.Parameter(torch.ones(num_features, dtype=DTYPE)) if affine else None
        self.bias = nn.Parameter(torch.zeros(num_features, dtype=DTYPE)) if affine and bias else None
        self.register_buffer("running_mean", torch.zeros(num_features, dtype=DTYPE) if track_running_stats else None)
        self.register_buffer("running_var", torch.ones(num_features, dtype=DTYPE) if track_running_stats else None)
        self.register_buffer("num_batches_tracked", torch.tensor(0) if track_running_stats else None)
        chosen = dict(eps=eps, momentum=momentum, weight=affine, bias=affine and bias)
        self.settings = {training: settings(**chosen, training=training) for training in (False, True)}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        need(x.dim() >= 2, f"x has the shape {tuple(x.shape)}; it should have a batch and channels")
        training = self.training or self.running_mean is None
        if self.training and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
        images = x.reshape(x.shape[0], x.shape[1], x.shape[2:].numel())
        running = [x.new_zeros(images.shape[1]) if t is None else t for t in (self.running_mean, self.running_var)]
        return run(self.settings[training], images, self.weight, self.bias, *running).view(x.shape)


def get_inputs():
    return [torch.rand(TUNED["n"], TUNED["c"], TUNED["hw"], dtype=DTYPE)]


def get_init_inputs():
    return [TUNED["c"], TUNED["eps"], TUNED["momentum"], bool(TUNED["weight"]), True, bool(TUNED["bias"])]
