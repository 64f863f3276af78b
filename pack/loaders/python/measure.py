"""Times a model with the pack's kernels and with PyTorch's in turns, and keeps the kernels that make it faster.

A module's class decides whether it runs PyTorch's kernels, so PyTorch's times are those of a program without a pack.
Modules of one class with the same parameters and inputs form one group.
"""
import collections
import contextlib
import dataclasses
import math
import random
import statistics
import time

import torch
from torch.utils import _pytree as pytree

from .pack import COMPILE, GRAPH, PLAIN

LEAST, MOST, SECONDS = 12, 40, 4.0  # least and most timed pairs of passes, and seconds for pairs beyond the least
WARM_UP = 3
CHUNK = 1 << 24  # elements that are compared at once

# By how much outputs may differ, relative to their standard deviation, since each layer rounds in another order.
MAY_DIFFER = {torch.float64: 1e-6, torch.float32: 0.05, torch.float16: 0.3, torch.bfloat16: 0.3}
MAY_DIFFER_OTHERWISE = 0.02  # the share of integers and booleans that may differ


class Clock:
    """Times work on the current GPU with events, and captures CUDA graphs."""

    def __init__(self):
        self.first = None  # first graph, whose memory the others share, since no graph's output is used

    def mark(self):
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def ms(self, begin, end):
        return begin.elapsed_time(end)

    def wait(self):
        torch.cuda.synchronize()

    def captured(self, call):
        """Returns a function that replays a call as a CUDA graph."""
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(WARM_UP):
                call()
        torch.cuda.current_stream().wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.first and self.first.pool()):
            call()
        self.first = self.first or graph
        return graph.replay

    def close(self):
        """Frees the graphs' memory."""
        if self.first:
            self.first = None
            torch.cuda.empty_cache()


class Times:
    """Milliseconds of pairs of passes before and after a change: their medians, and the ratio with its interval."""

    before_ms = after_ms = faster = interval = None  # None if nothing was timed

    def __init__(self, pairs=()):
        if pairs:
            self.before_ms, self.after_ms = (statistics.median(column) for column in zip(*pairs))
            self.faster, self.interval = between([before / after for before, after in pairs])

    def __str__(self):
        return f"{self.faster:.3f}x [{self.interval[0]:.3f}, {self.interval[1]:.3f}]" if self.interval else ""


@dataclasses.dataclass
class Candidate:
    """A module that a kernel may serve: its class with the kernel, whether the kernel serves a call (input, rest),
    and how much faster the kernel was by itself."""

    name: str
    module: torch.nn.Module
    kind: type
    kernel: str
    settings: tuple = ()
    serves: object = lambda input, rest: True
    gain_ms: object = lambda input, rest: 0.0


class Group(Times):
    """Modules that are measured together. Times are of a pass of the modules or, in CUDA graphs, of the whole model."""

    def __init__(self, modules, kernel, why="", candidates=None):
        self.modules, self.kernel, self.why, self.candidates = modules, kernel, why, candidates  # why: the reason why they were left
        self.gain_ms = 0.0  # milliseconds saved in a pass, measured for the kernels alone or in the model

    def times(self, pairs):
        super().__init__(pairs)
        self.gain_ms = self.before_ms - self.after_ms

    def row(self):
        named = ", ".join(self.modules[:2])
        named += f" and {len(self.modules) - 2} more" if len(self.modules) > 2 else ""
        times = [f"{self.before_ms:.4g}", f"{self.after_ms:.4g}"] if self.interval else ["", ""]
        return [named, self.kernel, *times, ", ".join(filter(None, (str(self), self.why and f"left: {self.why}")))]


class Replaced(Times):
    """The outcome of replace(model). The times are those of one pass of the whole model, if inputs were given."""

    def __init__(self, run, kept, left):
        self.run, self.kept, self.left = run, kept, left

    @property
    def replaced(self):
        """The kernels that were put in, by the names of their modules."""
        return {name: group.kernel for group in self.kept for name in group.modules}

    def __str__(self):
        head = "modules", "kernel", "PyTorch's, ms", "the pack's, ms", "faster"
        rows = [head, ("---", "---", "---:", "---:", "---")]
        rows += [group.row() for group in (*self.kept, *self.left)]
        said = "not timed; replace(model, inputs) times it"
        if not self.kept:
            timed = f"{self.before_ms:.4g} ms ({self.run}): " if self.interval else ""
            said = timed + "nothing was replaced, since nothing is known to pay"
        elif self.interval:
            said = f"{self.before_ms:.4g} ms before, {self.after_ms:.4g} ms after ({self.run}), {super().__str__()}"
        return "\n".join([*("| " + " | ".join(row) + " |" for row in rows if len(rows) > 2), f"model: {said}"])


