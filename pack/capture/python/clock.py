"""Times of calls: on a GPU by pairs of events that nobody waits for, on a CPU by the clock."""
import collections

import torch

MOST_PAIRS = 256  # under way at once; a call beyond them is not timed
OFTEN = 32  # calls of a kind that are all timed; of later ones one in so many is:
ONE_IN = 8


class Clock:
    def __init__(self, before):
        # Events of the process that forked this one are not ours to destroy.
        self.parked = [before]
        self.free = collections.defaultdict(list)  # pairs by GPU
        self.pending, self.captured, self.made = collections.deque(), 0, 0

    def gpu(self):
        """The name of the first GPU that was used."""
        return torch.cuda.get_device_name(next(iter(self.free))) if self.free else ""

    def start(self, entry, tensor):
        """The first event of a call; None: it is timed by the host's clock, or not at all."""
        if not tensor.is_cuda or (entry.calls > OFTEN and entry.calls % ONE_IN):
            return None
        if torch.cuda.is_current_stream_capturing():
            self.captured += 1
            return None
        index = tensor.get_device()
        if not self.free[index]:
            if self.made >= MOST_PAIRS:
                self.collect()
                if not self.free[index]:
                    return None
            else:
                self.made += 1
                self.free[index].append([torch.cuda.Event(enable_timing=True) for _ in range(2)])
        pair = self.free[index].pop()
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
        """Takes back a timing that says nothing."""
        if timing is not None:
            pair, _, index = timing
            self.free[index].append(pair)

    def collect(self):
        """Takes the times of calls that the GPU is done with."""
        while self.pending and self.pending[0][1][1].query():
            entry, pair, index = self.pending.popleft()
            entry.add(pair[0].elapsed_time(pair[1]))
            self.free[index].append(pair)

    def finish(self):
        """Waits for the last call, at the program's end."""
        if self.pending:
            self.pending[-1][1][1].synchronize()
            self.collect()
