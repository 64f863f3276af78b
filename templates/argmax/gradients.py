def gradients(s, wanted, gradient, x):
    return [None]  # places have none
