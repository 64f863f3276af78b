def triangle(t, which):
    """What counts of matrices: the upper triangle (1), the lower one (-1) or all."""
    return t.triu() if which > 0 else t.tril() if which < 0 else t


def gradients(s, wanted, gradient, a, b, bias, *beside):
    """Products of matrices, too, behind those of an epilogue."""
    a, b = (t.mT if s[f"transpose_{name}"] else t for name, t in (("a", a), ("b", b)))

    def sums():
        y = triangle(triangle(a, s["triangular_a"]) @ triangle(b, s["triangular_b"]), s["triangular_output"])
        return y if bias is None else y + bias

    gradient, *found = through_epilogue(s, wanted[3:], gradient, sums, *beside)
    gradient = triangle(gradient, s["triangular_output"])
    left = triangle(gradient @ triangle(b, s["triangular_b"]).mT, s["triangular_a"]) if wanted[0] else None
    right = triangle(triangle(a, s["triangular_a"]).mT @ gradient, s["triangular_b"]) if wanted[1] else None
    if left is not None:
        left = left.sum(0, True) if s["broadcast_a"] else left
        left = left.mT if s["transpose_a"] else left
    if right is not None:
        right = right.sum(0, True) if s["broadcast_b"] else right
        right = right.mT if s["transpose_b"] else right
    return left, right, gradient.sum((0, 1)) if wanted[2] else None, *found
