def gradients(s, wanted, gradient, x, weight, bias):
    """PyTorch's own."""
    return torch.ops.aten.convolution_backward(
        gradient, x, weight, None if bias is None else [s["c_out"]],
        each(s, "stride"), each(s, "padding"), each(s, "dilation"), False, [0] * (RANKS[0] - 2), s["groups"], list(wanted),
    )
