"""A request, built again from its receipt and what is still stored; and a decision's figures."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from chatsite.encoding import Record
from chatsite.history.decision.receipt import Decision
from chatsite.history.evidence import (
    AddedMessage,
    LayoutItem,
    StoredRun,
    message_digest,
    read_layout,
)
from chatsite.history.path.added_messages import (
    continue_message,
    quoted_message,
    summary_message,
    unfinished_message,
)
from chatsite.history.path.in_force import instructions_message
from chatsite.history.path.own_lines import own_line
from chatsite.history.path.shortened import as_sent
from chatsite.history.path.transcript import Entry
from chatsite.history.policies.lexical_passages import passage_of
from chatsite.history.room import Head, weakest
from chatsite.messages import Basis, Message, TokenCount
from chatsite.wording import later, say


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionFigures(Record):
    """What a decision sends: `messages` stored on the path and all `tokens` of the prompt.

    `leading` of the tokens, `share` percent of them, are the beginning of the request before. Of
    the conversation's tool `groups` some aren't sent at all, and others are sent in part, which a
    provider would refuse.
    """

    messages: int
    tokens: int
    basis: Basis
    leading: int
    share: int
    groups: int
    groups_left_out: int
    groups_cut: int


class ToolGroups:
    """The tool groups of a path, counted for any of its turns: a message that calls tools, with
    all its results."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._seqs: list[int] = []
        self._members: list[set[str]] = []
        self._group_of: dict[str, int] = {}
        wanted: set[str] = set()
        for entry in entries:
            message = entry.message
            if message.calls:
                wanted = {call.id for call in message.calls}
                self._seqs.append(entry.seq)
                self._members.append(set())
            elif message.role == "user":
                wanted = set()
            if message.calls or (message.role == "tool" and message.call_id in wanted):
                self._members[-1].add(message.id)
                self._group_of[message.id] = len(self._members) - 1

    def figures(self, decision: Decision, *, last: int) -> DecisionFigures:
        """The decision's numbers; `last` is its current message's sequence number. What became of
        the groups is read from the request itself, not from the verdicts on it."""
        sent = {message.id for message in decision.request if message.id in self._group_of}
        touched = {self._group_of[id] for id in sent}
        whole = sum(self._members[group] <= sent for group in touched)
        held = bisect_right(self._seqs, last)
        leading = min(decision.leading, decision.tokens)
        return DecisionFigures(
            messages=decision.sent,
            tokens=decision.tokens,
            basis=weakest(part.basis for part in decision.parts if part.tokens > 0),
            leading=leading,
            share=100 * leading // decision.tokens if decision.tokens else 0,
            groups=held,
            groups_left_out=held - len(touched),
            groups_cut=len(touched) - whole,
        )


UNCOUNTED = TokenCount(count=0, tokenizer="", basis="estimated")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRequest:
    """What is still stored of a request: the messages that its receipt names, in path order, and
    the texts of its summaries by their ids."""

    agent: str
    receipt: Mapping[str, Any]
    entries: tuple[Entry, ...]
    summaries: Mapping[str, str]


def layout_of(receipt: Mapping[str, Any]) -> tuple[LayoutItem, ...]:
    """The layout of the request. The first version of receipts had only verdicts for it.

    Raises KeyError, TypeError or ValueError for what is no receipt.
    """
    if "layout" in receipt:
        return read_layout(receipt["layout"])
    sent = [verdict for verdict in receipt["verdicts"] if verdict["sent"] and verdict["first"]]
    return tuple(StoredRun(int(verdict["first"]), int(verdict["last"])) for verdict in sent)


