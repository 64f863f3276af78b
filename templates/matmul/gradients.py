def gradients(s, wanted, gradient, a, b, bias):
    """Products of matrices, too."""
    left = gradient @ (b if s["transpose_b"] else b.mT) if wanted[0] else None
    right = (a if s["transpose_a"] else a.mT) @ gradient if wanted[1] else None
    if left is not None:
        left = left.sum(0, True) if s["broadcast_a"] else left
        left = left.mT if s["transpose_a"] else left
    if right is not None:
        right = right.sum(0, True) if s["broadcast_b"] else right
        right = right.mT if s["transpose_b"] else right
    return left, right, gradient.sum((0, 1)) if wanted[2] else None
