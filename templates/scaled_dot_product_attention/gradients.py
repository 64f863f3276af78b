def gradients(s, wanted, gradient, q, k, v, mask):
    """PyTorch's own, of the same function."""
    given = [t if t is None else t.detach().requires_grad_(want) for t, want in zip((q, k, v, mask), wanted)]
    with torch.enable_grad():
        y = attention(s, *given)
        of = [t for t in given if t is not None and t.requires_grad]
        found = iter(torch.autograd.grad(y, of, gradient))
    return [next(found) if t is not None and t.requires_grad else None for t in given]
