"""What a call of PyTorch's function means: its arguments as an operator's parameters and shapes."""
import collections

import torch

from .folds import Folds

IN_PLACE = "inplace"  # PyTorch's argument: the output takes the place of the first tensor


# An argument of PyTorch's, as op.yaml has it (the field `pytorch` of `autotune ops show --json`): PyTorch's name and the
# operator's, the value where a call gives none or None, the parameter whose value that is, and the parameters that each of
# the argument's words sets.
Argument = collections.namedtuple("Argument", ("name", "own", "default", "same", "words"))


class Function:
    """A function of PyTorch's that an operator computes, by the arguments that op.yaml gives it."""

    def __init__(self, operator, function, spec):
        self.operator, self.function = operator, function
        self.meant = spec.get("means", {})  # the operator's parameters that no argument gives
        self.given, kinds = [], {}  # the arguments, and how the operator's tensors are folded
        self.dim = added = None  # the argument that says which dimensions are one; the tensor that is added
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
        self.places = [i for i, name in enumerate(names) if name in by_own]  # of the tensors given, in the operator's order
        self.tensors = [by_own[names[i]] for i in self.places]  # by PyTorch's names
        self.parameters = [a for a in self.given if a.name not in self.tensors]
        self.weights = self.tensors[1:]
        self.added = self.tensors.index(added) if added else None
        # Parameters that are dimensions, which the first tensor tells.
        self.asks = [(name, dim) for name, dim in self.meant.items() if dim in operator.spec["shape"]]
        # Where a word sets one of these to True, the answer is a number.
        words = [settings for a in self.given for settings in (a.words or {}).values()]
        true = [name for settings in words for name, value in settings.items() if value is True]
        reducing = [operator.components.index(name) for name in true]
        self.folds = Folds(operator, function, self.places, kinds, self.dim, reducing)
        self.known, self.number = {}, len(operator.calls)
        operator.calls.append(self.folds)

    def settings(self, shapes, values):
        """The operator's parameters of PyTorch's values, of which None means the default."""
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
            elif not a.same:  # what shapes tell is no question
                shown = "a tensor" if isinstance(value, torch.Tensor) else value
                operator.need(shown == a.default, f"{a.name}={shown} is not what the kernels compute")
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
        given = {a.name: a.default if value is None else value for a, value in zip(self.parameters, values)}
        self.operator.need(given[self.dim] is not ..., f"{self.dim} must be given")
        return self.folds.along(given[self.dim], given.get("keepdim"))

    def fits(self, shape, values):
        """Refuses a first tensor whose last dimensions are not those that a call names."""
        for a, value in zip(self.parameters, values):
            if a.name == self.dim:
                self.folds.fits(shape, value)
