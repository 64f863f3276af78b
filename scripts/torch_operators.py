"""What PyTorch has in the place of each built-in operator: the call, its defaults,
its weights and its module. The scripts beside this file take it from here."""
import functools
import re

import torch
import torch.nn as nn
import torch.nn.functional as F

POOLS = {
    "avg_pool1d": F.avg_pool1d, "avg_pool2d": F.avg_pool2d, "avg_pool3d": F.avg_pool3d,
    "max_pool1d": F.max_pool1d, "max_pool2d": F.max_pool2d, "max_pool3d": F.max_pool3d,
}
CONVOLUTIONS = {
    "conv1d": F.conv1d, "conv2d": F.conv2d, "conv3d": F.conv3d, "depthwise_conv2d": F.conv2d,
    "conv_transpose1d": F.conv_transpose1d, "conv_transpose2d": F.conv_transpose2d, "conv_transpose3d": F.conv_transpose3d,
}
TRANSPOSED = ("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
CONVOLUTION = {"stride": 1, "padding": 0, "dilation": 1, "bias": False, "groups": 1, "type": "f32"}

# Operators of rows: what PyTorch computes along a dimension.
ROWS = {
    "softmax": torch.softmax, "log_softmax": torch.log_softmax,
    "sum": torch.sum, "mean": torch.mean, "prod": torch.prod, "max": torch.amax, "min": torch.amin,
    "argmax": torch.argmax, "argmin": torch.argmin,
}
# Those whose elements have weights along the dimension, and those of a p-norm: see normed and p_norm.
NORMS = ("layer_norm", "rms_norm")
P_NORMS = ("norm", "normalize")
# Those of an image's channels: see channel_norm.
CHANNEL_NORMS = ("group_norm", "batch_norm")
SCANS = {"cumsum": torch.cumsum, "cumprod": torch.cumprod, "masked_cumsum": torch.cumsum}
ALONG = (*ROWS, *NORMS, *P_NORMS, *SCANS)

ATTENTION = "scaled_dot_product_attention"
SEPARABLE = "conv_separable2d"
TRIPLET = "triplet_margin_loss"

# The operators whose answer is one of the inputs: exact in any precision.
EXACT = ("max_pool1d", "max_pool2d", "max_pool3d", "max", "min", "argmax", "argmin")

# PyTorch's own defaults. A pool's stride is its kernel where none is given; a divisor of 0 is none.
IMAGE = {"type": "f32", "layout": "nchw"}
AVERAGE = {"padding": 0, "ceil_mode": False, "count_include_pad": True, **IMAGE}
DEFAULTS = {
    "avg_pool1d": AVERAGE,
    **{name: {**AVERAGE, "divisor_override": 0} for name in ("avg_pool2d", "avg_pool3d")},
    **{name: {"padding": 0, "dilation": 1, "ceil_mode": False, **IMAGE} for name in ("max_pool1d", "max_pool2d", "max_pool3d")},
    **{name: CONVOLUTION for name in ("conv1d", "conv2d", "conv3d")},
    **{name: {**CONVOLUTION, "output_padding": 0} for name in TRANSPOSED},
    "matmul": {"transpose_a": False, "transpose_b": False, "broadcast_a": False, "broadcast_b": False, "bias": False, "activation": "x", "type": "f32",
               "triangular_a": 0, "triangular_b": 0, "triangular_output": 0},
    "depthwise_conv2d": {"stride": 1, "padding": 0, "dilation": 1, "bias": False, **IMAGE},
    **{name: {"type": "f32"} for name in ROWS},
    "layer_norm": {"eps": 1e-5, "affine": True, "bias": True, "type": "f32"},
    "rms_norm": {"eps": 1e-5, "affine": True, "type": "f32"},
    "cross_entropy": {"sum": False, "mean": True, "ignore_index": -100, "label_smoothing": 0.0, "weight": False, "type": "f32"},
    TRIPLET: {"sum": False, "mean": True, "margin": 1.0, "p": 2, "eps": 1e-6, "swap": False, "type": "f32"},
    "group_norm": {"groups": 1, "eps": 1e-5, "weight": True, "bias": True, "type": "f32"},
    "batch_norm": {"training": False, "momentum": 0.1, "eps": 1e-5, "weight": True, "bias": True, "type": "f32"},
    "normalize": {"p": 2, "mean": False, "eps": 1e-12, "type": "f32"},
    "norm": {"p": 2, "type": "f32"},
    **{name: {"reverse": False, "exclusive": False, "type": "f32"} for name in SCANS},
    "elementwise": {"f": "relu(x)", "sum": False, "mean": False, "type": "f32"},
    SEPARABLE: {"c_out": None, "stride": 1, "padding": 0, "dilation": 1, "bias": False, "type": "f32"},
    ATTENTION: {"width_v": None, "heads_kv": None, "causal": False, "scale": None, "mask_batch": 0, "mask_heads": 0, "type": "f32"},
}


# The functions of expressions (templates/include/activations.yaml).
FUNCTIONS = {
    **{name: getattr(torch, name) for name in (
        "abs", "exp", "expm1", "log", "log1p", "sqrt", "erf", "sin", "cos", "tanh", "square", "pow", "clamp", "sigmoid")},
    **{name: getattr(F, name) for name in (
        "relu", "relu6", "leaky_relu", "silu", "gelu", "elu", "selu", "hardsigmoid", "hardswish", "hardtanh", "softplus", "logsigmoid",
        "softsign", "mish")},
    "swish": F.silu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "min_gpt_new_gelu": lambda x: 0.5 * x * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * torch.pow(x, 3)))),
    "smooth_l1": lambda x, beta=1: F.smooth_l1_loss(x, torch.zeros_like(x), reduction="none", beta=beta),
    "huber": lambda x, delta=1: F.huber_loss(x, torch.zeros_like(x), reduction="none", delta=delta),
    "xlogy": torch.xlogy,
    "max": lambda x, y: torch.maximum(*torch.broadcast_tensors(*map(torch.as_tensor, (x, y)))),
    "min": lambda x, y: torch.minimum(*torch.broadcast_tensors(*map(torch.as_tensor, (x, y)))),
}


