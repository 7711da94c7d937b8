"""Limits of a process: a child's memory, its files' size and its lifetime; the server's open files
and memory.

Windows has none of these; there only the parent's own time limit applies.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

# More are never needed, and some systems call a number without meaning their limit.
UNLIMITED = 65_536
_SET_CHILD_SUBREAPER = 36  # of Linux: prctl(2)
_LOOKS = 20
# Elsewhere nothing says what descends from a process.
SUPERVISES = sys.platform == "linux"


def limit_memory(size: int) -> None:
    """Taking more than `size` bytes of memory raises MemoryError from now on."""
    _limit("RLIMIT_AS", size)


def limit_file_size(size: int) -> None:
    """Writing a file beyond `size` bytes raises OSError from now on."""
    if hasattr(signal, "SIGXFSZ"):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    _limit("RLIMIT_FSIZE", size)


def open_files() -> int:
    """How many files and connections this process may have open."""
    try:
        import resource
    except ImportError:
        return UNLIMITED
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return UNLIMITED if soft == resource.RLIM_INFINITY else soft


def raise_open_files() -> int:
    """Allow as many as the system lets this process have; how many that are."""
    try:
        import resource

        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        wanted = UNLIMITED if hard == resource.RLIM_INFINITY else min(hard, UNLIMITED)
        if open_files() < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (ImportError, ValueError, OSError):
        pass  # it stays as it is
    return open_files()


def return_freed_memory() -> None:
    """Give memory that was freed back to the system, where the C library keeps it and can do so
    (glibc). 10 ms for 200 MB."""
    try:
        import ctypes

        ctypes.CDLL(None).malloc_trim(0)
    except (ImportError, OSError, AttributeError):
        pass


def adopt_orphans() -> None:
    """What a child of this process leaves behind becomes its child, on Linux, also where it has
    begun a session of its own: `end_children` finds it."""
    try:
        import ctypes

        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        pass


def end_own_children() -> None:
    """Kill all that this process has begun, and what that has begun, where it `adopts_orphans`."""
    with suppress(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)  # raises where there are none, which is nearly always
        end_children(os.getpid())


def end_children(of: int) -> None:
    """Kill all that descends from a process, but not itself. What begins new ones faster than they
    are found goes on. Hundreds take a second: not for an event loop."""
    for _ in range(_LOOKS):
        found = _descendants(of)
        for child in found:
            with suppress(OSError):
                os.kill(child, signal.SIGKILL)
        for child in found:
            with suppress(OSError):
                os.waitpid(child, 0)  # where it is our own
        if not found:
            return


def run_supervised() -> None:
    """Go on in a child. This process only waits for its end, however that comes, ends what it has
    left behind, and ends. Call it before a thread is started."""
    if not SUPERVISES:
        return
    adopt_orphans()
    child = os.fork()
    if child == 0:
        os.setsid()  # who ends its own group doesn't end this process
        return
    for pipe in (0, 1):
        os.close(pipe)  # their other ends shall see the child's end
    os.waitpid(child, 0)
    end_own_children()
    os._exit(0)


def _descendants(of: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError, IndexError):
            state, parent = file.read_text().rpartition(")")[2].split()[:2]
            if state != "Z":
                children.setdefault(int(parent), []).append(int(file.parent.name))
    found = [*children.get(of, ())]
    for child in found:
        found += children.get(child, ())
    return found


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
