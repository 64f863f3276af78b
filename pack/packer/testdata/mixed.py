"""Calls kernels of tensors that differ in type, are renewed, or are several outputs, with stand-ins for PyTorch and the driver: mixed.py STAND_IN PACK"""
import ctypes
import sys

sys.path[:0] = [sys.argv[1], sys.argv[2] + "/python"]
from stand_in import fakes, torch  # noqa: E402
import layers  # noqa: E402


class Sparse(torch.Tensor):
    """A tensor that does not lie as kernels take it."""

    def is_contiguous(self):
        return False

    def contiguous(self):
        self.taken = torch.Tensor(*self.shape, dtype=self.dtype)
        return self.taken

    def copy_(self, other):
        print("copied back", other is self.taken)


def attempt(what, *arguments, **named):
    try:
        answer = getattr(layers, what)(*arguments, **named)
        print(what, [(tuple(t.shape), t.dtype) for t in (answer if isinstance(answer, tuple) else (answer,))])
    except ValueError as error:
        print(what, error)


x = torch.Tensor(4, 5)
labels = torch.Tensor(4, dtype=torch.int64)
attempt("cross_entropy", x, labels)
attempt("cross_entropy", x, labels, reduction="none")
attempt("cross_entropy", x, torch.Tensor(4))
attempt("cross_entropy", x, labels, torch.Tensor(5, dtype=torch.bfloat16))
attempt("masked_cumsum", x, torch.Tensor(4, 5, dtype=torch.bool), -1)
attempt("batch_norm", x, Sparse(5), torch.Tensor(5), torch.Tensor(5), training=True)

ctypes.CDLL("libcuda.so.1").fake_pointers(4)
attempt("both", torch.Tensor(64))
ctypes.CDLL("libcuda.so.1").fake_pointers(1)
fake = next(f for name, f in fakes.items() if name.endswith("both"))
print("fake", [(tuple(t.shape), t.dtype) for t in fake(torch.Tensor(64), [], "")])


class Viewed(torch.Tensor):
    """A tensor at a place in memory."""

    def __init__(self, *shape, place):
        super().__init__(*shape)
        self.place = place

    def view(self, shape):
        return Viewed(*shape, place=self.place)

    def clone(self):
        return Viewed(*self.shape, place=0x5550)

    def copy_(self, other):
        print("copied from", hex(other.place))


ctypes.CDLL("libcuda.so.1").fake_pointers(4)
for place in (0x8880, 0x8884):
    y = Viewed(4, 5, place=place)
    print("in place", layers.relu(y, inplace=True) is y)
ctypes.CDLL("libcuda.so.1").fake_pointers(6)
torch.Tensor.new_empty = lambda self, size, dtype=None: Viewed(*(size if isinstance(size, tuple) else (size,)), place=0x7000)
layers.batch_norm(Viewed(4, 6, place=0x9990), None, None, training=True)
