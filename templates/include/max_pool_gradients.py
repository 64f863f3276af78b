def gradients(s, wanted, gradient, x):
    """PyTorch's own, which asks where the maxima were."""
    aten, names = torch.ops.aten, ("kernel", "stride", "padding", "dilation")
    if RANKS[0] == 3:  # PyTorch knows rows as images of height 1
        window = [[alone, *each(s, name)] for name, alone in zip(names, (1, 1, 0, 1))]
        gradient, x = gradient.unsqueeze(-2), x.unsqueeze(-2)
    else:
        window = [each(s, name) for name in names]
    window.append(bool(s["ceil_mode"]))
    if RANKS[0] == 5:
        _, places = aten.max_pool3d_with_indices(x, *window)
        return [aten.max_pool3d_with_indices_backward(gradient, x, *window, places)]
    _, places = aten.max_pool2d_with_indices(x, *window)
    above = aten.max_pool2d_with_indices_backward(gradient, x, *window, places)
    return [above.squeeze(-2) if RANKS[0] == 3 else above]
