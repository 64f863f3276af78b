def gradients(s, wanted, gradient, x, depthwise, depthwise_bias, pointwise, pointwise_bias, *beside):
    """PyTorch's own, of both convolutions."""
    channels, of = x.size(1), torch.ops.aten
    own = each(s, "stride"), each(s, "padding"), each(s, "dilation"), False, [0, 0], channels
    one = [1, 1], [0, 0], [1, 1], False, [0, 0], 1
    biased = None if depthwise_bias is None else [channels]
    between = of.convolution(x, depthwise, depthwise_bias, *own)
    sums = lambda: of.convolution(between, pointwise, pointwise_bias, *one)
    gradient, *found = through_epilogue(s, wanted[5:], gradient, sums, *beside)
    inner, *second = of.convolution_backward(gradient, between, pointwise, None if pointwise_bias is None else [s["c_out"]], *one, [True, *wanted[3:5]])
    return [*of.convolution_backward(inner, x, depthwise, biased, *own, list(wanted[:3])), *second, *found]
