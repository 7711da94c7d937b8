"""The worker's own process: `python -m chatsite.agents.strategy.worker_process`.

It writes one line when it is ready, then answers each line of JSON with a line of JSON. A strategy
is the administrator's code and this is no sandbox: a process can be killed, and it starts without
the server's environment. The end of stdin means that the parent has ended, for whatever reason.
"""

from __future__ import annotations

import _thread
import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Mapping
from dataclasses import asdict
from queue import SimpleQueue
from types import CodeType, ModuleType
from typing import IO, Any

from chatsite.agents.strategy.context import Context, SlotError
from chatsite.agents.strategy.protocol import LAST, StrategyFailure, StrategyInput, line_of
from chatsite.process_limits import (
    adopt_orphans,
    end_own_children,
    end_process_after,
    limit_memory,
    run_supervised,
)

MEMORY_BYTES = 512 * 1024 * 1024
LONGEST_TRACE = 4_000  # Characters.
MODULE = "strategy"

Codes = dict[str, tuple[bytes, CodeType]]


def answer_lines() -> None:
    # Ctrl-C reaches the whole group, and so does a service manager's SIGTERM; the parent decides
    # when we end: answers may still be written then.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    # A strategy may end its process, or crash it, with others running that it has begun.
    run_supervised()
    asked, answers = _private_pipes()
    limit_memory(MEMORY_BYTES)
    adopt_orphans()
    lines: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_read, args=(asked, lines), name="parent", daemon=True).start()
    ours = _thread._count()
    codes: Codes = {}
    answer: dict[str, object] = {"ready": True}
    while True:
        answers.write(line_of(answer))
        answers.flush()
        if LAST in answer:
            os._exit(0)
        answer = _answer(json.loads(lines.get()), codes)
        if _thread._count() > ours:  # a thread can be ended with its process only
            answer[LAST] = True


def _answer(question: Mapping[str, Any], codes: Codes) -> dict[str, object]:
    """Run one strategy once; whatever it raises becomes a failure."""
    path = str(question["path"])
    end_process_after(float(question["seconds"]))
    try:
        context = Context.of(StrategyInput.from_dict(question["given"]))
        result = _load(path, codes).build(context)
        if result is not None:
            kind = type(result).__name__
            wrong = f"build must return nothing and add to ctx.slots; it returned a {kind}"
            return {"problem": asdict(StrategyFailure(reason=wrong))}
        return {"slots": context.slots.to_list()}
    except BaseException as error:  # sys.exit() in a strategy ends the strategy only.
        return {"problem": asdict(_failure(error, path))}
    finally:
        end_process_after(0)
        end_own_children()
        sys.modules.pop(MODULE, None)


def _load(path: str, codes: Codes) -> Any:
    """The strategy as a new module, so that its variables never outlive one conversation.

    Only the compiled code is cached, as long as the file holds the same bytes.
    """
    with open(path, "rb") as file:
        source = file.read()
    known = codes.get(path)
    if known is None or known[0] != source:
        codes[path] = known = (source, compile(source, path, "exec", dont_inherit=True))
    module = ModuleType(MODULE)
    module.__file__ = path
    sys.modules[MODULE] = module  # dataclasses look their module up there
    exec(known[1], module.__dict__)
    return module


def _failure(error: BaseException, path: str) -> StrategyFailure:
    """The error with its place in the file. Other libraries' sentences may quote messages."""
    frames = traceback.extract_tb(error.__traceback__)
    line = next((frame.lineno for frame in reversed(frames) if frame.filename == path), None)
    reason = ""
    if isinstance(error, SlotError):
        reason = str(error)
    elif isinstance(error, SyntaxError) and error.filename == path:
        line, reason = error.lineno, "it isn't valid Python"
    elif isinstance(error, OSError) and line is None:
        reason = "the file can't be read"
    elif isinstance(error, AttributeError) and line is None and error.name == "build":
        reason = "it has no function build(ctx)"
    trace = "".join(traceback.format_exception(error))
    return StrategyFailure(
        error=type(error).__name__, line=line, reason=reason, trace=trace[-LONGEST_TRACE:]
    )


def _private_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """Keep stdin and stdout for our lines: a strategy reads nothing and prints to nowhere."""
    asked, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    return asked, answers


def _read(asked: IO[bytes], lines: SimpleQueue[bytes]) -> None:
    for line in asked:
        lines.put(line)
    os._exit(0)


if __name__ == "__main__":
    answer_lines()
