"""Folds tensors along dimensions with a pack of operators, whose kernels tell what they are given: along.py STAND_IN PACK"""
import sys
import types

sys.path[:0] = [sys.argv[1], sys.argv[2] + "/build/torch-cuda"]
import stand_in  # noqa: E402, F401
import torch  # noqa: E402
from layers import functions  # noqa: E402

plain = torch.Tensor.reshape
torch.Tensor.reshape = lambda self, *sizes: plain(self, *(sizes[0] if sizes and isinstance(sizes[0], tuple) else sizes))


def attempt(name, x, **given):
    call = functions.CALLS[name][-1]

    def run(settings, *tensors, mode=""):
        shapes = [t if t is None else tuple(t.shape) for t in tensors]
        given_shapes.extend((*operator.decoded(settings).values(), *shapes))
        (shape, dtype, _), = operator.results(operator.bind(settings, shapes, torch.float32, "", 90), torch.float32)
        return torch.Tensor(*shape, dtype=dtype)

    operator, given_shapes = call.kernels.operator, []
    call.kernels = types.SimpleNamespace(operator=operator, run=run, renew=run)
    try:
        tensors = (x, *[given.pop(name, None) for name in call.weights])
        y = call(tensors, [given.get(p[0]) for p in call.parameters])
        print(name, given, *given_shapes, "gives", "x" if y is x else tuple(y.shape))
    except ValueError as error:
        print(name, given, error)


x = torch.Tensor(2, 3, 4, 5)
for dim in (0, 1, -1, -4, 4):
    attempt("softmax", x, dim=dim)
attempt("softmax", x)
attempt("sum", x)
attempt("sum", x, keepdim=True)
for dim in (-2, (1, 2), (-1, -2), (0, 2)):
    attempt("sum", x, dim=dim)
    attempt("sum", x, dim=dim, keepdim=True)
w = torch.Tensor(4, 5)
attempt("layer_norm", x, normalized_shape=(4, 5), weight=w, bias=w)
attempt("layer_norm", x, normalized_shape=5, eps=0.5)
attempt("layer_norm", x, normalized_shape=(3, 5))
attempt("relu", x)
attempt("relu", torch.Tensor(4, 64))
attempt("relu", x, inplace=True)
attempt("sum", torch.Tensor())
for reduction in (None, "sum", "none", "batchmean"):
    attempt("mse_loss", x, target=x, reduction=reduction)
    attempt("cross_entropy", x, target=torch.Tensor(2, 4, 5), reduction=reduction)
attempt("mse_loss", x, target=torch.Tensor(3, 2, 4, 5))
attempt("cross_entropy", torch.Tensor(2, 3), target=torch.Tensor(2), reduction="none")
attempt("cross_entropy", torch.Tensor(3), target=torch.Tensor(), weight=torch.Tensor(3))
attempt("triplet_margin_loss", torch.Tensor(8), positive=torch.Tensor(8), negative=torch.Tensor(8))
attempt("gelu", x, approximate="tanh")
attempt("gelu", x)
attempt("gelu", x, approximate="erf")
c = torch.Tensor(3)
attempt("batch_norm", torch.Tensor(2, 3), running_mean=c, running_var=c, training=True)
attempt("batch_norm", x, weight=c)
attempt("instance_norm", x, weight=c, bias=c)
attempt("masked_cumsum", x, mask=x, dim=1)
q = torch.Tensor(2, 3, 4, 8)
attempt("scaled_dot_product_attention", q, key=q, value=q, attn_mask=torch.Tensor(4, 4))
attempt("scaled_dot_product_attention", torch.Tensor(3, 4, 8), key=torch.Tensor(3, 4, 8), value=torch.Tensor(3, 4, 8), attn_mask=torch.Tensor(3, 4, 4))
