"""Calls products with epilogues, with the real PyTorch and a driver that runs nothing: epilogue.py PACK"""
import torch
from on_cpu import check
import layers

a, b, d, r, s = torch.randn(2, 9, 24), torch.randn(2, 24, 16), torch.randn(16), torch.randn(2, 9, 16), torch.randn(1)


def refused(what, says, *arguments, **named):
    try:
        layers.matmul_epilogue(*arguments, **named)
        check(f"{what}: it was taken", False)
    except (TypeError, ValueError) as error:
        check(f"{what}: {error}", says in str(error))


with torch.no_grad():
    check("two tensors", layers.matmul_epilogue(a, b, "gelu(x + d[n]) * s[f32]", d=d, s=s).shape == (2, 9, 16))
    check("another", layers.matmul_epilogue(a, b, "x+r[batch,m,n]", r=r).shape == (2, 9, 16))
    check("none", layers.matmul_epilogue(a, b, "x").shape == layers.matmul(a, b).shape)
    check("another shape", layers.matmul_epilogue(a[:, :5], b, "relu(x+d[n])", d=d).shape == (2, 5, 16))
    refused("a tensor is missing", "d is missing", a, b, "relu(x+d[n])")
    refused("a tensor too many", "r has the shape", a, b, "relu(x+d[n])", d=d, r=r)
    refused("another extent", "d has the shape (15,)", a, b, "relu(x+d[n])", d=d[1:])
    refused("another epilogue", "epilogue must be one of", a, b, "tanh(x)")


def same_gradients(names, ours, theirs, *tensors):
    given, own = ([t.detach().clone().requires_grad_() for t in tensors] for _ in range(2))
    y, wanted = ours(*given), theirs(*own)
    g = torch.randn(wanted.shape)
    for name, a, b in zip(names, torch.autograd.grad(y, given, g), torch.autograd.grad(wanted, own, g)):
        check(f"the gradient of {name}", torch.allclose(a, b, atol=1e-4))


F = torch.nn.functional
same_gradients("abds", lambda a, b, d, s: layers.matmul_epilogue(a, b, "gelu(x+d[n])*s[f32]", d=d, s=s),
               lambda a, b, d, s: F.gelu(a @ b + d) * s, a, b, d, s)
x, w, q, r = torch.randn(2, 3, 9, 8), torch.randn(6, 3, 3, 3), torch.randn(6), torch.randn(2, 6, 9, 8)
same_gradients("xwqr", lambda x, w, q, r: layers.conv2d_epilogue(x, w, "silu(x*q[c])+r[n,c,h,w]", q=q, r=r, padding=1),
               lambda x, w, q, r: F.silu(F.conv2d(x, w, padding=1) * q.view(6, 1, 1)) + r, x, w, q, r)
for ours, theirs in ((layers.avg_pool1d_epilogue, F.avg_pool1d), (layers.max_pool1d_epilogue, F.max_pool1d)):
    same_gradients("xqr", lambda x, q, r: ours(x, "silu(x*q[c])+r[n,c,w]", kernel=3, q=q, r=r),
                   lambda x, q, r: F.silu(theirs(x, 3) * q.view(3, 1)) + r, x[..., 0], q[:3], r[:, :3, 0, :3])
