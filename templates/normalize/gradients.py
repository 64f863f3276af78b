def gradients(s, wanted, gradient, x):
    def normalized(x):
        size = torch.linalg.vector_norm(x, s["p"] or float("inf"), 1, True)
        return x / (size / x.shape[1] ** (1 / s["p"]) if s["mean"] and s["p"] else size).clamp(min=s["eps"])

    return differentiated(normalized, wanted, gradient, x)
