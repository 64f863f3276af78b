"""Calls an exported module with an input that lies in one layout or the other, and says in JSON which kernel runs
and how the output lies.

    layouts.py MODULE '{"asked": LAYOUT or "", "last": true if the input lies channels-last}'
"""
import ctypes
import json
import sys
from importlib import util

from torch.utils import cpp_extension

spec = util.spec_from_file_location("exported", sys.argv[1])
module = util.module_from_spec(spec)
spec.loader.exec_module(module)
ctypes.CDLL = cpp_extension.Library
call = json.loads(sys.argv[2])
x = module.laid(module.get_inputs()[0], "nhwc" if call["last"] else "nchw")
y = module.ModelNew(*module.get_init_inputs(), layout=call["asked"] or None)(x)
print(json.dumps({"tuned": cpp_extension.launches[-1]["tuned"], "last": y.last}))
