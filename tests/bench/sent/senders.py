"""Who makes requests of a conversation: our policies, and langchain-core's trimmer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Protocol

from chatsite.errors import PromptTooLarge
from chatsite.history import (
    Decision,
    Entry,
    Evidence,
    Head,
    NotLoaded,
    Previous,
    Recall,
    Tokens,
    Transcript,
    Users,
    Window,
    decide,
    reach,
    resolve,
)
from chatsite.history.evidence import AddedMessage, Hit, LayoutItem
from chatsite.history.lexical.index import Index, Line
from chatsite.history.lexical.ranking import question_in_chat, recall_messages
from chatsite.history.policies.lexical import LEXICAL
from chatsite.providers.tokens.passage_vectors import PassageVectors
from chatsite.providers.tokens.sentence_vectors import SentenceVectors
from chatsite.turns.context.loaded_path import as_storage_loads
from tests.bench.sent.bill import SentRequest
from tests.bench.sent.talks import counted, tokens

# Tokens of the instructions.
SYSTEM = 300
WINDOW = Window(1_000_000, 1)
HEAD = Head.of("instructions")
HEAD = replace(HEAD, messages=tuple(counted(message, SYSTEM) for message in HEAD.messages))


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Settings to send under, as a template has them; None is langchain-core's trimmer.

    `limit` are the tokens of a request, None for no limit. `vectors`: searches use sentence
    vectors beside the words.
    """

    template: Mapping[str, object] | None
    limit: int | None = None
    vectors: bool = False


class Sender(Protocol):
    """Sends one conversation's requests, one after the other, on a path that only grows but for
    its last message."""

    def send(
        self, path: Sequence[Entry], search: Search, *, keep: bool = True
    ) -> SentRequest | None:
        """None where the message alone exceeds the limit. With `keep` the request was made: the
        next one's beginning is compared with it. Otherwise nobody made it, and the state stays."""
        ...


# ---- searching --------------------------------------------------------------------------------
class Search:
    """The hits for each message of one conversation, looked for once for all who send it."""

    def __init__(self, vectors: SentenceVectors | None = None) -> None:
        self._index, self._indexed = Index(), 0
        self._vectors = PassageVectors(vectors, self._index) if vectors else None
        self._current: Entry | None = None
        self._found: dict[bool, tuple[Hit, ...]] = {}

    def hits(self, path: Sequence[Entry], *, vectors: bool) -> tuple[Hit, ...]:
        """For the path's last message."""
        *older, current = path
        if current is not self._current:
            self._current, self._found = current, {}
        if vectors not in self._found:
            self._follow(older)
            self._found[vectors] = recall_messages(
                self._index,
                question_in_chat(current.message.content or ""),
                meaning=self._vectors if vectors else None,
                before=current.seq,
            )
        return self._found[vectors]

    def _follow(self, older: Sequence[Entry]) -> None:
        texts = self._index.extend(line_of(entry) for entry in older[self._indexed :])
        if self._vectors is not None:
            self._vectors.add(texts)
        self._indexed = max(self._indexed, len(older))


def line_of(entry: Entry) -> Line:
    message = entry.message
    return Line(seq=entry.seq, author=message.role[0], text=message.content or "", at=entry.at)