def expression(text):
    """The function of tensors by name that an expression of autotune's is."""
    code = compile(text, "f", "eval")
    return lambda t: eval(code, {"__builtins__": {}, **FUNCTIONS}, {name: v for name, v in t.items() if v is not None})


def reduced(p, y):
    """Outputs of an elementwise problem, or their sum or mean as a tensor of one."""
    return y.sum().view(1, 1, 1) if p["sum"] else y.mean().view(1, 1, 1) if p["mean"] else y


# The types of elements, by the words that a parameter `type` takes.
DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}

# How tensors lie in memory, by the words that a parameter `layout` takes.
LAYOUTS = ("nchw", "nhwc")


def dtype(parameters):
    """The type of the elements of a problem's tensors."""
    return DTYPES[parameters.get("type", "f32")]


def channels_last(tensor):
    """The tensor, its channels side by side in memory."""
    return tensor.movedim(1, -1).contiguous().movedim(-1, 1) if tensor.dim() > 2 else tensor


def drawn(name, shape, dtype, labels):
    """A tensor on the GPU for a problem's tensor of that name: truths, labels, or normal numbers; variances are positive."""
    if not dtype.is_floating_point:
        return torch.randint(2 if dtype is torch.bool else labels, shape, device="cuda").to(dtype)
    t = torch.randn(shape, device="cuda", dtype=dtype)
    return t.abs() + 0.5 if name == "running_var" else t


def tolerance(dtype, usual=1e-4):
    """How far apart, absolutely and relatively, answers may be that are rounded to a type: one
    of 16 bits to the one or the other neighbour of a sum."""
    return {"atol": usual, "rtol": max(usual, torch.finfo(dtype).eps)}


def sums_in_float():
    """PyTorch adds products of 16 bits up in float32 throughout, not only within a part of a sum."""
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False


def value(text):
    """A parameter as --set takes it: a truth, a type of elements, a layout, a number, or numbers joined by x."""
    if text in DTYPES or text in LAYOUTS:
        return text
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if re.fullmatch(r"[-+]?[0-9]*[.]?[0-9]+(e[-+]?[0-9]+)?", text) and ("." in text or "e" in text):
        return float(text)
    if re.search("[a-z]", text.replace("x", "")) or text == "x":
        return text
    parts = [int(p) for p in text.split("x")]
    return parts[0] if len(parts) == 1 else tuple(parts)


