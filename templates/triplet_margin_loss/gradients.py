def gradients(s, wanted, gradient, anchor, positive, negative):
    """PyTorch's own."""
    how = 2 if s["sum"] else 1 if s["mean"] else 0
    given = [t.detach().requires_grad_(want) for t, want in zip((anchor, positive, negative), wanted)]
    with torch.enable_grad():
        y = torch.ops.aten.triplet_margin_loss(*given, s["margin"], s["p"] or float("inf"), s["eps"], bool(s["swap"]), how)
    found = iter(torch.autograd.grad(y, [t for t in given if t.requires_grad], gradient.view(y.shape)))
    return [next(found) if t.requires_grad else None for t in given]
