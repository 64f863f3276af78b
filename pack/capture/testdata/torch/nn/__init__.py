from .. import Tensor
from . import functional  # noqa: F401


class Parameter(Tensor):
    pass
