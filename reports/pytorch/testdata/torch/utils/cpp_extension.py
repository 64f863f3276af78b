import os
import tempfile

import torch  # noqa: F401

launches = []
builds = []


def _get_build_directory(name, verbose):
    folder = os.path.join(tempfile.gettempdir(), "autotune-modules", str(os.getpid()), name)
    os.makedirs(folder, exist_ok=True)
    return folder


def load(name, sources, **arguments):
    builds.append(arguments)
    return name


class Function:
    """Takes what a C function would, and notes the launch."""

    def __init__(self, is_tuned):
        self.is_tuned = is_tuned

    def __call__(self, *given):
        assert len(given) == len(self.argtypes), (given, self.argtypes)
        sizes = [] if self.is_tuned else list(given[-3])
        launches.append({"sizes": sizes, "tuned": self.is_tuned})
        return 0


class Library:
    """Stands in for a compiled library."""

    def __init__(self, path):
        self.launch_general, self.launch_tuned = Function(False), Function(True)
        self.error_of = Function(False)

    def allow_tuned(self):
        return 0
