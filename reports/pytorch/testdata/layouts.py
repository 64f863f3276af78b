"""Calls an exported module with an input that lies in one layout or the other, and says in JSON which kernel runs
and how the output lies.

    layouts.py MODULE [{"asked": LAYOUT or "", "last": true if the input lies channels-last}, ...]
"""
import json
import sys
from importlib import util

import stand_in

spec = util.spec_from_file_location("exported", sys.argv[1])
module = util.module_from_spec(spec)
spec.loader.exec_module(module)
for call in json.loads(sys.argv[2]):
    x = module.laid(module.get_inputs()[0], "nhwc" if call["last"] else "nchw")
    y = module.ModelNew(*module.get_init_inputs(), layout=call["asked"] or None)(x)
    print(json.dumps({"tuned": stand_in.launches[-1]["tuned"], "last": not y.is_contiguous()}))
