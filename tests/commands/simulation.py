"""Stored conversations, replayed turn by turn under other settings, without calling a model."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from chatsite.conversations.records import LoadedPath
from chatsite.errors import PromptTooLarge
from chatsite.history import BACKGROUND, Entry, NotLoaded, Settings, Transcript, Users, reach
from chatsite.history.receipts.replay import DecisionFigures, ToolGroups
from chatsite.kv_cache.books import LOADED, UNLOADED
from chatsite.providers.base.provider import Price, reusable
from chatsite.turns.context.decider import Decider
from chatsite.turns.context.turn_context import TurnContext


@dataclass(slots=True, kw_only=True)
class SimulationTotals:
    """The turns that were replayed under one setting, added up.

    `leading` tokens of the prompts were those of the request before; `answers` are the tokens of
    the stored answers. `cost` is in US dollars, None where a price isn't known. `too_large`
    turns could not have been sent at all, `noted` ones not quite as the setting asks.
    """

    turns: int = 0
    messages: int = 0
    tokens: int = 0
    leading: int = 0
    answers: int = 0
    cost: float | None = 0.0
    groups: int = 0
    groups_left_out: int = 0
    groups_cut: int = 0
    too_large: int = 0
    noted: int = 0

    @property
    def share(self) -> int:
        """Percent of the prompts' tokens that a provider could reuse."""
        return 100 * self.leading // self.tokens if self.tokens else 0

    def add(self, found: DecisionFigures, *, answer: int, price: Price | None, noted: bool) -> None:
        self.turns += 1
        self.messages += found.messages
        self.tokens += found.tokens
        self.leading += found.leading
        self.answers += answer
        self.groups += found.groups
        self.groups_left_out += found.groups_left_out
        self.groups_cut += found.groups_cut
        self.noted += noted
        if price is None or self.cost is None:
            self.cost = None
        else:
            cached = reusable(found.leading)
            self.cost += price.cost(prompt=found.tokens, cached=cached, answer=answer)

    def merge(self, other: SimulationTotals) -> None:
        for name in self.__slots__:
            if name != "cost":
                setattr(self, name, getattr(self, name) + getattr(other, name))
        known = self.cost is not None and other.cost is not None
        self.cost = (self.cost or 0.0) + (other.cost or 0.0) if known else None

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__} | {"share": self.share}


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """One conversation, as if no cleanup had run in it before. `at` is called with the sequence
    number of every turn before it is decided; `tick` is called after each."""

    decider: Decider
    context: TurnContext
    loaded: LoadedPath
    price: Price | None
    at: Callable[[int], None]
    tick: Callable[[], None]

    async def under(self, settings: Settings) -> SimulationTotals:
        """All its turns, each with the simulated request before it as the previous one."""
        found, groups = SimulationTotals(), ToolGroups(self.entries)
        context = self.context.with_settings(settings)
        previous: dict[str, object] | None = None
        unloaded: set[int] = set()
        quoted: dict[int, tuple[int, ...]] = {}
        for place, answer, transcript in self._turns(settings):
            self.at(place)
            entries = _as_quoted(_as_unloaded(transcript.entries, unloaded), quoted)
            path = replace(transcript, entries=entries)
            loaded = replace(self.loaded, transcript=path, receipt=previous)
            try:
                decision = await self.decider.preview(context, loaded)
            except PromptTooLarge:
                found.too_large += 1
            else:
                result = groups.figures(decision, last=place)
                noted = bool(decision.notes)
                found.add(result, answer=answer, price=self.price, noted=noted)
                previous = decision.to_stored()
                unloaded.update(decision.unloads)
                quoted[place] = decision.quoted
            self.tick()
        return found

    @property
    def entries(self) -> tuple[Entry, ...]:
        return self.loaded.transcript.entries

    def _turns(self, settings: Settings) -> Iterator[tuple[int, int, Transcript]]:
        """Each turn that a person began: its sequence number, the tokens of its answer, and the
        path up to it, as far as the settings reach."""
        window = _Window(self.entries, settings, room=self.context.agent.window.room)
        for place in question_places(self.entries):
            answer = 0
            for entry in self.entries[place + 1 :]:
                if entry.message.role == "user":
                    break
                if entry.message.role == "assistant" and entry.message.tokens:
                    answer += entry.message.tokens.count
            yield self.entries[place].seq, answer, window.until(place)


def _as_unloaded(entries: Sequence[Entry], unloaded: AbstractSet[int]) -> tuple[Entry, ...]:
    """With the turns unloaded that begin with one of these messages, and all others loaded."""
    found: list[Entry] = []
    status = LOADED
    for entry in entries:
        if entry.message.role == "user":
            status = UNLOADED if entry.seq in unloaded else LOADED
        if entry.message.kv_status != status:
            entry = replace(entry, message=replace(entry.message, kv_status=status))
        found.append(entry)
    return tuple(found)


def _as_quoted(
    entries: Sequence[Entry], quoted: Mapping[int, tuple[int, ...]]
) -> tuple[Entry, ...]:
    """With what the simulated requests quoted before these messages, and nothing else quoted."""
    found: list[Entry] = []
    asked = 0
    for entry in entries:
        if entry.message.role == "user":
            asked = entry.seq
        now = quoted.get(asked, ()) if entry.message.role == "assistant" else ()
        found.append(entry if entry.quoted == now else replace(entry, quoted=now))
    return tuple(found)


def question_places(entries: Sequence[Entry]) -> list[int]:
    """The places of a person's messages among the entries."""
    return [
        place
        for place, entry in enumerate(entries)
        if entry.message.role == "user" and entry.message.source not in BACKGROUND
    ]


class _Window:
    """The path up to a turn. Of a policy that reaches back a few turns only those are given: the
    replay of a long conversation would take the square of its length."""

    def __init__(self, entries: tuple[Entry, ...], settings: Settings, *, room: int) -> None:
        self._entries = entries
        wanted = reach(settings, room=room)
        plain = not any(e.pinned or e.excluded or e.forgets_above for e in entries)
        plain &= not any(e.message.role == "system" or e.message.reply_to for e in entries)
        plain &= not any(e.message.source in BACKGROUND for e in entries)
        self._users = wanted.users if isinstance(wanted, Users) and plain else 0
        self._asked = question_places(entries)
        counts = (e.message.tokens.count if e.message.tokens else 0 for e in entries)
        self._tokens = list(accumulate(counts, initial=0))

    def until(self, place: int) -> Transcript:
        above = bisect_right(self._asked, place) - self._users
        if not self._users or above <= 0:
            return Transcript(entries=self._entries[: place + 1])
        first = self._asked[above]
        return Transcript(
            entries=self._entries[first : place + 1],
            not_loaded=NotLoaded(
                messages=first,
                users=above,
                tokens=self._tokens[first],
                first=self._entries[0].seq,
                last=self._entries[first - 1].seq,
            ),
        )
