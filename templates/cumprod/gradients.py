def gradients(s, wanted, gradient, x):
    """PyTorch's own, of the product."""
    with torch.enable_grad():
        v = x.detach().requires_grad_()
        y = v.flip(1) if s["reverse"] else v
        y = y.cumprod(1) if not s["exclusive"] else torch.cat([torch.ones_like(y[:, :1]), y[:, :-1]], 1).cumprod(1)
        y = y.flip(1) if s["reverse"] else y
    return torch.autograd.grad(y, [v], gradient)
