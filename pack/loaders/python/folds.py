"""Folds PyTorch's tensors into the fixed number of dimensions that an operator has, and unfolds its output again."""
import math

# Which dimensions of a tensor are folded into one: with ROWS all but the last, with ALONG those that a call names,
# with OVER the last ones, whose sizes a call names, and with a number n all after the first n.
ROWS, ALONG, OVER = "rows", "along", "over"


class Folds:
    """Folds a function's tensors. Settings are the operator's, the result of along(), and the function's number."""

    def __init__(self, operator, function, places, kinds, dim, reducing):
        self.operator, self.function, self.places, self.dim, self.reducing = operator, function, places, dim, reducing
        self.ranks, self.kinds = [len(t["shape"]) for t in operator.read], [kinds.get(t["name"]) for t in operator.read]
        self.over = OVER in self.kinds
        # If several tensors are flat, their elements lie along the dimension that they share.
        flat = [t["shape"] for t, kind in zip(operator.read, self.kinds) if kind == 0]
        self.shared = next((i for i, text in enumerate(flat[0]) if text in flat[1]), 0) if len(flat) > 1 else None
        self.elements = self.kinds[0] == 0 and self.shared is None  # each element is computed by itself
        self.broadcast = [i for i in places[1:] if operator.read[i]["role"] == "input"]

    def __call__(self, settings, shapes):
        """Returns the operator's settings, the folded shapes in the operator's order, and the answer's shape."""
        given = [shapes[i] for i in self.places]
        return settings[:len(self.operator.components)], self.arranged(given, settings), self.answered(settings, given)

    def along(self, dim, keepdim):
        """Returns the first and the last dimension to be folded, and whether the output keeps these dimensions."""
        if self.over:
            return [-len(dim) if isinstance(dim, (tuple, list)) else -1, -1, 1]
        dims = sorted({0, -1} if dim is None else set(dim) if isinstance(dim, (tuple, list)) else {dim})
        follow = dim is None or dims and dims[-1] - dims[0] == len(dims) - 1
        self.operator.need(follow, f"{self.dim}={dim} are not neighbouring dimensions")
        return [0, -1, int(bool(keepdim))] if dim is None else [dims[0], dims[-1], int(bool(keepdim))]

    def dims(self, settings):
        """Returns the part of the settings that along() made."""
        return settings[len(self.operator.components):-1]

    def folded(self, shape, along):
        """Returns the first folded dimension, the one after the last, and the shape folded to three dimensions."""
        rank = max(len(shape), 1)
        self.operator.need(all(-rank <= d < rank for d in along[:2]), f"{self.dim} is not within the {len(shape)} dimensions of {tuple(shape)}")
        first, end = along[0] % rank, along[1] % rank + 1
        return first, end, (math.prod(shape[:first]), math.prod(shape[first:end]), math.prod(shape[end:]))

    def fits(self, shape, dim):
        """Raises an error if the last dimensions of the first tensor are not those that a call names."""
        if self.over:
            wanted = tuple(dim) if isinstance(dim, (tuple, list)) else (dim,)
            found = tuple(shape[-len(wanted):])
            self.operator.need(found == wanted, f"{self.dim} is {wanted}; the last dimensions of {tuple(shape)} are {found}")

    def level(self, count, settings):
        """Returns an entry's shape with this number of elements, or else a shape of one dimension of that length."""
        operator = self.operator
        known = operator.decoded(settings)
        alike = (e["values"] for e in operator.entries if all(e["values"][name] == value for name, value in known.items()))
        shapes = (tuple(values[name] for name in operator.spec["shape"]) for values in alike)
        return next((shape for shape in shapes if math.prod(shape) == count), (count,) + (1,) * (self.ranks[0] - 1))

    def arranged(self, shapes, settings=None):
        """Returns the folded shapes in the operator's order. Without settings, the first shape is not folded."""
        operator, given = self.operator, dict(zip(self.places, shapes))
        flat = [given[i] for i, fold in enumerate(self.kinds) if fold == 0 and given.get(i) is not None]
        if self.shared is not None and settings is not None:
            same = all(s == flat[0] for s in flat)
            operator.need(same, f"{self.function} takes tensors of one shape; these have {' and '.join(str(tuple(s)) for s in flat)}")
        return [None if given.get(i) is None else self.shaped(i, given[i], settings) for i in range(len(self.ranks))]

    def shaped(self, place, shape, settings):
        """Returns a tensor's shape with the operator's number of dimensions."""
        fold, rank = self.kinds[place], self.ranks[place]
        if fold == ROWS:
            shape = (1, math.prod(shape[:-1]), shape[-1])
        elif self.over and place > 0:
            shape = (math.prod(shape),)
        elif self.dim and (fold == ALONG or place == 0):
            if settings is None:
                return shape if place == 0 else None
            shape = self.folded(shape, self.dims(settings))[2]
        elif fold == 0 and place == 0 and settings is None:
            return shape
        elif fold == 0 and self.shared is None:
            shape = self.level(math.prod(shape), settings)
        elif fold == 0:
            shape = (*(1,) * self.shared, math.prod(shape), *(1,) * (rank - self.shared - 1))
        elif fold:
            shape = (*(1,) * (fold - len(shape)), *shape)
            shape = (*shape[:fold], math.prod(shape[fold:]))
        missing = rank - len(shape)
        return (*(1,) * missing, *shape) if missing == 1 or place in self.broadcast else shape  # for example one mask for all heads

    def answered(self, settings, shapes):
        """Returns the shape of the function's output for resolved(), or None if it is the operator's own."""
        first, outputs = shapes[0], self.operator.outputs
        if len(outputs) > 1:
            self.operator.need(len(first) == self.ranks[0], f"the first tensor must have {self.ranks[0]} dimensions")
            return None
        rank = len(outputs[0]["shape"])
        if any(settings[i] for i in self.reducing):
            return ()
        if self.dim:
            start, end, _ = self.folded(first, self.dims(settings))
            between = first[start:end] if rank == self.ranks[0] else (1,) * (end - start if self.dims(settings)[-1] else 0)
            return (*first[:start], *between, *first[end:])
        if self.kinds[0] == ROWS:
            return *first[:-1], -1
        if any(kind is not None for kind in self.kinds):  # the tensor with the output's dimensions gives the shape
            return next(s for i, s in zip(self.places, shapes) if self.ranks[i] == rank)
        return None if len(first) == self.ranks[0] else (-1,) * (rank - 1)
