"""The room of one request: its limit, the parts that are always sent, and the division of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from chatsite.encoding import Record
from chatsite.errors import PromptTooLarge
from chatsite.history.values.reasons import Reason
from chatsite.history.values.window import Head, Window, sum_counts, weakest
from chatsite.messages import Basis, Message
from chatsite.wording import later, say

RequestPartName = Literal[
    "system",
    "prefilled",
    "tools",
    "strategy",
    "summary",
    "history",
    "recalled",
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
        return cls(name, *sum_counts(messages))


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
    prefilled: RequestPart
    tools: RequestPart
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
    ) -> RequestRoom:
        """`system` are the system messages of the path; those of the head come with it."""
        by_budget = budget is not None and budget <= window.room
        parts = (
            RequestPart.of("system", [*head.system, *system]),
            RequestPart.of("prefilled", head.examples),
            RequestPart("tools", head.tools, "estimated"),
            RequestPart.of("current", current),
        )
        instructions, examples, tools, asked = parts
        return cls(
            window=window,
            limit=budget if budget is not None and by_budget else window.room,
            overflow_reason="over_budget" if by_budget else "over_window",
            system=instructions,
            prefilled=examples,
            tools=tools,
            current=asked,
            fixed=sum([part.tokens for part in parts]),
        )

    @property
    def available_tokens(self) -> int:
        """Tokens that are left for history."""
        return self.limit - self.fixed

    @property
    def exceeded(self) -> bool:
        """Whether these parts alone don't fit."""
        return self.fixed > self.limit

    def require(self) -> None:
        """Raise PromptTooLarge, naming the largest part, when these parts alone don't fit."""
        if self.exceeded:
            raise self.refusal()

    def refusal(self) -> PromptTooLarge:
        """The same fact in two sentences: for who tried to send it, and, beside the numbers, for
        who is still writing."""
        parts = (self.system, self.prefilled, self.tools, self.current)
        largest = max(parts, key=lambda part: part.tokens)
        bound, part, advice = self._bound(), say(_NAMES[largest.name]), say(_ADVICE[largest.name])
        return PromptTooLarge(
            say(
                "This message can't be sent: {fixed:,} tokens are needed and {allowed:,} are "
                "allowed ({bound}). The largest part is {part}, with {tokens:,} tokens. "
                "Nothing was sent and your text is kept. {advice}",
                fixed=self.fixed,
                allowed=max(0, self.limit),
                bound=bound,
                part=part,
                tokens=largest.tokens,
                advice=advice,
            ),
            beforehand=say(
                "This is too long to be sent: the limit is {bound}, and most of it is taken by "
                "{part}. {advice}",
                bound=bound,
                part=part,
                advice=advice,
            ),
        )

    def parts(
        self,
        history: Sequence[Message],
        *,
        strategy: Sequence[Message] = (),
        summary: Message | None = None,
        recalled: Sequence[Message] = (),
    ) -> tuple[RequestPart, ...]:
        """All parts of the window, with what is sent; texts of our own only where there are any."""
        added = [
            RequestPart.of("strategy", strategy),
            RequestPart.of("summary", [summary] if summary else ()),
        ]
        before = [part for part in added if part.tokens]
        after = [RequestPart.of("recalled", recalled)] if recalled else []
        sent = RequestPart.of("history", history)
        tools = [self.tools] if self.tools.tokens else []
        used = (self.system, self.prefilled, *tools, *before, sent, *after, self.current)
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
    "prefilled": later("the agent's example turns"),
    "tools": later("the descriptions of the agent's tools"),
    "current": later("the message itself"),
}
_ADVICE: dict[RequestPartName, str] = {
    "system": later("Shorten the agent's personality or choose a model with a larger window."),
    "prefilled": later("Shorten the agent's example turns or choose a model with a larger window."),
    "tools": later("Give the agent fewer tools or choose a model with a larger window."),
    "current": later("Shorten the message and what is attached to it, or send it in parts."),
}
