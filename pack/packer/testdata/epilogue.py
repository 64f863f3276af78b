"""Products with epilogues, whose tensors a call names: epilogue.py PACK, with PyTorch itself and a driver that runs nothing."""
import sys

sys.path[:0] = [sys.argv[1] + "/python"]
import on_cpu  # noqa: E402, F401
import torch  # noqa: E402
import layers  # noqa: E402

a, b, d, r, s = torch.randn(2, 9, 24), torch.randn(2, 24, 16), torch.randn(16), torch.randn(2, 9, 16), torch.randn(1)


def check(what, ok):
    print("ok" if ok else "WRONG", what)


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

tensors = [t.clone().requires_grad_() for t in (a, b, d, s)]
y = layers.matmul_epilogue(tensors[0], tensors[1], "gelu(x+d[n])*s[f32]", d=tensors[2], s=tensors[3])
own = [t.detach().clone().requires_grad_() for t in tensors]
theirs = torch.nn.functional.gelu(own[0] @ own[1] + own[2]) * own[3]
g = torch.randn(2, 9, 16)
for name, ours, wanted in zip("abds", torch.autograd.grad(y, tensors, g), torch.autograd.grad(theirs, own, g)):
    check(f"the gradient of {name}", torch.allclose(ours, wanted, atol=1e-4))
