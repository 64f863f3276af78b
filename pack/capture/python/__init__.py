"""Watches the PyTorch calls of a program that `autotune capture` started."""
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
        """Ends the process as os._exit does, without the functions that are registered with atexit."""
        watch.leave()
        end_at_once(status)

    os._exit = exit_at_once
    # A forked process of multiprocessing ends without calling the functions that are registered with atexit.
    util = sys.modules.get("multiprocessing.util")
    if util:
        util.register_after_fork(watch, lambda w: util.Finalize(w, w.end, exitpriority=-100))
    watch.first()


def follow_threads(watch):
    """Watches every thread that starts from now on, since PyTorch's function modes apply only to their own thread."""
    begin_thread = threading.Thread._bootstrap_inner

    def watched(thread):
        with watch:
            begin_thread(thread)

    threading.Thread._bootstrap_inner = watched