def between(ratios):
    """Returns the median of ratios with its 95 % confidence interval, computed from their order alone."""
    n, below, k = len(ratios), 0.0, 0
    while below + math.comb(n, k) / 2**n <= 0.025:
        below, k = below + math.comb(n, k) / 2**n, k + 1
    ratios = sorted(ratios)
    return statistics.median(ratios), (ratios[max(k - 1, 0)], ratios[min(n - k, n - 1)])


def is_compiled(module):
    return type(module).__name__ == "OptimizedModule" or getattr(module, "_compiled_call_impl", None) is not None


def way_of(model, run):
    """Returns how a program runs a model unless the caller says it: with torch.compile if any part is compiled."""
    if run not in (None, PLAIN, GRAPH, COMPILE):
        raise ValueError(f"run={run!r}; it may be {PLAIN!r}, {GRAPH!r} or {COMPILE!r}")
    if not any(map(is_compiled, model.modules())):
        return run or PLAIN
    if run not in (None, COMPILE):
        raise ValueError(f"run={run!r}, and the model is compiled: give replace the model that was compiled")
    return COMPILE


def tensors_of(answer):
    """Returns all tensors in a model's output."""
    for leaf in pytree.tree_leaves(answer):
        if isinstance(leaf, torch.Tensor):
            yield leaf.detach()
        elif dataclasses.is_dataclass(leaf) and not isinstance(leaf, type):
            yield from tensors_of([getattr(leaf, field.name) for field in dataclasses.fields(leaf)])


def distance(found, wanted):
    """Returns how far a tensor is from another: the largest difference relative to the standard deviation or, for
    integers, the share of elements that differ. Infinity means that the tensors cannot be compared."""
    forms = [(t.shape, t.dtype, t.layout) for t in (found, wanted)]
    if forms[0] != forms[1] or wanted.layout != torch.strided:
        return math.inf
    if not wanted.numel():
        return 0.0
    if wanted.is_complex():
        found, wanted = torch.view_as_real(found), torch.view_as_real(wanted)
    found, wanted = found.reshape(-1), wanted.reshape(-1)
    if not wanted.is_floating_point():
        return (found != wanted).float().mean().item()
    kind = torch.float64 if wanted.dtype == torch.float64 else torch.float32
    count, total, squares, largest = 0, 0.0, 0.0, 0.0
    for f, w in zip(found.split(CHUNK), wanted.split(CHUNK)):
        f, w = f.to(kind), w.to(kind)
        numbers = w.isfinite()
        # Elements that are not a number in the wanted tensor may have any value.
        off = torch.where(w.isnan() | (f == w), 0, (f - w).abs()).nan_to_num(math.inf, math.inf)
        of = w[numbers].double()
        count, total, squares = count + of.numel(), total + of.sum().item(), squares + of.square().sum().item()
        largest = max(largest, off.max().item())
    spread = math.sqrt(max(squares / count - (total / count) ** 2, 0.0)) if count else 0.0
    return largest / (spread or abs(total / max(count, 1)) or 1.0)


class State:
    """Saves what passes of a model change, and restores it after a block: buffers, inputs and random generators."""

    def __init__(self, model, inputs):
        self.owners = [(module._buffers, name, t) for module in model.modules() for name, t in module._buffers.items()]
        self.kept = [None if t is None else t.detach().clone() for _, _, t in self.owners]
        self.inputs = [t for t in pytree.tree_leaves(inputs) if isinstance(t, torch.Tensor)]
        self.given = [(t.detach().clone(), None if t.is_inference() else t._version) for t in self.inputs]
        self.devices = {t.get_device() for t in (*model.parameters(), *model.buffers(), *self.inputs) if t.is_cuda}
        self.random = random.getstate()
        self.numbers = torch.get_rng_state(), {d: torch.cuda.get_rng_state(d) for d in self.devices}

    @torch.no_grad()
    def restore(self):
        for (buffers, name, t), kept in zip(self.owners, self.kept):
            buffers[name] = t
            if t is not None and not torch.equal(t, kept):
                t.copy_(kept)
        for t, (given, version) in zip(self.inputs, self.given):
            if version is None or t._version != version:
                t.copy_(given)
        random.setstate(self.random)
        torch.set_rng_state(self.numbers[0])
        for device, state in self.numbers[1].items():
            torch.cuda.set_rng_state(state, device)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.restore()


