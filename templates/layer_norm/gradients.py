def gradients(s, wanted, gradient, x, weight, bias):
    """PyTorch's own, with the dimension of the rows in the last place."""
    aten, x, gradient, length = torch.ops.aten, x.movedim(1, -1), gradient.movedim(1, -1), [x.shape[1]]
    _, mean, scale = aten.native_layer_norm(x, length, weight, bias, s["eps"])
    found, *others = aten.native_layer_norm_backward(gradient, x, length, mean, scale, weight, bias, wanted)
    return None if found is None else found.movedim(-1, 1), *others
