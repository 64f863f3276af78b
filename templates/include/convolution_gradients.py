def gradients(s, wanted, gradient, x, weight, bias, *beside):
    """PyTorch's own. A depthwise convolution has a group a channel; a transposed one has an output_padding."""
    transposed = "output_padding" in PARAMETERS
    more = each(s, "output_padding") if transposed else [0] * (RANKS[0] - 2)
    how = each(s, "stride"), each(s, "padding"), each(s, "dilation"), transposed, more, s.get("groups", x.size(1))
    sums = lambda: torch.ops.aten.convolution(x, weight, bias, *how)
    gradient, *found = through_epilogue(s, wanted[3:], gradient, sums, *beside)
    biases = None if bias is None else list(bias.shape)
    return *torch.ops.aten.convolution_backward(gradient, x, weight, biases, *how, list(wanted[:3])), *found
