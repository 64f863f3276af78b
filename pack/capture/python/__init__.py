"""Watches PyTorch's calls in a program that `autotune capture` started."""
import atexit
import os
import sys
import threading

from .watch import Watch


def begin(folder, torch):
    """Watches this process, its threads, and the processes that it forks."""
    watch = Watch(folder)
    watch.__enter__()
    follow_threads(watch)
    os.register_at_fork(after_in_child=watch.begin_again)
    atexit.register(watch.end)
    end_at_once = os._exit

    def exit_at_once(status):
        """Ends the process as os._exit does, which runs nothing that atexit has."""
        watch.leave()
        end_at_once(status)

    os._exit = exit_at_once
    # A process of multiprocessing that was forked ends without what atexit has.
    util = sys.modules.get("multiprocessing.util")
    if util:
        util.register_after_fork(watch, lambda w: util.Finalize(w, w.end, exitpriority=-100))
    watch.first()


def follow_threads(watch):
    """Has every thread that begins from now on watched: modes are a thread's own."""
    begin_thread = threading.Thread._bootstrap_inner

    def watched(thread):
        with watch:
            begin_thread(thread)

    threading.Thread._bootstrap_inner = watched
