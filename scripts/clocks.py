"""How scripts time calls: on the GPU one by one, and on the host in rounds that take turns."""
import statistics
import time

WARM_UP, SAMPLES = 3, 30  # on the GPU, as a search times PyTorch
ROUNDS, CALLS = 15, 200  # on the host


def flush():
    """A tensor that fills the L2 twice; writing it empties the cache."""
    import torch

    size = 2 * torch.cuda.get_device_properties(0).L2_cache_size
    return torch.empty(size, dtype=torch.uint8, device="cuda")


def milliseconds(call, flush):
    """The median of calls on the GPU, each with an empty L2."""
    import torch

    for _ in range(WARM_UP):
        call()
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(SAMPLES)]
    for start, end in events:
        flush.zero_()
        start.record()
        call()
        end.record()
    torch.cuda.synchronize()
    return statistics.median(start.elapsed_time(end) for start, end in events)


def microseconds(*calls, rounds=ROUNDS):
    """For each call the medians of its rounds: microseconds on the host, and those until the GPU is done."""
    import torch

    times = [[] for _ in calls]
    with torch.no_grad():
        for _ in range(rounds + 3):
            for kept, call in zip(times, calls):
                torch.cuda.synchronize()
                begin = time.perf_counter()
                for _ in range(CALLS):
                    call()
                host = time.perf_counter() - begin
                torch.cuda.synchronize()
                kept.append((host / CALLS * 1e6, (time.perf_counter() - begin) / CALLS * 1e6))
    return [[statistics.median(column) for column in zip(*kept[3:])] for kept in times]
