def gradients(s, wanted, gradient, *given):
    parameters = s["margin"], s["p"] or float("inf"), s["eps"], bool(s["swap"]), 2 if s["sum"] else 1 if s["mean"] else 0
    return differentiated(lambda *t: torch.ops.aten.triplet_margin_loss(*t, *parameters), wanted, gradient, *given)