class Program:
    """A model as its program runs it. Its modules can be switched between the pack's kernels and PyTorch's."""

    def __init__(self, model, inputs, run, clock):
        self.model, self.run, self.clock = model, run, clock
        named = isinstance(inputs, collections.abc.Mapping)
        self.arguments = () if named else tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
        self.named = dict(inputs) if named else {}
        self.grad = torch.is_grad_enabled() and model.training
        self.call = torch.compile(model) if run == COMPILE and not any(map(is_compiled, model.modules())) else model

    def forward(self):
        with torch.set_grad_enabled(self.grad):
            return self.call(*self.arguments, **self.named)

    def uncompiled(self):
        """Runs the model without torch.compile."""
        force = getattr(torch.compiler, "set_stance", None)
        with torch.set_grad_enabled(self.grad), force("force_eager") if force else contextlib.nullcontext():
            return getattr(self.model, "_orig_mod", self.model)(*self.arguments, **self.named)

    def put(self, groups, ours):
        """Switches modules to the pack's kernels, or back to PyTorch's."""
        for group in groups:
            for c in group.candidates:
                wanted = c.kind if ours else c.kind.__base__
                if type(c.module) is not wanted:
                    c.module.__class__ = wanted

    def timed(self, call):
        begin = self.clock.mark()
        call()
        end = self.clock.mark()
        self.clock.wait()
        return self.clock.ms(begin, end)

    def way(self, groups):
        """Returns a function that times a pass of the model with the kernels of these groups."""
        if self.run == GRAPH:
            self.put(groups, True)
            replay = self.clock.captured(self.forward)
            self.put(groups, False)
            return lambda: self.timed(replay)

        def pass_():
            self.put(groups, True)
            ms = self.timed(self.forward)
            self.put(groups, False)
            return ms

        return pass_

    @staticmethod
    def in_turns(before, after):
        """Times pairs of passes. The order within a pair alternates."""
        return paired(lambda turn: (before(), after()) if turn % 2 else (after(), before())[::-1])


def paired(pair):
    """Calls pair(turn) for as many pairs of passes as the time allows."""
    for turn in range(WARM_UP):
        pair(turn)
    begin, pairs = time.perf_counter(), []
    while len(pairs) < LEAST or len(pairs) < MOST and time.perf_counter() - begin < SECONDS:
        pairs.append(pair(len(pairs)))
    return pairs


def form(t):
    return (t.shape, t.stride(), t.dtype, t.requires_grad) if isinstance(t, torch.Tensor) else t


def grouped(program, candidates):
    """Runs the model once, and returns the groups of modules that a kernel serves and the groups that are left."""
    seen = {c.name: [] for c in candidates}
    with contextlib.ExitStack() as hooks:
        for c in candidates:

            def note(module, arguments, named, c=c):
                served = bool(arguments) and not named and c.serves(arguments[0], arguments[1:])
                gain = c.gain_ms(arguments[0], arguments[1:]) if served else 0.0
                seen[c.name].append((served, gain, tuple(map(form, arguments))))

            hooks.enter_context(c.module.register_forward_pre_hook(note, with_kwargs=True))
        program.uncompiled()
    groups, left = {}, {}
    for c in candidates:
        calls = seen[c.name]
        if any(served for served, _, _ in calls):
            own = tuple(map(form, (*c.module._parameters.values(), *c.module._buffers.values())))
            key = c.kind, c.settings, own, tuple(forms for _, _, forms in calls)
            group = groups.setdefault(repr(key), Group([], c.kernel, candidates=[]))
            group.modules.append(c.name)
            group.candidates.append(c)
            group.gain_ms += sum(gain for _, gain, _ in calls)
            continue
        why = "no kernel serves its inputs as the program runs them" if calls else "these inputs do not reach it"
        left.setdefault((c.kernel, why), Group([], c.kernel, why)).modules.append(c.name)
    return list(groups.values()), list(left.values())


def modules_times(program, groups):
    """Times the modules within passes of the model. In each pair of passes, a random half of the groups has the
    pack's kernels in the first pass, and the other half in the second pass."""
    marks, hooks, draw = [], [], random.Random(0)
    for at, group in enumerate(groups):
        for c in group.candidates:
            begun = []

            def before(*_, begun=begun):
                begun.append(program.clock.mark())

            def after(*_, at=at, begun=begun):
                marks.append((at, begun.pop(), program.clock.mark()))

            hooks += [c.module.register_forward_pre_hook(before), c.module.register_forward_hook(after, prepend=True)]

    def pass_(ours):
        marks.clear()
        program.put(groups, False)
        program.put(ours, True)
        program.forward()
        program.clock.wait()
        sums = [0.0] * len(groups)
        for at, begin, end in marks:
            sums[at] += program.clock.ms(begin, end)
        return sums

    def pair(turn):
        ours = [group for group in groups if draw.random() < 0.5]
        one, two = pass_(ours), pass_([group for group in groups if group not in ours])
        return [(b, a) if group in ours else (a, b) for group, a, b in zip(groups, one, two)]

    try:
        pairs = paired(pair)
    finally:
        program.put(groups, False)
        for hook in hooks:
            hook.remove()
    for group, own in zip(groups, zip(*pairs)):
        group.times(own)


