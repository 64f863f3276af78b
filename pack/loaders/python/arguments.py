"""Translates the arguments of a PyTorch function into an operator's parameters and shapes."""
import collections

import torch

from .folds import Folds

IN_PLACE = "inplace"  # PyTorch's argument for writing the output over the first tensor


# An argument of a PyTorch function, as the field `pytorch` of `autotune ops show --json` describes it: PyTorch's
# name, the operator's name, the default, the parameter that provides the default, and the parameters that each word
# sets.
Argument = collections.namedtuple("Argument", ("name", "own", "default", "same", "words"))


class Function:
    """A PyTorch function that an operator computes, with the arguments that op.yaml describes."""

    def __init__(self, operator, function, spec):
        self.operator, self.function = operator, function
        self.meant = spec.get("means", {})  # operator's parameters that no argument sets
        self.given, kinds = [], {}  # the arguments, and how tensors are folded
        self.dim = added = None  # the argument that names the folded dimensions; the added tensor
        for a in spec["arguments"]:
            default = None if "same" in a else a.get("default", ...)
            self.given.append(Argument(a["name"], a["is"], default, a.get("same"), a.get("words")))
            fold, by = a.get("fold"), a.get("by")
            if fold in ("along", "over"):
                self.dim = by
            if fold == "added":
                added = a["name"]
            elif fold == "flat":
                shape = next(t["shape"] for t in operator.read if t["name"] == a["is"])
                kinds[a["is"]] = shape.index(by) + 1 if by else 0
            elif fold:
                kinds[a["is"]] = fold
        names = [t["name"] for t in operator.read]
        by_own = {a.own: a.name for a in self.given}
        self.places = [i for i, name in enumerate(names) if name in by_own]  # indexes of the function's tensors in the operator's order
        self.tensors = [by_own[names[i]] for i in self.places]  # PyTorch's names of these tensors
        self.parameters = [a for a in self.given if a.name not in self.tensors]
        self.weights = self.tensors[1:]
        self.added = self.tensors.index(added) if added else None
        # Parameters of the operator whose values are dimensions of the first tensor.
        self.asks = [(name, dim) for name, dim in self.meant.items() if dim in operator.spec["shape"]]
        # Parameters that reduce the output to a number when a word sets them to True.
        words = [settings for a in self.given for settings in (a.words or {}).values()]
        true = [name for settings in words for name, value in settings.items() if value is True]
        reducing = [operator.components.index(name) for name in true]
        self.folds = Folds(operator, function, self.places, kinds, self.dim, reducing)
        self.known, self.number = {}, len(operator.calls)
        operator.calls.append(self.folds)

    def settings(self, shapes, values):
        """Returns the operator's parameters for PyTorch's arguments, of which None means the default."""
        operator, given = self.operator, dict(self.meant)
        passed = {a.own: value for a, value in zip(self.parameters, values)}
        for name, dim in self.asks:
            given[name] = shapes[0][operator.read[0]["shape"].index(dim)]
        for a, value in zip(self.parameters, values):
            if value is None:
                value = passed.get(a.same) if a.same else a.default
            if a.name == IN_PLACE or self.dim and a.name in (self.dim, "keepdim"):
                continue
            if a.words:
                operator.need(value in a.words, f"{a.name}={value!r} is not what the kernels compute")
                given.update({name: False for settings in a.words.values() for name in settings} | a.words[value])
            elif a.own in operator.parameters:
                given[a.own] = value
            elif not a.same:  # values that follow from shapes need no check
                shown = "a tensor" if isinstance(value, torch.Tensor) else value
                operator.need(shown == a.default, f"{a.name}={shown} is not what the kernels compute")
        if isinstance(given.get("padding"), str):
            given["padding"] = self.padding(given, shapes[1:])
        given = {name: value for name, value in given.items() if value is not None}
        return operator.complete(operator.settings(**given), [shapes[0] if self.asks else None, *shapes[1:]])

    def padding(self, given, shapes):
        """Returns the numbers of zeros that the paddings "same" and "valid" mean."""
        operator, text = self.operator, given["padding"]
        count = len(operator.parameters["padding"])
        if text == "valid":
            return (0,) * count
        dilation = given["dilation"] if isinstance(given["dilation"], (tuple, list)) else (given["dilation"],) * count
        taken = [d * (k - 1) for d, k in zip(dilation, shapes[0][-count:])]
        operator.need(text == "same" and not any(t % 2 for t in taken), f"padding={text!r} pads more on one side here")
        return tuple(t // 2 for t in taken)

    def of(self, shapes, values):
        """Returns the settings of a call, cached by the shapes of weights and by the values."""
        first = tuple(shapes[0]) if self.asks else None
        key = (first, *shapes[1:], *values)
        try:
            known = self.known.get(key)
        except TypeError:  # a value is a list, which cannot be hashed
            return self.of(shapes, [tuple(v) if isinstance(v, list) else v for v in values])
        if known is None:
            settings = self.settings(self.folds.arranged([first or (0,) * self.folds.ranks[0], *shapes[1:]]), values)
            known = self.known[key] = [*settings, *self.along(values), self.number]
        return known

    def along(self, values):
        """Returns which dimensions are folded into one, as Folds expects them behind the operator's settings."""
        if not self.dim:
            return []
        given = {a.name: a.default if value is None else value for a, value in zip(self.parameters, values)}
        self.operator.need(given[self.dim] is not ..., f"{self.dim} must be given")
        return self.folds.along(given[self.dim], given.get("keepdim"))

    def fits(self, shape, values):
        """Raises an error if the last dimensions of the first tensor are not those that a call names."""
        for a, value in zip(self.parameters, values):
            if a.name == self.dim:
                self.folds.fits(shape, value)
