def gradients(s, wanted, gradient, x, weight, bias):
    """PyTorch's own. A depthwise convolution has a group a channel; a transposed one has an output_padding."""
    transposed = "output_padding" in PARAMETERS
    more = each(s, "output_padding") if transposed else [0] * (RANKS[0] - 2)
    return torch.ops.aten.convolution_backward(
        gradient, x, weight, None if bias is None else list(bias.shape),
        each(s, "stride"), each(s, "padding"), each(s, "dilation"), transposed, more, s.get("groups", x.size(1)), list(wanted),
    )