def graphs_times(program, groups):
    """Times the whole model in CUDA graphs, with and without the kernels of each group."""
    before = program.way([])
    for group in groups:
        group.times(program.in_turns(before, program.way([group])))


class Answers:
    """The model's outputs with PyTorch's kernels, and how much they differ from run to run."""

    def __init__(self, program, state):
        self.program, self.state = program, state
        self.wanted = [t.clone() for t in self.found(program.uncompiled)]
        again = zip(self.found(program.uncompiled), self.wanted)
        self.may = [max(MAY_DIFFER.get(t.dtype, MAY_DIFFER_OTHERWISE), 2 * distance(found, t)) for found, t in again]

    def found(self, forward):
        self.state.restore()
        found = list(tensors_of(forward()))
        self.program.clock.wait()
        return found

    def why_not(self, groups, forward):
        """Returns why the kernels of these groups compute wrong results in the model, or "" if they do not."""
        self.program.put(groups, True)
        try:
            found = self.found(forward)
        except Exception as error:  # only the pack's kernels can have failed
            text = str(error).partition("\n")[0]
            return f"it fails: {type(error).__name__}: {text:.120}"
        finally:
            self.program.put(groups, False)
        if len(found) != len(self.wanted):
            return "the model's output has other tensors"
        off = [distance(f, w) for f, w in zip(found, self.wanted)]
        worst = max(range(len(off)), key=lambda i: off[i] / self.may[i], default=None)
        if worst is None or off[worst] <= self.may[worst]:
            return ""
        return f"it changes the model's output by {off[worst]:.2g} of its spread; {self.may[worst]:.2g} is allowed"


def settled(program, answers, groups, done):
    """Keeps the groups that together make the model faster. Until they do, it puts back the half that gains least."""
    while groups:
        groups.sort(key=lambda group: group.gain_ms, reverse=True)
        why = answers.why_not(groups, program.forward)
        if not why:
            timed = Times(program.in_turns(program.way([]), program.way(groups)))
            if timed.interval[0] > 1:
                vars(done).update(vars(timed))
                return groups
            vars(done).update(before_ms=timed.before_ms, after_ms=timed.before_ms, faster=1.0, interval=(1.0, 1.0))
            why = "the whole model is not faster with it"
        for group in groups[len(groups) // 2:]:
            group.why = why
            done.left.append(group)
        groups = groups[:len(groups) // 2]
    return []


def decided(program, state, candidates):
    done = Replaced(program.run, [], [])
    groups, done.left = grouped(program, candidates)
    if not groups:
        return done
    answers, right = Answers(program, state), []
    for group in groups:
        group.why = answers.why_not([group], program.uncompiled)
        (done.left if group.why else right).append(group)
    if program.run != COMPILE and right:
        (graphs_times if program.run == GRAPH else modules_times)(program, right)
    for group in right:
        if group.interval is not None and group.interval[0] <= 1:
            group.why = "it is not faster in the model"
            done.left.append(group)
    done.kept = settled(program, answers, [group for group in right if not group.why], done)
    program.put(done.kept, True)
    return done


def compilations(run):
    """Raises the limit of torch.compile, since each set of modules is compiled anew."""
    if run != COMPILE:
        return contextlib.nullcontext()
    import torch._dynamo  # this import takes a second

    config = torch._dynamo.config
    name = "recompile_limit" if hasattr(config, "recompile_limit") else "cache_size_limit"
    return config.patch({name: getattr(config, name) + 16})


def measure(model, inputs, run, candidates, clock):
    """Leaves the model with the kernels that make it faster, and otherwise unchanged. Returns the measurements."""
    program = Program(model, inputs, run, clock)
    everything = [Group([c.name], c.kernel, candidates=[c]) for c in candidates]
    with State(model, inputs) as state, compilations(run):
        try:
            return decided(program, state, candidates)
        except BaseException:
            program.put(everything, False)
            raise
        finally:
            clock.close()
