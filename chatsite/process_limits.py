"""Limits that a child process sets for itself: memory, the size of files, and its lifetime.

Windows has none of these; there only the parent's own time limit applies.
"""

from __future__ import annotations

import signal
import sys


def limit_memory(size: int) -> None:
    """Taking more than `size` bytes of memory raises MemoryError from now on."""
    _limit("RLIMIT_AS", size)


def limit_file_size(size: int) -> None:
    """Writing a file beyond `size` bytes raises OSError from now on."""
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
    """Have the system end this process after that many seconds; 0 cancels an earlier call.

    A parent that still runs ends it earlier. A thread that watches for the parent's end isn't
    enough: code in C (a regular expression) may never let the thread run.
    """
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, seconds)
