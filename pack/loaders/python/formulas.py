"""Formulas of a pack: expressions of Python's own syntax, as op.yaml has them, of numbers of 64 bits."""
import ast
import functools
import math
import operator

import torch

from .manifest import PackError


def ceil_div(a, b):
    return -(-a // b)


class Beyond(PackError, ArithmeticError):
    """A formula that cannot be computed, as with an integer of more than 64 bits."""


LEAST, GREATEST = -1 << 63, (1 << 63) - 1
NUMBERS = int, float, *(getattr(torch, name) for name in ("SymInt", "SymFloat") if hasattr(torch, name))  # under torch.compile extents may be symbols


def within(n):
    """A number of a formula: integers have 64 bits, as everywhere else, so that each step takes a moment."""
    if isinstance(n, int) and not LEAST <= n <= GREATEST or not isinstance(n, NUMBERS):
        raise OverflowError("a result is no number of 64 bits")
    return n


def numeric(n):
    if not isinstance(n, NUMBERS):
        raise TypeError("it computes with what is no number")
    return n


def checked(function):
    """A function of numbers whose result is one."""
    return lambda *of: within(function(*map(numeric, of)))


def power(base, exponent):
    if isinstance(base, int) and isinstance(exponent, int) and exponent > 64 and abs(base) > 1:
        raise OverflowError("a result is no number of 64 bits")
    return base ** exponent


def rounded(n, *digits):
    if digits and not 0 <= digits[0] <= 300:
        raise ValueError("round() takes 0 to 300 digits")
    return round(n, *digits)


# By the trees' classes and by names: what a formula may have of Python.
OPERATIONS = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.Pow: power, ast.USub: operator.neg, ast.UAdd: operator.pos,
}
FUNCTIONS = {"abs": abs, "ceil_div": ceil_div, "float": float, "gcd": math.gcd, "int": int, "max": max, "min": min, "round": rounded}
STEPS = {f"{kind.__name__} ": checked(f) for kind, f in OPERATIONS.items()}  # no name of a formula has a blank
SCOPE = {"__builtins__": {}, "bool": bool, **{name: checked(f) for name, f in FUNCTIONS.items()}, **STEPS}
NODES = (
    ast.Expression, ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.Compare, ast.IfExp, ast.Call, ast.Name, ast.Constant, ast.Tuple,
    ast.List, ast.boolop, ast.Not, *OPERATIONS, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn, ast.Load,
)
LONGEST = 1 << 16  # characters of a formula; Python itself refuses more than 200 parentheses within one another


class Checking(ast.NodeTransformer):
    """Has each operation check its numbers."""

    def visit_BinOp(self, node):
        return self.called(node, node.left, node.right)

    def visit_UnaryOp(self, node):
        return self.generic_visit(node) if isinstance(node.op, ast.Not) else self.called(node, node.operand)

    def called(self, node, *operands):
        function = ast.Name(f"{type(node.op).__name__} ", ast.Load())
        return ast.copy_location(ast.Call(function, [self.visit(o) for o in operands], []), node)


def allowed(tree):
    """Refuses what a formula may not have: other nodes, calls of others than its functions, and constants that are no numbers or words."""
    for node in ast.walk(tree):
        called = not isinstance(node, ast.Call) or getattr(node.func, "id", "") in (*FUNCTIONS, "bool") and not node.keywords
        value = getattr(node, "value", 0)
        known = not isinstance(node, ast.Constant) or isinstance(value, (str, float)) or isinstance(value, int) and value <= GREATEST
        if not isinstance(node, NODES) or not called or not known:
            return False
    return True


@functools.cache
def formula(text):
    """A formula as a tree and as code. It has numbers, names, operators and a few functions, and nothing else of Python."""
    try:
        if len(text) > LONGEST:
            raise PackError(f"the formula {text!r:.60} is longer than {LONGEST} characters")
        tree = ast.parse(text, mode="eval")
        if not allowed(tree):
            raise PackError(f"the formula {text!r:.60} has more than a formula may have")
        code = ast.fix_missing_locations(Checking().visit(ast.parse(text, mode="eval")))
        return tree.body, compile(code, "a formula", "eval")
    except (RecursionError, MemoryError, SyntaxError, ValueError) as error:
        raise PackError(f"the formula {text!r:.60} cannot be read: {type(error).__name__}") from None


def evaluate(text, values):
    try:
        return eval(formula(text)[1], SCOPE, values)
    except (ArithmeticError, TypeError, ValueError, NameError, RecursionError) as error:
        raise Beyond(f"the formula {text!r:.60} cannot be computed: {error}") from None
