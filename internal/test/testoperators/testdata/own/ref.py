import numpy as np


def reference(k, v, x, total, scale, n):
    assert x.dtype == np.float32 and len(x) == n
    print("this goes nowhere")
    return {"y": scale * v.astype(np.float64) + x + k, "total": total + k}
