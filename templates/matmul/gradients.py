def triangle(t, which):
    """What counts of matrices: the upper triangle (1), the lower one (-1) or all."""
    return t.triu() if which > 0 else t.tril() if which < 0 else t


def gradients(s, wanted, gradient, a, b, bias):
    """Products of matrices, too."""
    gradient = triangle(gradient, s["triangular_output"])
    a, b = (t.mT if s[f"transpose_{name}"] else t for name, t in (("a", a), ("b", b)))
    left = triangle(gradient @ triangle(b, s["triangular_b"]).mT, s["triangular_a"]) if wanted[0] else None
    right = triangle(triangle(a, s["triangular_a"]).mT @ gradient, s["triangular_b"]) if wanted[1] else None
    if left is not None:
        left = left.sum(0, True) if s["broadcast_a"] else left
        left = left.mT if s["transpose_a"] else left
    if right is not None:
        right = right.sum(0, True) if s["broadcast_b"] else right
        right = right.mT if s["transpose_b"] else right
    return left, right, gradient.sum((0, 1)) if wanted[2] else None
