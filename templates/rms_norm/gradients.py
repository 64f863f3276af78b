def gradients(s, wanted, gradient, x, weight, bias):
    """Of the formula, in float32."""
    g, v = gradient.float(), x.float()
    scale = torch.rsqrt(v.square().mean(1, True) + s["eps"])
    inner = g if weight is None else g * weight.float().view(1, -1, 1)
    found = scale * (inner - v * scale.square() * (inner * v).mean(1, True))
    of_weight = None if weight is None else (g * v * scale).sum((0, 2)).to(x.dtype)
    return found.to(x.dtype), of_weight, None