def rebuild_messages(
    stored: StoredRequest, head: Head
) -> tuple[tuple[Message, ...], tuple[str, ...]]:
    """The messages in the order in which they were sent, and a sentence for everything that
    isn't as it was; `head` is the agent's as it is now."""
    rebuilding = _Rebuilding(stored, {entry.seq: entry for entry in stored.entries})
    if head.hash != stored.receipt["head"]["hash"]:
        rebuilding.differences.append(
            say("The agent was changed since: its own messages are shown as they are now.")
        )
    sent = [m for item in layout_of(stored.receipt) for m in rebuilding.messages(item)]
    system = [message for message in sent if message.role == "system"]
    rest = [message for message in sent if message.role != "system"]
    messages = (*head.system, *system, *head.examples, *rest)
    if "layout" not in stored.receipt and len(sent) != stored.receipt["facts"]["sent"]:
        rebuilding.differences.append(
            say("Some of the messages that were sent aren't stored any more.")
        )
    return messages, tuple(rebuilding.differences)


@dataclass(slots=True)
class _Rebuilding:
    """`differences` collects a sentence for everything that isn't as it was."""

    stored: StoredRequest
    entries: Mapping[int, Entry]
    differences: list[str] = field(default_factory=list)

    def messages(self, item: LayoutItem) -> Iterator[Message]:
        if isinstance(item, StoredRun):
            yield from self._stored_messages(item)
            return
        message = self._written(item)
        if message is not None and message_digest(message) != item.digest:
            self.differences.append(_reads_differently(item))
        if message is not None:
            yield message

    def _stored_messages(self, run: StoredRun) -> Iterator[Message]:
        match sorted(seq for seq in {run.first, run.last} if seq not in self.entries):
            case [seq]:
                self.differences.append(say("Message {seq} isn't stored any more.", seq=seq))
            case [first, last]:
                self.differences.append(
                    say("Message {first} and {last} isn't stored any more.", first=first, last=last)
                )
        entries = self.stored.entries
        for place, entry in enumerate(entries):
            if run.first <= entry.seq <= run.last:
                whole = not run.shortened
                yield (entry if whole else as_sent(entries, place, run.shortened)).message

    def _written(self, item: AddedMessage) -> Message | None:
        if item.kind == "summary":
            text = self.stored.summaries.get(item.id)
            if text is not None:
                return summary_message(text, UNCOUNTED)
            self.differences.append(say("The summary that was sent isn't stored any more."))
        elif item.kind == "recalled":
            sources = [self.entries[seq] for seq in item.sources if seq in self.entries]
            if len(sources) == len(item.sources):
                before = int(item.id or 0)
                asked = self.entries[before].message.content if before in self.entries else ""
                passages = [passage_of(entry, asked or "") for entry in sources]
                return quoted_message(passages, before=before)
            gone = ", ".join(str(seq) for seq in item.sources if seq not in self.entries)
            self.differences.append(
                say("Message {seqs}, which was quoted, isn't stored any more.", seqs=gone)
            )
        elif item.kind == "continue":
            return self._continued(item)
        elif item.kind == "instructions":
            sources = [self.entries[seq] for seq in item.sources if seq in self.entries]
            return instructions_message([one for one in sources if one.in_force])
        elif item.kind in ("date", "told"):
            return own_line(item.id)
        else:
            self.differences.append(
                say(
                    "A text of the agent's strategy ({tokens:,} tokens) can't be shown: only its "
                    "fingerprint {digest} was kept.",
                    tokens=item.tokens,
                    digest=item.digest,
                )
            )
        return None

    def _continued(self, item: AddedMessage) -> Message | None:
        """The instruction to continue, or the answer as it was before it."""
        if item.role == "user":
            return continue_message()
        found = next((self.entries[seq] for seq in item.sources if seq in self.entries), None)
        if found is not None:
            return unfinished_message(found.message, int(item.id))
        self.differences.append(say("The answer that was continued isn't stored any more."))
        return None


OTHER_TEXT = later("A text reads differently now.")
_DIFFERENT = {
    "summary": later("The summary reads differently now."),
    "recalled": later("What was quoted reads differently now."),
    "instructions": later("Other instructions are in force now."),
    "continue": later("The answer that was continued reads differently now."),
}


def _reads_differently(item: AddedMessage) -> str:
    if item.kind == "continue" and item.role == "user":
        return say("The instruction to continue reads differently now.")
    return say(_DIFFERENT.get(item.kind, OTHER_TEXT))
