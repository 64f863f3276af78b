def gradients(s, wanted, gradient, q, k, v, mask):
    """PyTorch's own, of the same function."""
    given = [t if t is None else t.detach().requires_grad_(want) for t, want in zip((q, k, v, mask), wanted)]
    with torch.enable_grad():
        y = torch.ops.aten.scaled_dot_product_attention(*given, 0.0, bool(s["causal"]), scale=s["scale"], enable_gqa=bool(s["gqa"]))
        of = [t for t in given if t is not None and t.requires_grad]
        found = iter(torch.autograd.grad(y, of, gradient))
    return [next(found) if t is not None and t.requires_grad else None for t in given]
