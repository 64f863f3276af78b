"""Folds tensors along dimensions with a pack of operators, whose kernels print what they get: along.py PACK"""
import types

import on_cpu  # noqa: F401
import torch
from layers import calls, functions


def tensor(*shape, **more):
    return torch.empty(shape, **more)


def attempt(name, x, **given):
    """Prints the inputs and outputs of a kernel: for tensors as they are, and for folded ones as with gradients."""
    calls.graded = lambda tensors: False
    said = tried(name, x, dict(given))
    calls.graded = lambda tensors: True
    again = tried(name, x, dict(given))
    print(said if said == again or given.get("inplace") else f"{said} and then {again}")


def tried(name, x, given):
    call, shown = functions.CALLS[name][-1], dict(given)

    def now(*arguments):
        *tensors, settings, mode = arguments
        own, shapes, answer = operator.taken(settings, [t if t is None else tuple(t.shape) for t in tensors])
        parameters = [value for name, value in operator.decoded(own).items() if name != "epilogue"]
        given_shapes.extend((*parameters, *shapes))
        (shape, dtype, _), = operator.results(operator.bind(own, shapes, torch.float32, "", 90), torch.float32, answer)
        return tensor(*shape, dtype=dtype)

    operator, given_shapes = call.kernels.operator, []
    call.kernels = types.SimpleNamespace(operator=operator, now=now, run=lambda settings, *tensors, mode: now(*tensors, settings, mode))
    try:
        tensors = (x, *[given.pop(name, None) for name in call.weights])
        shown = dict(given)
        y = call(tensors, [given.get(p[0]) for p in call.parameters])
        return " ".join(map(str, (name, shown, *given_shapes, "gives", "x" if y is x else tuple(y.shape))))
    except ValueError as error:
        return f"{name} {shown} {error}"


x = tensor(2, 3, 4, 5)
for dim in (0, 1, -1, -4, 4):
    attempt("softmax", x, dim=dim)
attempt("softmax", x)
attempt("sum", x)
attempt("sum", x, keepdim=True)
for dim in (-2, (1, 2), (-1, -2), (0, 2)):
    attempt("sum", x, dim=dim)
    attempt("sum", x, dim=dim, keepdim=True)
w = tensor(4, 5)
attempt("layer_norm", x, normalized_shape=(4, 5), weight=w, bias=w)
attempt("layer_norm", x, normalized_shape=5, eps=0.5)
attempt("layer_norm", x, normalized_shape=(3, 5))
attempt("relu", x)
attempt("relu", tensor(4, 64))
attempt("relu", x, inplace=True)
attempt("sum", tensor())
for reduction in (None, "sum", "none", "batchmean"):
    attempt("mse_loss", x, target=x, reduction=reduction)
    attempt("cross_entropy", x, target=tensor(2, 4, 5), reduction=reduction)
attempt("mse_loss", x, target=tensor(3, 2, 4, 5))
attempt("cross_entropy", tensor(2, 3), target=tensor(2), reduction="none")
attempt("cross_entropy", tensor(3), target=tensor(), weight=tensor(3))
attempt("triplet_margin_loss", tensor(8), positive=tensor(8), negative=tensor(8))
attempt("gelu", x, approximate="tanh")
attempt("gelu", x)
attempt("gelu", x, approximate="erf")
c = tensor(3)
attempt("batch_norm", tensor(2, 3), running_mean=c, running_var=c, training=True)
attempt("batch_norm", x, weight=c)
attempt("batch_norm", x, training=True)
attempt("instance_norm", x, weight=c, bias=c)
attempt("masked_cumsum", x, mask=x, dim=1)
q = tensor(2, 3, 4, 8)
attempt("scaled_dot_product_attention", q, key=q, value=q, attn_mask=tensor(4, 4))
attempt("scaled_dot_product_attention", tensor(3, 4, 8), key=tensor(3, 4, 8), value=tensor(3, 4, 8), attn_mask=tensor(3, 4, 4))
plain = torch.where
torch.where = lambda mask, yes, no: print(mask.dtype, yes, no) or plain(mask, yes, no)
attempt("scaled_dot_product_attention", q, key=q, value=q, attn_mask=tensor(4, 4, dtype=torch.bool))
