"""An imitation of torch.cuda. `now` is the stream's time in milliseconds, which has run up to `done`."""
now = 0.0
done = float("inf")
capturing = False
made = 0  # number of events


class Event:
    def __init__(self, enable_timing=False):
        global made
        assert enable_timing
        made += 1

    def record(self, stream):
        assert stream == "stream of 0"
        self.at = now

    def query(self):
        return self.at <= done

    def elapsed_time(self, end):
        assert end.query()
        return end.at - self.at

    def synchronize(self):
        global done
        done = max(done, self.at)


current_stream, get_device_name = "stream of {}".format, "Imagined GPU {}".format
is_current_stream_capturing = lambda: capturing