# ---- our policies -----------------------------------------------------------------------------
class PolicySender:
    """Sends under one of our policies, with a conversation's evidence, receipts and quotes."""

    def __init__(self, plan: Plan) -> None:
        limit = {"historyTokens": plan.limit} if plan.limit is not None else {}
        template = {**(plan.template or {}), **limit}
        self._settings = resolve(environment={}, url={}, template=template)
        self._limit, self._vectors = plan.limit, plan.vectors
        self._searches = self._settings.active_policy.evidence == LEXICAL.evidence
        self._previous: Previous | None = None
        self._reach = reach(self._settings, room=WINDOW.room)
        self._older: list[Entry] = []
        self._taken = [0]
        self._quoted: dict[int, tuple[int, ...]] = {}

    def send(
        self, path: Sequence[Entry], search: Search, *, keep: bool = True
    ) -> SentRequest | None:
        *older, current = path
        self._follow(older)
        recall = self._recall(path, search)
        try:
            decision = decide(
                self._loaded(current, recall),
                self._settings,
                head=HEAD,
                window=WINDOW,
                evidence=Evidence(previous=self._previous, recall=recall),
                agent="bench",
            )
        except PromptTooLarge:
            return None
        if keep:
            self._previous = previous_of(decision)
            self._quoted[current.seq] = decision.quoted
        return SentRequest(decision.tokens, decision.leading, whole_messages(decision.layout))

    def _recall(self, path: Sequence[Entry], search: Search) -> Recall | None:
        """The search hits, as a turn collects them: only if not everything fits."""
        if not self._searches or self._limit is None:
            return None
        if SYSTEM + tokens(entry.message for entry in path) <= self._limit:
            return None
        return Recall(hits=search.hits(path, vectors=self._vectors))

    def _follow(self, older: Sequence[Entry]) -> None:
        """The path as storage loads it: what was quoted for a message is with its answer."""
        for entry in older[len(self._older) :]:
            quoted = self._quoted.pop(entry.seq - 1, ())
            answers = quoted and entry.message.role != "user"
            self._older.append(replace(entry, quoted=quoted) if answers else entry)
            self._taken.append(self._taken[-1] + tokens([entry.message]))

    def _loaded(self, current: Entry, recall: Recall | None) -> Transcript:
        """What storage loads for the policy, which decides the same of it as of the whole path."""
        if isinstance(self._reach, Users):
            return as_storage_loads((*self._older, current), self._reach)
        first = 0
        if isinstance(self._reach, Tokens):
            first = self._first_within(self._reach.tokens)
        tail = self._older[first:]
        wanted = {hit.seq for hit in recall.hits} if recall else set()
        wanted |= {seq for entry in tail for seq in entry.quoted}
        turns = {self._turn_of(seq - 1) for seq in wanted if seq <= first}
        above = [entry for turn in sorted(turns) for entry in self._turn(turn, first)]
        return Transcript(
            entries=(*above, *tail, current),
            not_loaded=NotLoaded(
                messages=first - len(above),
                users=sum(e.message.role == "user" for e in self._older[:first]) - len(turns),
                tokens=self._taken[first] - tokens(entry.message for entry in above),
                first=1,
                last=first,
            )
            if first > len(above)
            else NotLoaded(),
        )

    def _first_within(self, most: int) -> int:
        """The place of the turn at which the newest whole turns exceed `most` tokens."""
        for place in range(len(self._older) - 1, 0, -1):
            opens = self._older[place].message.role == "user"
            if opens and self._taken[-1] - self._taken[place] > most:
                return place
        return 0

    def _turn_of(self, place: int) -> int:
        while place and self._older[place].message.role != "user":
            place -= 1
        return place

    def _turn(self, first: int, end: int) -> Sequence[Entry]:
        last = first + 1
        while last < end and self._older[last].message.role != "user":
            last += 1
        return self._older[first:last]


def whole_messages(layout: Sequence[LayoutItem]) -> frozenset[int]:
    """The sequence numbers of the messages that a request holds, in their place or quoted."""
    found: set[int] = set()
    for item in layout:
        if isinstance(item, AddedMessage):
            found.update(item.sources)
        elif not item.shortened:
            found.update(range(item.first, item.last + 1))
    return frozenset(found)


def previous_of(decision: Decision) -> Previous:
    return Previous(
        head_hash=decision.head_hash,
        layout=decision.layout,
        cut=decision.cut,
        under=decision.under,
    )


# ---- another library --------------------------------------------------------------------------
class LangChainSender:
    """Sends with langchain-core's `trim_messages` as its documentation advises; exact counts."""

    def __init__(self, plan: Plan) -> None:
        from tests.bench.trimmers import LangChainAdvised

        assert plan.limit is not None
        self._adapter = LangChainAdvised()
        self._limit = plan.limit
        self._theirs: list[object] = [self._adapter.theirs(message) for message in HEAD.messages]
        self._last: list[str] = []

    def send(
        self, path: Sequence[Entry], search: Search, *, keep: bool = True
    ) -> SentRequest | None:
        *older, current = path
        known = len(self._theirs) - len(HEAD.messages)
        self._theirs += [self._adapter.theirs(entry.message) for entry in older[known:]]
        theirs = [*self._theirs, self._adapter.theirs(current.message)]
        kept = [message.id for message in self._adapter.trim(theirs, tokens=self._limit)]
        if current.message.id not in kept:
            return None
        entries = [*HEAD.messages, *(entry.message for entry in path[-len(kept) :])]
        counts = {message.id: tokens([message]) for message in entries}
        same = takewhile(lambda pair: pair[0] == pair[1], zip(kept, self._last, strict=False))
        leading = sum(counts[id] for id, _ in same)
        if keep:
            self._last = kept
        whole = frozenset(entry.seq for entry in path[-len(kept) :] if entry.message.id in kept)
        return SentRequest(sum(counts[id] for id in kept), leading, whole)


def sender_of(plan: Plan) -> Sender:
    return LangChainSender(plan) if plan.template is None else PolicySender(plan)
