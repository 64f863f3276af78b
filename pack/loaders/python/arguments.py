"""What a call of PyTorch's function means: its arguments as an operator's parameters and shapes."""
import ast
import re

import torch

from .folds import ROWS, Folds

IN_PLACE = "inplace"  # PyTorch's argument: the output takes the place of the first tensor
ARGUMENT = re.compile(r"(\w+)(?: as (rows of |added )?(\w+))?(?: (along|over) (\w+)| (flat)(?: behind (\w+))?)?(?: ?= ?(\S+))?")
MEANING = re.compile(r"(\w+) is (.+)")
CHOICE = re.compile(r"(?:'(\S+)' if )?(\w+) == '(\w+)'(?: else '(\S+)')?")


class Name(str):
    """A default that is another argument, or an expression."""


def word(text):
    """A constant, or a name."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return Name(text)


class Function:
    """A function of PyTorch's that an operator computes, by the arguments that op.yaml gives it."""

    def __init__(self, operator, function, arguments):
        self.operator, self.function = operator, function
        self.given = []  # (PyTorch's name, the operator's, default)
        self.meant = {}  # the operator's parameters that no argument gives
        self.chosen = {}  # by the word of an argument: (the argument, its word, what that means, what others mean)
        self.dim = added = None  # the argument that says which dimensions are one; the tensor that is added, if truths say where nothing is
        kinds = {}  # of folds, by the operator's tensors
        for text in arguments:
            meaning = MEANING.fullmatch(text)
            choice = meaning and CHOICE.fullmatch(meaning[2])
            if choice:
                yes, argument, wanted, no = choice.groups()
                self.chosen[meaning[1]] = argument, wanted, yes or True, no or False
                continue
            if meaning:
                self.meant[meaning[1]] = word(meaning[2])
                continue
            name, what, own, how, dim, flat, behind, default = ARGUMENT.fullmatch(text).groups()
            self.given.append((name, own := own or name, word(default) if default else ...))
            self.dim, added = self.dim or dim, own if what == "added " else added
            if flat:
                shape = next(t["shape"] for t in operator.read if t["name"] == own)
                kinds[own] = shape.index(behind) + 1 if behind else 0
            elif how or what == "rows of ":
                kinds[own] = how or ROWS
        names = [t["name"] for t in operator.read]
        by_own = {own: name for name, own, _ in self.given}
        self.places = [i for i, name in enumerate(names) if name in by_own]  # of the tensors given, in the operator's order
        self.tensors = [by_own[names[i]] for i in self.places]  # by PyTorch's names
        self.parameters = [given for given in self.given if given[0] not in self.tensors]
        self.weights = self.tensors[1:]
        self.added = self.tensors.index(by_own[added]) if added else None
        # Parameters that are dimensions, which the first tensor tells.
        self.asks = [(name, dim) for name, dim in self.meant.items() if isinstance(dim, Name) and dim in operator.spec["shape"]]
        # Where one of these is set the answer is a number.
        reducing = [operator.components.index(name) for name, choice in self.chosen.items() if choice[2] is True]
        self.folds = Folds(operator, function, self.places, kinds, self.dim, reducing)
        self.known, self.number = {}, len(operator.calls)
        operator.calls.append(self.folds)

    def settings(self, shapes, values):
        """The operator's parameters of PyTorch's values, of which None means the default."""
        operator, given = self.operator, dict(self.meant)
        passed = {own: value for (_, own, _), value in zip(self.parameters, values)}
        for name, dim in self.asks:
            given[name] = shapes[0][operator.read[0]["shape"].index(dim)]
        for (name, own, default), value in zip(self.parameters, values):
            if value is None:
                value = passed.get(default) if isinstance(default, Name) else default
            if name == IN_PLACE or self.dim and name in (self.dim, "keepdim"):
                continue
            choices = {meant: choice for meant, choice in self.chosen.items() if choice[0] == name}
            if choices:
                operator.need(value in ("none", *(choice[1] for choice in choices.values())), f"{name}={value!r} is not what the kernels compute")
                given.update({meant: yes if value == wanted else no for meant, (_, wanted, yes, no) in choices.items()})
            elif own in operator.parameters:
                given[own] = value
            elif not isinstance(default, Name):  # what shapes tell is no question
                shown = "a tensor" if isinstance(value, torch.Tensor) else value
                operator.need(shown == default, f"{name}={shown} is not what the kernels compute")
        if isinstance(given.get("padding"), str):
            given["padding"] = self.padding(given, shapes[1:])
        given = {name: value for name, value in given.items() if value is not None}
        return operator.complete(operator.settings(**given), [shapes[0] if self.asks else None, *shapes[1:]])

    def padding(self, given, shapes):
        """The numbers of zeros that "same" and "valid" mean."""
        operator, text = self.operator, given["padding"]
        count = len(operator.parameters["padding"])
        if text == "valid":
            return (0,) * count
        dilation = given["dilation"] if isinstance(given["dilation"], (tuple, list)) else (given["dilation"],) * count
        taken = [d * (k - 1) for d, k in zip(dilation, shapes[0][-count:])]
        operator.need(text == "same" and not any(t % 2 for t in taken), f"padding={text!r} pads more on one side here")
        return tuple(t // 2 for t in taken)

    def of(self, shapes, values):
        """The settings, remembered by the shapes of weights and by the values."""
        first = tuple(shapes[0]) if self.asks else None
        key = (first, *shapes[1:], *values)
        try:
            known = self.known.get(key)
        except TypeError:  # a list among them
            return self.of(shapes, [tuple(v) if isinstance(v, list) else v for v in values])
        if known is None:
            settings = self.settings(self.folds.arranged([first or (0,) * self.folds.ranks[0], *shapes[1:]]), values)
            known = self.known[key] = [*settings, *self.along(values), self.number]
        return known

    def along(self, values):
        """Which dimensions are one, as Folds has it; it stands behind the operator's settings."""
        if not self.dim:
            return []
        given = {name: default if value is None else value for (name, _, default), value in zip(self.parameters, values)}
        self.operator.need(given[self.dim] is not ..., f"{self.dim} must be given")
        return self.folds.along(given[self.dim], given.get("keepdim"))

    def fits(self, shape, values):
        """Refuses a first tensor whose last dimensions are not those that a call names."""
        for (name, _, _), value in zip(self.parameters, values):
            if name == self.dim:
                self.folds.fits(shape, value)
