def gradients(s, wanted, gradient, x):
    """PyTorch's own, of the formula."""
    with torch.enable_grad():
        v = x.detach().requires_grad_()
        size = torch.linalg.vector_norm(v, s["p"] or float("inf"), 1, True)
        size = size / x.shape[1] ** (1 / s["p"]) if s["mean"] and s["p"] else size
        y = v / size.clamp(min=s["eps"])
    return torch.autograd.grad(y, [v], gradient)
