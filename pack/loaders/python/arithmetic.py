"""What the formulas of a pack compute with: numbers of 64 bits, which each step checks. formulas.py is generated code that calls this."""
import math
import operator

import torch

from .manifest import PackError

LEAST, GREATEST = -1 << 63, (1 << 63) - 1
NUMBERS = int, float, *(getattr(torch, name) for name in ("SymInt", "SymFloat") if hasattr(torch, name))  # under torch.compile extents may be symbols


class Beyond(PackError, ArithmeticError):
    """A formula that cannot be computed, as with an integer of more than 64 bits."""


def checked(function):
    """A function of numbers whose result is a number. Integers have 64 bits, as everywhere else, so that each step takes a moment."""

    def call(*of):
        if not all(isinstance(n, NUMBERS) for n in of):
            raise TypeError("it computes with what is no number")
        n = function(*of)
        if isinstance(n, int) and not LEAST <= n <= GREATEST or not isinstance(n, NUMBERS):
            raise OverflowError("a result is no number of 64 bits")
        return n

    return call


@checked
def power(base, exponent):
    if isinstance(base, int) and isinstance(exponent, int) and exponent > 64 and abs(base) > 1:
        raise OverflowError("a result is no number of 64 bits")
    return base ** exponent


@checked
def rounded(n, *digits):
    if digits and not 0 <= digits[0] <= 300:
        raise ValueError("round() takes 0 to 300 digits")
    return round(n, *digits)


add, sub, mul, div = map(checked, (operator.add, operator.sub, operator.mul, operator.truediv))
floor_div, mod, gcd = map(checked, (operator.floordiv, operator.mod, math.gcd))
negative, positive, absolute, integer, real = map(checked, (operator.neg, operator.pos, abs, int, float))
most, least, ceil_div = map(checked, (max, min, lambda a, b: -(-a // b)))
