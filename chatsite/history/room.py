"""The room of one request: the window, the head that every request begins with, the tokens of
messages, the parts that are always sent, and the limit."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from chatsite.encoding import Record
from chatsite.errors import PromptTooLarge
from chatsite.history.reasons import Reason
from chatsite.messages import BASES, Basis, Message, TokenCount
from chatsite.wording import later, say


@dataclass(frozen=True, slots=True)
class Window:
    """The model's window and what of it is kept for the reply, in tokens."""

    size: int
    reply: int

    @property
    def room(self) -> int:
        """Tokens that a prompt may have."""
        return self.size - self.reply


# The message with the instructions that a person gives to every agent.
OWN_ID = "own-instructions"


@dataclass(frozen=True, slots=True)
class Head:
    """What every request begins with: system messages, then prefilled turns.

    The instructions that a person gives to every agent follow the agent's, as a message of their
    own. `prefilled` is how many messages at the end are prefilled ones. `hash` is the sha256 of all
    roles and contents, in hex. Every message must carry its tokens before `decide`. `tools` are the
    tokens that the descriptions of the agent's tools take, estimated; `recall`: one of them finds
    what isn't sent of the conversation.
    """

    messages: tuple[Message, ...]
    prefilled: int
    hash: str
    tools: int = 0
    recall: bool = False

    @classmethod
    def of(cls, system: str | None, prefilled: Sequence[Message] = (), *, own: str = "") -> Head:
        """A head from the personality, a person's `own` instructions and the template's prefilled
        messages."""
        first = [Message.system(system, id="personality")] if system else []
        first += [message for message in prefilled if message.role == "system"]
        first += [Message.system(own, id=OWN_ID)] if own else []
        turns = [message for message in prefilled if message.role != "system"]
        messages = (*first, *turns)
        said = json.dumps([[m.role, m.content] for m in messages], ensure_ascii=False)
        digest = hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()
        return cls(messages=messages, prefilled=len(turns), hash=digest)

    def counted(self, counts: Sequence[TokenCount]) -> Head:
        """The same head with the tokens of each message, in order."""
        counted = zip(self.messages, counts, strict=True)
        return replace(self, messages=tuple(replace(m, tokens=count) for m, count in counted))

    @property
    def system(self) -> tuple[Message, ...]:
        return self.messages[: len(self.messages) - self.prefilled]

    @property
    def own(self) -> tuple[Message, ...]:
        """The person's own instructions, if there are any."""
        return tuple(message for message in self.system if message.id == OWN_ID)

    @property
    def examples(self) -> tuple[Message, ...]:
        """The prefilled turns."""
        return self.messages[len(self.messages) - self.prefilled :]


# ---- counts of messages ------------------------------------------------------------------
def known_tokens(message: Message) -> TokenCount:
    """The count that a message must carry before a decision; ValueError where there is none."""
    if message.tokens is None:
        raise ValueError(f"message {message.id} has no token count")
    return message.tokens


def known_counts(messages: Iterable[Message]) -> list[TokenCount]:
    """The counts of these, in order; ValueError where a message has none."""
    return [message.tokens or known_tokens(message) for message in messages]


def sum_tokens(messages: Iterable[Message]) -> int:
    """The sum of their counts; ValueError where a message has none."""
    return sum([one.count for one in known_counts(messages)])


def weakest(bases: Iterable[Basis]) -> Basis:
    """The basis of a sum of these."""
    return min(bases, key=BASES.index, default="counted")


RequestPartName = Literal[
    "system",
    "own",
    "prefilled",
    "tools",
    "instructions",
    "strategy",
    "summary",
    "history",
    "recalled",
    "notes",
    "current",
    "reply",
    "free",
]
# In the order in which they are shown.
PART_NAMES: tuple[RequestPartName, ...] = get_args(RequestPartName)


