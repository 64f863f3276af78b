def gradients(s, wanted, gradient, x):
    """The row's, where the answer was taken from."""
    return [torch.zeros_like(x).scatter_(1, x.min(1, True).indices, gradient.unsqueeze(1))]
