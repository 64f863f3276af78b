"""Reads and verifies a pack's manifest and files: each must have the packed contents and lie in the pack's folder."""
import contextlib
import hashlib
import json
import os
import pathlib
import re
import stat

SCHEMA = "autotune/pack/5"
ROOT = pathlib.Path(__file__).absolute().parents[2]
BYTES, MOST = 8, 256 << 20  # largest sizes in bytes of an element and of a file


class PackError(RuntimeError):
    """The pack is damaged, or does not have what was asked for."""


def refuse(path, why):
    raise PackError(f"the pack {ROOT}: {path!r:.80} {why}")


def read(path, most):
    """Reads a regular file of at most the given number of bytes in the pack's folder. Links are followed."""
    parts = pathlib.PurePosixPath(path)
    if parts.is_absolute() or ".." in parts.parts or not pathlib.Path(os.path.realpath(ROOT / path)).is_relative_to(os.path.realpath(ROOT)):
        refuse(path, "is outside of it; a pack's files lie in its folder")
    try:
        # Opening a pipe without O_NONBLOCK would wait for a writer.
        with open(os.open(ROOT / path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode):
                refuse(path, "is no regular file")
            data = file.read(most + 1)
    except IsADirectoryError:
        refuse(path, "is no regular file")
    except OSError as error:
        refuse(path, f"cannot be read: {error.strerror}")
    if len(data) > most:
        refuse(path, f"has {about.st_size} bytes; it may have {most}")
    return data


# Objects of the manifest whose names are free: authors choose them, or they belong to a document of its own.
FREE = "values", "files", "types", "evidence"
NAMES = re.compile("[a-z0-9_]+")


def once(pairs):
    """Makes an object of the manifest. A name must not occur twice, since readers disagree about which value counts."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        refuse("manifest.json", f"has the name {next(n for n in names if names.count(n) > 1)!r:.80} twice in one object")
    return found


def check_names(node):
    """Refuses names that readers could confuse, because some ignore case or treat similar letters as equal."""
    for name, value in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        if isinstance(name, str) and not NAMES.fullmatch(name):
            refuse("manifest.json", f"has the name {name!r:.80}; its names are of small letters, digits and _")
        if name not in FREE:
            check_names(value)


def check_maps(launch, scalars):
    """Refuses tensor maps that cannot be passed: each must replace an argument's address, and have seven words."""
    for m in launch.get("maps", ()):
        arguments, at = launch["arguments"], m["at"]
        if not 0 <= at < len(arguments) or arguments[at] in scalars or len(m["words"]) != 7:
            raise ValueError(f"{launch['entry']} takes {len(arguments)} arguments, and has a tensor map at {at} of {len(m['words'])} words")


def verified():
    """Returns the manifest, the kernels' binaries, and a name for the pack's operators that no other pack has."""
    text = read("manifest.json", 64 << 20)
    manifest = dict(json.loads(text, object_pairs_hook=once))
    check_names(manifest)
    if manifest.get("schema") != SCHEMA:
        raise PackError(f"the pack {ROOT} has the schema {manifest.get('schema')!r} and this loader reads {SCHEMA}")
    for word, count in manifest["types"].items():
        if type(count) is not int or not 1 <= count <= BYTES:
            refuse("manifest.json", f"has elements of {word!r:.20} of {count!r:.20} bytes; they have 1 to {BYTES}")
    images = {}
    variants = [v for family in manifest.get("families", ()) for v in family["entries"]]
    for kernel in manifest["entries"] + variants + manifest["general"]:
        path = kernel["file"]
        want = manifest["files"][path]
        if type(want["bytes"]) is not int or not 0 <= want["bytes"] <= MOST:
            refuse(path, f"would have {want['bytes']!r:.40} bytes; a file may have {MOST}")
        data = read(path, want["bytes"])
        if len(data) != want["bytes"] or hashlib.sha256(data).hexdigest() != want["sha256"]:
            raise PackError(f"the pack {ROOT}: {path} is not the file that was packed")
        images[path] = data + b"\0"  # a zero byte ends PTX
        for launch in kernel.get("launches", ()):
            check_maps(launch, [s["name"] for s in kernel.get("scalars", ())])
    return manifest, images, f"_{manifest['name']}_{hashlib.sha256(text).hexdigest()[:8]}"


@contextlib.contextmanager
def sound():
    """Turns errors while reading the manifest into one error that says that the manifest is damaged."""
    try:
        yield
    except (LookupError, TypeError, ValueError, SyntaxError, RecursionError) as error:
        raise PackError(f"the pack {ROOT}: manifest.json is damaged: {error!r}") from error


with sound():
    MANIFEST, IMAGES, IDENTITY = verified()
    OPERATORS = {o["name"]: o for o in MANIFEST["operators"]}
