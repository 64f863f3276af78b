def gradients(s, wanted, gradient, x):
    return [torch.ops.aten._log_softmax_backward_data(gradient, x.log_softmax(1), 1, x.dtype)]
