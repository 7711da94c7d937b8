"""Bounds that a child process sets itself: what it may take, and when it ends whatever happens.

Windows has none of these; there the parent's own time limit is all there is.
"""

from __future__ import annotations

import signal
import sys


def limit_memory(size: int) -> None:
    """More than `size` bytes is a MemoryError from now on."""
    _limit("RLIMIT_AS", size)


def limit_file_size(size: int) -> None:
    """No file grows beyond `size` bytes: writing on is an OSError."""
    if hasattr(signal, "SIGXFSZ"):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    _limit("RLIMIT_FSIZE", size)


def _limit(what: str, size: int) -> None:
    try:
        import resource

        resource.setrlimit(getattr(resource, what), (size, size))
    except (ImportError, AttributeError, ValueError, OSError):
        print(f"{what} can't be set here", file=sys.stderr)


def end_process_after(seconds: float) -> None:
    """Have the system end this process after so long, 0 for never again.

    The parent does so earlier, if there still is one. A thread that looks for the parent's end
    can't: code in C (a regular expression) may never let it run.
    """
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, seconds)
