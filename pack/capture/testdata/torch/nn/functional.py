from .. import Tensor, conv2d, function, relu  # noqa: F401

same = lambda x, *more: x  # noqa: E731
linear = function("linear", 2, lambda x, weight, *more: Tensor(*x.shape[:-1], weight.shape[0], device=x.device.type))
relu_, batch_norm, gelu = (function(name, cost, same) for name, cost in (("relu_", 1), ("batch_norm", 0), ("gelu", 0)))
scaled_dot_product_attention = function("scaled_dot_product_attention", 0, same)
max_pool2d, cross_entropy = function("max_pool2d", 1), function("cross_entropy", 0)
mse_loss, triplet_margin_loss = function("mse_loss", 0), function("triplet_margin_loss", 0)
