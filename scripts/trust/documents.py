"""Best-config documents that scripts/bench-trust.sh makes."""
import json
import sys


def name(of):
    """A configuration as autotune prints and reads it."""
    return of["template"] + " " + " ".join(f"{k}={json.dumps(v).strip(chr(34))}" for k, v in of["configuration"].items())


def ms(document):
    return document["time_ms"]["median"]


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        print(name(json.load(file)))