def as_set(value):
    """The text that --set takes for a value."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return "x".join(str(v) for v in value)
    return str(value)


def complete(operator, parameters):
    """The parameters with PyTorch's defaults spelt out: an operator here may have others."""
    if operator not in DEFAULTS:
        raise ValueError(f"{operator}: torch_operators.py does not know PyTorch's name for it")
    first = {"stride": parameters["kernel"]} if operator in POOLS else {}
    return {**first, **DEFAULTS[operator], **parameters}


def weights(operator, shape, parameters):
    """The shapes of the weights by name, and the bound that they are uniform within."""
    if operator in POOLS or operator in ROWS or operator in P_NORMS or operator in SCANS or operator in (ATTENTION, TRIPLET):
        return {}, 0.0
    p = complete(operator, parameters)
    if operator in NORMS:
        return {name: (shape[1],) for name, there in (("weight", p["affine"]), ("bias", p.get("bias"))) if there}, 1.0
    if operator == "cross_entropy":
        return {"weight": (shape[1],)} if p["weight"] else {}, 1.0
    if operator in CHANNEL_NORMS:
        running = ("running_mean", "running_var") if operator == "batch_norm" else ()
        return {name: (shape[1],) for name in ("weight", "bias", *running) if p.get(name, True)}, 1.0
    if operator == "elementwise":
        return {name: (1, shape[1], 1) for name in ("w", "b") if re.search(rf"\b{name}\b", p["f"])}, 1.0
    if operator == "matmul":
        batch, _, k, n = shape
        shapes = {"b": (1 if p["broadcast_b"] else batch, *((n, k) if p["transpose_b"] else (k, n)))}
        return {**shapes, "bias": (n,)} if p["bias"] else shapes, k ** -0.5
    channels = shape[1]
    if operator == SEPARABLE:
        kernel = p["kernel"] if isinstance(p["kernel"], tuple) else (p["kernel"],) * 2
        c_out = p["c_out"] or channels
        biases = {"depthwise_bias": (channels,), "pointwise_bias": (c_out,)} if p["bias"] else {}
        return {"depthwise": (channels, 1, *kernel), "pointwise": (c_out, channels, 1, 1), **biases}, channels ** -0.5
    c_out, groups = (channels, channels) if operator == "depthwise_conv2d" else (p["c_out"], p["groups"])
    kernel = p["kernel"] if isinstance(p["kernel"], tuple) else (p["kernel"],) * (len(shape) - 2)
    weight = (channels, c_out // groups, *kernel) if operator in TRANSPOSED else (c_out, channels // groups, *kernel)
    shapes = {"weight": weight}
    if p["bias"]:
        shapes["bias"] = (c_out,)
    return shapes, torch.Size(weight[1:]).numel() ** -0.5


def inputs(operator, shape, parameters):
    """The shapes of the inputs by name."""
    if operator == ATTENTION:
        return attention_inputs(*shape, complete(operator, parameters))
    if operator == "cross_entropy":
        return {"x": tuple(shape), "target": (shape[0], shape[2])}
    if operator == "masked_cumsum":
        return {"x": tuple(shape), "mask": tuple(shape)}
    if operator == TRIPLET:
        return {name: tuple(shape) for name in ("anchor", "positive", "negative")}
    if operator != "matmul":
        return {"x": tuple(shape)}
    batch, m, k, _ = shape
    p = complete(operator, parameters)
    return {"a": (1 if p["broadcast_a"] else batch, *((k, m) if p["transpose_a"] else (m, k)))}


def attention_inputs(batch, heads, queries, keys, width, p):
    """Of attention; a mask is there if parameters say how many."""
    kv = batch, p["heads_kv"] or heads, keys
    shapes = {"q": (batch, heads, queries, width), "k": (*kv, width), "v": (*kv, p["width_v"] or width)}
    return {**shapes, "mask": (p["mask_batch"], p["mask_heads"], queries, keys)} if p["mask_batch"] else shapes


def attention(p, t):
    """Attention, by whichever of PyTorch's ways that it chooses."""
    q, k = t["q"], t["k"]
    return F.scaled_dot_product_attention(
        q, k, t["v"], t.get("mask"), is_causal=p["causal"], scale=p["scale"], enable_gqa=k.shape[1] != q.shape[1])


def separable(p, t):
    """A depthwise convolution, and one of 1 x 1 over its channels."""
    between = F.conv2d(t["x"], t["depthwise"], t.get("depthwise_bias"), p["stride"], p["padding"], p["dilation"], t["x"].shape[1])
    if p["type"] != "f32":  # also where it is added up in double
        between = between.to(dtype(p)).to(t["x"].dtype)
    return F.conv2d(between, t["pointwise"], t.get("pointwise_bias"))


class Separable(nn.Module):
    """What separable computes, with its parameters."""

    def __init__(self, c_in, c_out, kernel, stride=1, padding=0, dilation=1, bias=False):
        super().__init__()
        self.depthwise = nn.Conv2d(c_in, c_in, kernel, stride, padding, dilation, c_in, bias)
        self.pointwise = nn.Conv2d(c_in, c_out, 1, bias=bias)

    def forward(self, x):
        return self.pointwise(self.depthwise(x))


def batched(operator):
    """The names of the inputs that are a batch, of one or more."""
    if operator == ATTENTION:
        return ("q", "k", "v", "mask")
    return ("a", "b") if operator == "matmul" else ("x",)


def part(operator, tensors, first, last):
    """The tensors of a part of the batch."""
    return {name: t[first:last] if name in batched(operator) and t.shape[0] > 1 else t for name, t in tensors.items()}


def triangle(t, which):
    """What counts of matrices: the upper triangle (1), the lower one (-1) or all."""
    return t.triu() if which > 0 else t.tril() if which < 0 else t


def product(p):
    """The product of matrices that a matmul's parameters say."""
    def call(t):
        a, b = (triangle(t[name].mT if p[f"transpose_{name}"] else t[name], p[f"triangular_{name}"]) for name in ("a", "b"))
        y = triangle(torch.matmul(a, b), p["triangular_output"])
        return expression(p["activation"])({"x": y + t["bias"] if p["bias"] else y})

    return call


def normed(operator, p, x, weight=None, bias=None):
    """A norm along the dimension 1."""
    weight, bias = (t if t is not None and t.numel() else None for t in (weight, bias))
    last = x.movedim(1, -1)
    if operator == "layer_norm":
        return F.layer_norm(last, last.shape[-1:], weight, bias, p["eps"]).movedim(-1, 1)
    y = last * torch.rsqrt(last.square().mean(-1, True) + p["eps"])
    return (y if weight is None else y * weight).movedim(-1, 1)


def channel_norm(operator, p, t):
    """A norm of channels. Running statistics stay as they are here."""
    x, weight, bias, mean, var = (t[name].clone() if t.get(name) is not None and t[name].numel() else None for name in (
        "x", "weight", "bias", "running_mean", "running_var"))
    if operator == "group_norm":
        return F.group_norm(x, p["groups"], weight, bias, p["eps"])
    return F.batch_norm(x, mean, var, weight, bias, p["training"], p["momentum"], p["eps"])


def reduction(p):
    """The losses that parameters ask for, as PyTorch calls it."""
    return "sum" if p["sum"] else "mean" if p["mean"] else "none"


def triplet(p, anchor, positive, negative):
    """The losses of rows, a tensor of one where they are put together; a p of 0 is infinite."""
    rest = {"margin": p["margin"], "p": p["p"] or float("inf"), "eps": p["eps"], "swap": p["swap"]}
    y = F.triplet_margin_loss(anchor, positive, negative, **rest, reduction=reduction(p))
    return y.view(-1)


def cross_entropy(p, x, target, weight=None):
    """The losses of labels along the dimension 1."""
    weight = weight if weight is not None and weight.numel() else None
    y = F.cross_entropy(x, target.long(), weight, ignore_index=p["ignore_index"], reduction=reduction(p), label_smoothing=p["label_smoothing"])
    return y.view(1, 1) if p["sum"] or p["mean"] else y


def scan(operator, p, x, mask=None):
    """A scan along the dimension 1: cumulative, backwards, or without each element itself."""
    x = x * mask if operator == "masked_cumsum" else x
    x = x.flip(1) if p["reverse"] else x
    if p["exclusive"]:
        first = torch.full_like(x[:, :1], operator == "cumprod")
        x = torch.cat([first, x[:, :-1]], 1)
    y = SCANS[operator](x, 1)
    return y.flip(1) if p["reverse"] else y


def p_norm(operator, p, x):
    """The p-norm along the dimension 1, or the elements over it."""
    size = torch.linalg.vector_norm(x, p["p"] or float("inf"), 1, operator == "normalize")
    if operator == "norm":
        return size
    if p["mean"] and p["p"]:
        size = size / x.shape[1] ** (1 / p["p"])
    return x / size.clamp(min=p["eps"])


def call(operator, parameters):
    """The function that PyTorch computes, of the tensors by name: x, weight, bias; of a matmul a, b, bias."""
    p = complete(operator, parameters)
    if operator in POOLS:
        rest = {name: p[name] for name in ("stride", *DEFAULTS[operator]) if name not in IMAGE}
        if rest.get("divisor_override") == 0:
            del rest["divisor_override"]
        return lambda t: POOLS[operator](t["x"], p["kernel"], **rest)
    if operator in ROWS:
        return lambda t: ROWS[operator](t["x"], 1)
    if operator in NORMS:
        return lambda t: normed(operator, p, t["x"], t.get("weight"), t.get("bias"))
    if operator in CHANNEL_NORMS:
        return lambda t: channel_norm(operator, p, t)
    if operator == "cross_entropy":
        return lambda t: cross_entropy(p, t["x"], t["target"], t.get("weight"))
    if operator == TRIPLET:
        return lambda t: triplet(p, t["anchor"], t["positive"], t["negative"])
    if operator in SCANS:
        return lambda t: scan(operator, p, t["x"], t.get("mask"))
    if operator in P_NORMS:
        return lambda t: p_norm(operator, p, t["x"])
    if operator == "matmul":
        return product(p)
    if operator == ATTENTION:
        return lambda t: attention(p, t)
    if operator == SEPARABLE:
        return lambda t: separable(p, t)
    if operator == "elementwise":
        return lambda t: reduced(p, expression(p["f"])({name: v if name == "x" else v.view(1, -1, 1) for name, v in t.items() if v is not None}))

    def convolution(t):
        bias = t.get("bias")
        groups = t["x"].shape[1] if operator == "depthwise_conv2d" else p["groups"]
        if bias is not None and not bias.numel():
            bias = None
        rest = {name: p[name] for name in ("stride", "padding", "dilation", "output_padding") if name in p}
        return CONVOLUTIONS[operator](t["x"], t["weight"], bias, groups=groups, **rest)

    return convolution


class Conv(nn.Module):
    """A convolution of PyTorch's under the name that exported modules give it."""

    def __init__(self, name, layer):
        super().__init__()
        self.name = name
        setattr(self, name, layer)

    def forward(self, x):
        return getattr(self, self.name)(x)


def depthwise(channels, kernel, stride=1, padding=0, bias=False, dilation=1):
    return Conv("conv2d", nn.Conv2d(channels, channels, kernel, stride, padding, dilation, channels, bias))


def convolution(name, layer):
    """The module of that name, its bias off unless it is asked for."""

    def made(c_in, c_out, kernel, stride=1, padding=0, dilation=1, groups=1, bias=False, padding_mode="zeros"):
        return Conv(name, layer(c_in, c_out, kernel, stride, padding, dilation, groups, bias, padding_mode))

    return made


def transposed(name, layer):
    def made(c_in, c_out, kernel, stride=1, padding=0, output_padding=0, groups=1, bias=False, dilation=1):
        return Conv(name, layer(c_in, c_out, kernel, stride, padding, output_padding, groups, bias, dilation))

    return made


class Product(nn.Module):
    """A product of matrices as a matmul's parameters say, of which an exported module takes none."""

    def __init__(self, parameters):
        super().__init__()
        self.parameters_of = parameters

    def forward(self, a, b, bias=None):
        return product({**self.parameters_of, "bias": bias is not None})({"a": a, "b": b, "bias": bias})


def rows(function):
    """The function as a module that computes it along a dimension."""

    class Along(nn.Module):
        def __init__(self, dim=-1, keepdim=False):
            super().__init__()
            self.rest = {"dim": dim, **({"keepdim": True} if keepdim else {})}

        def forward(self, x):
            return function(x, **self.rest)

    return Along


def along(operator, x, dim, keepdim=False, **parameters):
    """A p-norm along any dimension."""
    y = p_norm(operator, complete(operator, parameters), x.movedim(dim, 0).unsqueeze(0)).squeeze(0)
    return y.movedim(0, dim) if operator == "normalize" else y.unsqueeze(dim) if keepdim else y


class Attention(nn.Module):
    """Attention; what a call leaves out is as a problem's parameters say. An exported module takes none."""

    def __init__(self, parameters):
        super().__init__()
        self.of = parameters

    def forward(self, q, k, v, attn_mask=None, dropout_p=0.0, is_causal=None, scale=None, enable_gqa=False):
        causal = (self.of["causal"] and attn_mask is None) if is_causal is None else is_causal
        return attention({"causal": causal, "scale": scale}, {"q": q, "k": k, "v": v, "mask": attn_mask})


class Chain(nn.Module):
    """The expression of an elementwise problem's parameters. An exported module takes none."""

    def __init__(self, parameters):
        super().__init__()
        self.function, self.parameters_of = expression(parameters["f"]), parameters

    def forward(self, x, w=None, b=None):
        y = reduced(complete("elementwise", self.parameters_of), self.function({"x": x, "w": w, "b": b}))
        return y.view(()) if y.numel() < x.numel() else y


# PyTorch's modules, with the arguments of the exported ones. A matmul's and an elementwise one's are the parameters of
# its problem.
MODULES = {
    "avg_pool1d": nn.AvgPool1d,
    "avg_pool2d": nn.AvgPool2d,
    "avg_pool3d": nn.AvgPool3d,
    "max_pool1d": nn.MaxPool1d,
    "max_pool2d": nn.MaxPool2d,
    "max_pool3d": nn.MaxPool3d,
    "matmul": Product,
    "conv1d": convolution("conv1d", nn.Conv1d),
    "conv2d": convolution("conv2d", nn.Conv2d),
    "conv3d": convolution("conv3d", nn.Conv3d),
    "conv_transpose1d": transposed("conv_transpose1d", nn.ConvTranspose1d),
    "conv_transpose2d": transposed("conv_transpose2d", nn.ConvTranspose2d),
    "conv_transpose3d": transposed("conv_transpose3d", nn.ConvTranspose3d),
    "depthwise_conv2d": depthwise,
    "elementwise": Chain,
    ATTENTION: Attention,
    SEPARABLE: Separable,
    **{name: rows(function) for name, function in ROWS.items()},
    "layer_norm": nn.LayerNorm,
    "group_norm": nn.GroupNorm,
    "cross_entropy": nn.CrossEntropyLoss,
    TRIPLET: nn.TripletMarginLoss,
    "batch_norm": nn.BatchNorm1d,
    **{name: rows(functools.partial(along, name)) for name in P_NORMS},
    **{name: rows(function) for name, function in SCANS.items()},
}


def rounded(x, math):
    """As a math mode rounds factors: to 10 bits after the leading one, nearest, ties away from
    zero in tf32 (as cvt.rna does), to even in tf32_even (as cvt.rn does); not at all in fp32."""
    if math == "fp32":
        return x
    bits = x.contiguous().view(torch.int32)
    half = 0x1000 if math == "tf32" else 0xFFF + (bits >> 13 & 1)
    return ((bits + half) & ~0x1FFF).view(torch.float32)


def ties(shape):
    """Numbers on the GPU of which each lies half way between two of TF32."""
    few = {"device": "cuda", "dtype": torch.int16}  # bytes, for shapes that nearly fill the GPU
    odd = torch.randint(1024, 2048, shape, **few) * 2 + 1
    return (odd * (torch.randint(0, 2, shape, **few) * 2 - 1) / 4096).float()
