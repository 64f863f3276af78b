def gradients(s, wanted, gradient, x):
    return [torch.ops.aten._softmax_backward_data(gradient, x.softmax(1), 1, x.dtype)]
