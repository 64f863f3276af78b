"""Folds tensors along dimensions with a pack of softmax and sum, whose kernels tell what they are given: along.py STAND_IN PACK"""
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

    def run(settings, x, mode=""):
        given_shapes.append(tuple(x.shape))
        return x if name == "softmax" else torch.Tensor(x.shape[0], x.shape[2])

    call.kernels, given_shapes = types.SimpleNamespace(operator=call.kernels.operator, run=run), []
    try:
        y = call((x,), [given.get(p[0]) for p in call.parameters])
        print(name, given, *given_shapes, tuple(y.shape))
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
attempt("sum", torch.Tensor())
