def gradients(s, wanted, gradient, *given):
    named = {"scale": s["scale"], "enable_gqa": bool(s["gqa"])}
    attended = lambda *t: torch.ops.aten.scaled_dot_product_attention(*t, 0.0, bool(s["causal"]), **named)  # noqa: E731
    return differentiated(attended, wanted, gradient, *given)
