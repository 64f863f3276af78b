def gradients(s, wanted, gradient, x):
    def product(y):
        y = y.flip(1) if s["reverse"] else y
        y = (torch.cat([torch.ones_like(y[:, :1]), y[:, :-1]], 1) if s["exclusive"] else y).cumprod(1)
        return y.flip(1) if s["reverse"] else y

    return differentiated(product, wanted, gradient, x)
