def gradients(s, wanted, gradient, x):
    window = [each(s, name) for name in ("kernel", "stride", "padding")]
    rest = bool(s["ceil_mode"]), bool(s["count_include_pad"]), s.get("divisor_override") or None
    if RANKS[0] == 5:
        return [torch.ops.aten.avg_pool3d_backward(gradient, x, *window, *rest)]
    if RANKS[0] == 4:
        return [torch.ops.aten.avg_pool2d_backward(gradient, x, *window, *rest)]
    # PyTorch knows rows as images of height 1.
    window = [[alone, *size] for size, alone in zip(window, (1, 1, 0))]
    return [torch.ops.aten.avg_pool2d_backward(gradient.unsqueeze(-2), x.unsqueeze(-2), *window, *rest).squeeze(-2)]
