"""Python loads this module first in a program that `autotune capture` starts, to watch it once it imports PyTorch."""
import importlib.util
import pathlib
import sys

SITE = pathlib.Path(__file__).absolute().parent
PACKAGE = SITE.parent / "python" / "autotune_capture"


def watch(torch):
    """Loads the package that watches the program, without making any other module importable."""
    try:
        spec = importlib.util.spec_from_file_location("autotune_capture", PACKAGE / "__init__.py", submodule_search_locations=[str(PACKAGE)])
        sys.modules["autotune_capture"] = package = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(package)
        package.begin(SITE.parent / "records", torch)
    except Exception as error:  # the program runs on as if it were not watched
        (SITE.parent / "records").joinpath("fault").write_text(f"{type(error).__name__}: {error}", errors="replace")


class Waiting:
    """Finds torch as Python does, and calls watch when torch is really imported."""

    def __init__(self):
        self.looking = False

    def find_spec(self, name, path=None, target=None):
        if name != "torch" or self.looking:
            return None
        self.looking = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.looking = False
        loader = getattr(spec, "loader", None)
        if hasattr(loader, "exec_module"):
            run = loader.exec_module

            def exec_module(module):
                run(module)
                if self in sys.meta_path:
                    sys.meta_path.remove(self)
                    watch(module)

            loader.exec_module = exec_module
        return spec


def hand_over():
    """Runs the sitecustomize module that would have run without this one, in the path without this module's folder.
    If there is none, the import fails as usual, which Python's site module handles."""
    sys.path[:] = [entry for entry in sys.path if pathlib.Path(entry or ".").absolute() != SITE]
    sys.modules.pop("sitecustomize", None)
    import sitecustomize  # noqa: F401


sys.meta_path.insert(0, Waiting())
hand_over()
