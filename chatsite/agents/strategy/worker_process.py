"""The worker's own process: `python -m chatsite.agents.strategy.worker_process`.

It writes one line when it is ready, then answers each line of JSON with a line of JSON. A strategy
is the administrator's code and this is no sandbox: a process can be killed, and it starts without
the server's environment. The end of stdin means that the parent has ended, for whatever reason.
"""

from __future__ import annotations

import _thread
import json
import math
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from queue import SimpleQueue
from types import CodeType, ModuleType
from typing import IO, Any

from chatsite.agents.strategy.protocol import LAST, StrategyFailure, StrategyInput, line_of
from chatsite.history import Selection, estimate
from chatsite.history.evidence import TEXT_ROLES
from chatsite.messages import Message
from chatsite.process_limits import (
    adopt_orphans,
    end_own_children,
    end_process_after,
    limit_memory,
    run_supervised,
)

LONGEST_NAME = 80

Content = str | Message | Iterable[Message] | None


class SlotError(ValueError):
    """A wrong call of `ctx.slots.add`. The message names the slot and what is allowed, never text
    of a conversation."""


class Budget(int):
    """Tokens that the prompt may take besides its head and the current message.

    An integer. `limit` is how many tokens the whole prompt may take.
    """

    limit: int

    def estimate(self, text: str) -> int:
        """About how many tokens a text takes, rather too many than too few."""
        return estimate(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """Whose strategy it is."""

    slug: str
    name: str
    personality: str


class SlotBuilder:
    """Collects the slots that the strategy adds, in their order."""

    def __init__(self, given: StrategyInput) -> None:
        self._input = given.input.strip()
        self._stored = {message.id: (seq, message) for seq, message in given.history}
        self._added: list[dict[str, object]] = []

    def add(
        self, name: str, content: Content, priority: float = 0, role: str | None = None
    ) -> None:
        """Put a text, a message or a list of messages into the context.

        None, an empty list and a blank text add nothing; two calls with one name make two slots.
        Over budget, the slot with the lowest `priority` is dropped first. `role` is the role of a
        text: by default "system" in the slot called "system", else "user". A message whose role
        differs from `role`, or that was changed, is sent as a text. The current message is always
        sent last, once: adding its text adds nothing. Raises SlotError.
        """
        shown = _checked_name(name, priority, role)
        default = role or ("system" if name == "system" else "user")
        items = [self._encode_item(item, default, role) for item in _contents(shown, content)]
        added = [item for item in items if item is not None]
        if added:
            self._added.append({"name": name, "priority": priority, "items": added})

    def to_list(self) -> list[dict[str, object]]:
        return self._added

    def _encode_item(
        self, item: str | Message, default: str, role: str | None
    ) -> int | dict[str, str] | None:
        """A stored message's number, or a text; None where the item adds nothing."""
        if isinstance(item, Message):
            seq, stored = self._stored.get(item.id, (0, None))
            if item == stored and role in (None, item.role):
                return seq
            default = role or ("assistant" if item.role == "tool" else item.role)
            read = item.as_read()
            lines = [read.content] if read.content else []
            item = "\n".join([*lines, *(f"File: {file.name}" for file in item.attachments)])
        if not item.strip() or (default == "user" and item.strip() == self._input):
            return None
        return {"role": default, "text": item}


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """`history` holds the messages before the current one, whose text is `input`."""

    history: Selection
    slots: SlotBuilder
    budget: Budget
    input: str
    agent: Agent

    @classmethod
    def of(cls, given: StrategyInput) -> Context:
        budget = Budget(given.budget)
        budget.limit = given.limit
        return cls(
            history=Selection([message for _, message in given.history]),
            slots=SlotBuilder(given),
            budget=budget,
            input=given.input,
            agent=Agent(slug=given.slug, name=given.name, personality=given.personality),
        )


def _checked_name(name: object, priority: object, role: object) -> str:
    """The slot as an error names it. Raises SlotError."""
    if not isinstance(name, str):
        raise SlotError(f"a slot's name must be text, not {_type_name(name)}")
    if not name.strip() or len(name) > LONGEST_NAME:
        raise SlotError(f"a slot's name must have 1 to {LONGEST_NAME} characters")
    shown = f'slot "{name}"'
    if isinstance(priority, bool) or not isinstance(priority, int | float):
        raise SlotError(f"{shown}: priority must be a number, not {_type_name(priority)}")
    if not math.isfinite(priority):
        raise SlotError(f"{shown}: priority must be a finite number")
    if role is not None and role not in TEXT_ROLES:
        raise SlotError(f"{shown}: role must be one of {', '.join(TEXT_ROLES)}, or left out")
    return shown


def _contents(shown: str, content: object) -> list[str | Message]:
    """The content as a list. Raises SlotError, which names the slot as `shown`."""
    if content is None:
        return []
    if isinstance(content, str | Message):
        return [content]
    allowed = "content must be a text, a message, a list of messages or None"
    if not isinstance(content, Iterable):
        raise SlotError(f"{shown}: {allowed}, not {_type_name(content)}")
    contents: list[str | Message] = []
    for place, message in enumerate(content):
        if not isinstance(message, Message):
            raise SlotError(f"{shown}: {allowed}; item {place} of it is {_type_name(message)}")
        contents.append(message)
    return contents


def _type_name(value: object) -> str:
    """The type of a value, in words."""
    return "None" if value is None else f"a {type(value).__name__}"


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
