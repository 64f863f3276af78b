"""Measures the times of calls: on a GPU with pairs of events that no thread waits for, on a CPU with the clock."""
import collections

import torch

MOST_PAIRS = 256  # event pairs in use at once; further calls are not timed
OFTEN = 32  # all of a call's first repetitions are timed, and then one in ONE_IN
ONE_IN = 8


class Clock:
    def __init__(self, before):
        # CUDA events of the process that forked this one must not be destroyed here, so they are kept.
        self.parked = [before]
        self.free = collections.defaultdict(list)  # event pairs by GPU
        self.pending, self.captured = collections.deque(), 0

    def gpu(self):
        """Returns the name of the first GPU that was used."""
        return torch.cuda.get_device_name(next(iter(self.free))) if self.free else ""

    def start(self, entry, tensor):
        """Records the first event of a call. Returns None for a call that is not timed with events."""
        if not tensor.is_cuda or (entry.calls > OFTEN and entry.calls % ONE_IN):
            return None
        if torch.cuda.is_current_stream_capturing():
            self.captured += 1
            return None
        index = tensor.get_device()
        free = self.free[index]
        if not free and len(self.pending) >= MOST_PAIRS:
            self.collect()
            if not free:
                return None
        pair = free.pop() if free else [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        stream = torch.cuda.current_stream(index)
        pair[0].record(stream)
        return pair, stream, index

    def stop(self, entry, timing, host_ms):
        if timing is not None:
            pair, stream, index = timing
            pair[1].record(stream)
            self.pending.append((entry, pair, index))
        elif entry.device == "cpu":
            entry.add(host_ms)

    def drop(self, timing):
        """Discards a timing that is not usable, and frees its events."""
        if timing is not None:
            pair, _, index = timing
            self.free[index].append(pair)

    def collect(self):
        """Collects the times of the calls that the GPU has finished."""
        while self.pending and self.pending[0][1][1].query():
            entry, pair, index = self.pending.popleft()
            entry.add(pair[0].elapsed_time(pair[1]))
            self.free[index].append(pair)

    def finish(self):
        """Waits for the last call when the program ends."""
        if self.pending:
            self.pending[-1][1][1].synchronize()
            self.collect()
