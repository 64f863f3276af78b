def gradients(s, wanted, gradient, anchor, positive, negative):
    """PyTorch's own."""
    how = 2 if s["sum"] else 1 if s["mean"] else 0
    with torch.enable_grad():
        rows = [t.detach().requires_grad_() for t in (anchor, positive, negative)]
        y = torch.ops.aten.triplet_margin_loss(*rows, s["margin"], s["p"] or float("inf"), s["eps"], s["swap"], how)
    return torch.autograd.grad(y, rows, gradient.view(y.shape))
