def gradients(s, wanted, gradient, x):
    """The input's gradient is 2.5 times the output's, in reverse order."""
    return [2.5 * gradient.flip(0)]
