"""nbody, reference: in double precision, a few bodies at a time."""
import numpy as np


def reference(bodies, softening):
    x, y, z, mass = bodies.astype(np.float64).T
    acceleration = np.empty((len(bodies), 3))
    for me in range(0, len(bodies), 8):
        few = slice(me, me + 8)
        away = [axis - axis[few, None] for axis in (x, y, z)]
        squared = away[0] ** 2 + away[1] ** 2 + away[2] ** 2 + softening
        pull = mass / (squared * np.sqrt(squared))
        acceleration[few] = np.stack([(a * pull).sum(1) for a in away], 1)
    return acceleration
