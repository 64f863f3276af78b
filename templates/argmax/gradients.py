def gradients(s, wanted, gradient, x):
    """Places have none."""
    return [None]