@dataclass(frozen=True, slots=True)
class RequestPart(Record):
    """A share of the model's window, in tokens. All parts together are the window."""

    name: RequestPartName
    tokens: int
    basis: Basis

    @classmethod
    def of(cls, name: RequestPartName, messages: Sequence[Message]) -> RequestPart:
        """Raises ValueError where a message has no count."""
        counts = known_counts(messages)
        return cls(name, sum([one.count for one in counts]), weakest({one.basis for one in counts}))


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRoom:
    """What a prompt may take, and the parts that are always in it.

    `limit` is the smaller of the budget and the window less the reply's reserve; `overflow_reason`
    is the reason of what is left out because of it. `fixed` are the tokens of the parts.
    """

    window: Window
    limit: int
    overflow_reason: Reason
    system: RequestPart
    own: RequestPart
    prefilled: RequestPart
    tools: RequestPart
    instructions: RequestPart
    current: RequestPart
    fixed: int

    @classmethod
    def of(
        cls,
        window: Window,
        *,
        budget: int | None,
        head: Head,
        system: Sequence[Message],
        current: Sequence[Message],
        in_force: Sequence[Message] = (),
    ) -> RequestRoom:
        """`system` are the system messages of the path; those of the head come with it. `in_force`
        is our message with what a person keeps in force, if there is one."""
        by_budget = budget is not None and budget <= window.room
        theirs = [message for message in head.system if message.id != OWN_ID]
        parts = (
            RequestPart.of("system", [*theirs, *system]),
            RequestPart.of("own", head.own),
            RequestPart.of("prefilled", head.examples),
            RequestPart("tools", head.tools, "estimated"),
            RequestPart.of("instructions", in_force),
            RequestPart.of("current", current),
        )
        instructions, own, examples, tools, kept, asked = parts
        return cls(
            window=window,
            limit=budget if budget is not None and by_budget else window.room,
            overflow_reason="over_budget" if by_budget else "over_window",
            system=instructions,
            own=own,
            prefilled=examples,
            tools=tools,
            instructions=kept,
            current=asked,
            fixed=sum([part.tokens for part in parts]),
        )

    def with_current(self, current: Sequence[Message]) -> RequestRoom:
        """The same room beside the current turn as it is sent."""
        part = RequestPart.of("current", current)
        return replace(self, current=part, fixed=self.fixed - self.current.tokens + part.tokens)

    def with_summary(self, tokens: int) -> RequestRoom | None:
        """The same room beside a summary, None where it has no room."""
        fixed = self.fixed + tokens
        return replace(self, fixed=fixed) if fixed <= self.limit else None

    @property
    def available_tokens(self) -> int:
        """Tokens that are left for history."""
        return self.limit - self.fixed

    @property
    def always(self) -> int:
        """Tokens of the parts beside the current turn."""
        return self.fixed - self.current.tokens

    @property
    def exceeded(self) -> bool:
        """Whether these parts alone don't fit."""
        return self.fixed > self.limit

    def refusal(self) -> PromptTooLarge:
        """Name the largest part, in two sentences: for who tried to send it, and, beside the
        numbers, for who is still writing."""
        parts = (self.system, self.own, self.prefilled, self.tools, self.instructions, self.current)
        largest = max(parts, key=lambda part: part.tokens)
        bound, part, advice = self._bound(), say(_NAMES[largest.name]), say(_ADVICE[largest.name])
        return PromptTooLarge(
            say(
                "This message needs {fixed:,} tokens, and {allowed:,} are allowed ({bound}). Most "
                "is {part}, with {tokens:,} tokens. Your text is kept. {advice}",
                fixed=self.fixed,
                allowed=max(0, self.limit),
                bound=bound,
                part=part,
                tokens=largest.tokens,
                advice=advice,
            ),
            beforehand=say("Too long: most is {part}. {advice}", part=part, advice=advice),
        )

    def parts(
        self,
        history: Sequence[Message],
        *,
        strategy: Sequence[Message] = (),
        summary: Message | None = None,
        recalled: Sequence[Message] = (),
        notes: Sequence[Message] = (),
    ) -> tuple[RequestPart, ...]:
        """All parts of the window, with what is sent; texts of our own only where there are any."""
        added = [
            RequestPart.of("strategy", strategy),
            RequestPart.of("summary", [summary] if summary else ()),
        ]
        before = [part for part in added if part.tokens]
        own: tuple[tuple[RequestPartName, Sequence[Message]], ...]
        own = (("recalled", recalled), ("notes", notes))
        after = [RequestPart.of(name, messages) for name, messages in own if messages]
        sent = RequestPart.of("history", history)
        tools = [part for part in (self.tools, self.instructions) if part.tokens]
        own_text = [self.own] if self.own.tokens else []
        used = (self.system, *own_text, self.prefilled, *tools, *before, sent, *after, self.current)
        return (*used, *rest_of(self.window, used))

    def _bound(self) -> str:
        if self.overflow_reason == "over_budget":
            return say("the token budget")
        window = self.window
        return say(
            "the model's window of {window:,} less {reply:,} for the reply",
            window=window.size,
            reply=window.reply,
        )


def rest_of(window: Window, used: Sequence[RequestPart]) -> tuple[RequestPart, RequestPart]:
    """What the `used` parts leave of the window: what is kept for the reply, and what is free."""
    free = max(0, window.room - sum(part.tokens for part in used))
    basis = weakest(part.basis for part in used)
    return RequestPart("reply", window.reply, "counted"), RequestPart("free", free, basis)


_NAMES: dict[RequestPartName, str] = {
    "system": later("the agent's instructions"),
    "own": later("your instructions for all agents"),
    "prefilled": later("the agent's example turns"),
    "tools": later("the descriptions of the agent's tools"),
    "instructions": later("the instructions that you keep in force"),
    "current": later("the message itself"),
}
_ADVICE: dict[RequestPartName, str] = {
    "system": later("Shorten the agent's personality or choose a model with a larger window."),
    "own": later("Shorten your instructions or choose a model with a larger window."),
    "prefilled": later("Shorten the agent's example turns or choose a model with a larger window."),
    "tools": later("Give the agent fewer tools or choose a model with a larger window."),
    "instructions": later("End some of them in the panel or at their messages."),
    "current": later("Shorten it or what is attached, or send it in parts."),
}
