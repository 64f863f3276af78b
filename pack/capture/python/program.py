"""Times a file's Model beside a file's ModelNew, as programs run them and in turns, and compares their outputs.

The first file has Model, get_inputs and get_init_inputs, and each of the others has ModelNew. The answer is JSON.
"""
import copy
import json
import pathlib
import statistics
import time
import types

import torch
from torch.utils import _pytree as pytree

from .graph import model_of, module_of
from .measure import Answers, Clock, Program, State, between, distance, paired
from .pack import COMPILE, GRAPH, PLAIN

WAYS = {"eager": (PLAIN, False), "graph": (GRAPH, False), "compile": (COMPILE, True), "compile in a graph": (GRAPH, True)}


HOST = types.SimpleNamespace(  # the clock of a CPU
    mark=time.perf_counter, ms=lambda begin, end: (end - begin) * 1e3, wait=lambda: None, close=lambda: None)


def moved(values, device):
    return pytree.tree_map(lambda t: t.to(device) if isinstance(t, torch.Tensor) else t, values)


def made(file, device):
    """A file's model and inputs, both on the device."""
    torch.manual_seed(0)
    with torch.device(device):  # tensors of gigabytes are drawn in a moment there
        return model_of(file, file.Model).to(device), moved(list(file.get_inputs()), device)


def timed(model, inputs, names, clock):
    """The ways to run a model that work, as functions that time a pass, and why others do not."""
    ways, left, compiled = {}, {}, torch.compile(model)
    for name in names:
        run, is_compiled = WAYS[name]
        try:
            way = Program(compiled if is_compiled else model, inputs, run, clock).way([])
            way()
            ways[name] = way
        except Exception as error:
            left[name] = said(error)
    return ways, left


def said(error):
    return f"{type(error).__name__}: {error}".splitlines()[0]


def apart(found, answers):
    """By which part of what is allowed outputs differ from Model's at most, and the largest difference."""
    if len(found) != len(answers.wanted):
        raise ValueError(f"it gives {len(found)} tensors, and Model {len(answers.wanted)}")
    off = [distance(f, w) for f, w in zip(found, answers.wanted)]
    return max(((o / may, o) for o, may in zip(off, answers.may)), default=(0.0, 0.0))


def measured(path, news):
    gpu, file = torch.cuda.is_available(), module_of(path)
    device, clock = ("cuda", Clock()) if gpu else ("cpu", HOST)
    model, inputs = made(file, device)
    answer = {"device": torch.cuda.get_device_name() if gpu else "CPU", "after": []}
    with State(model, inputs) as state:
        answers = Answers(Program(model, inputs, PLAIN, clock), state)
        before, answer["left"] = timed(model, inputs, WAYS if gpu else ["eager"], clock)
        every = {("", name): way for name, way in before.items()}
        for new in news:
            answer["after"].append(about := {})
            try:
                torch.manual_seed(0)
                other = model_of(file, module_of(new).ModelNew)
                other.load_state_dict(copy.deepcopy(model.state_dict()))
                other = other.to(device).train(model.training)
                with State(other, inputs):
                    share, about["distance"] = apart(answers.found(lambda: other(*inputs)), answers)
                if share > 1:
                    raise ValueError(f"its outputs differ from Model's by {about['distance']:.2g} of their spread")
                ways, _ = timed(other, inputs, ["eager", "graph"] if gpu else ["eager"], clock)
                every |= {(new, name): way for name, way in ways.items()}
            except Exception as error:
                about["fault"] = said(error)
        rounds = paired(lambda turn: [way() for way in every.values()])
    times = dict(zip(every, zip(*rounds)))
    median = {key: statistics.median(row) for key, row in times.items()}
    answer["before"] = {name: ms for (whose, name), ms in median.items() if not whose}
    best = min((key for key in median if not key[0]), key=median.get)
    for new, about in zip(news, answer["after"]):
        own = [key for key in median if key[0] == new]
        if own:
            mine = min(own, key=median.get)
            about["times"] = {name: median[whose, name] for whose, name in own}
            about["faster"], about["interval"] = between([b / a for b, a in zip(times[best], times[mine])])
    clock.close()
    return answer


def main(path, answer, *news):
    with torch.no_grad():
        pathlib.Path(answer).write_text(json.dumps(measured(path, news)))
