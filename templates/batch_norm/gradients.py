def gradients(s, wanted, gradient, x, weight, bias, running_mean, running_var):
    """PyTorch's own. In training they do not depend on the running statistics."""
    given = [t if t is None else t.detach().requires_grad_(want) for t, want in zip((x, weight, bias), wanted)]
    running = (None, None) if s["training"] else (running_mean, running_var)
    with torch.enable_grad():
        y = torch.batch_norm(given[0], *given[1:], *running, bool(s["training"]), 0.0, s["eps"], False)
        of = [t for t in given if t is not None and t.requires_grad]
        found = iter(torch.autograd.grad(y, of, gradient))
    return [*(next(found) if t is not None and t.requires_grad else None for t in given), None, None]
