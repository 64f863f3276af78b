def gradients(s, wanted, gradient, x, mask):
    """Each element that the mask leaves is in the sums from its own on."""
    back = gradient if s["reverse"] else gradient.flip(1)
    sums = back.cumsum(1) - (back if s["exclusive"] else 0)
    return [(sums if s["reverse"] else sums.flip(1)) * mask, None]
