"""Random actions and accidents with the cache, on a fake engine whose cells can be inspected."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule
from hypothesis.stateful import run_state_machine_as_test as run

from chatsite.kv_cache.books import CHUNKS, Book
from chatsite.messages import Message
from chatsite.providers.base.provider import Request
from tests.fakes.engine_cells import Cells
from tests.fakes.engine_completion import Pause
from tests.fakes.engine_words import tokenized
from tests.providers.cache_machine import ANY, TALKED, TEXT, Before, Conversations
from tests.providers.cache_talks import Talk, new_id
from tests.providers.cache_world import Answered, Clock, FakeWorld

AMPLE = 10**9
# Room for the files of some conversations: others must be removed.
SCANT = 30_000


@dataclass(frozen=True)
class Seen(Before):
    """Also the real cells of each slot."""

    slots: list[list[int]]


class OnFakeEngine(Conversations):
    """`damaged` are files with changed bytes; `stray` are files whose row was removed."""

    world: FakeWorld
    limit = AMPLE
    allowed = frozenset({"too_large", "interrupted", "unavailable", "loading"})

    def __init__(self) -> None:
        super().__init__()
        self.damaged: set[str] = set()
        self.stray: set[str] = set()

    def opened(self) -> tuple[asyncio.Runner, FakeWorld]:
        self.folder = TemporaryDirectory()
        world = FakeWorld(Path(self.folder.name), limit=self.limit)
        loop = asyncio.Runner(loop_factory=Clock)
        loop.run(world.open())
        return loop, world

    def teardown(self) -> None:
        self.loop.run(self.world.close())
        self.loop.close()
        self.folder.cleanup()

    # ---- more accidents ------------------------------------------------------------------------
    @TALKED
    @rule(
        number=ANY,
        text=TEXT,
        pause=st.builds(Pause, tokens=st.integers(1, 8), ahead=st.integers(0, 3)),
    )
    def ask_and_stop_while_it_runs_ahead(self, number: int, text: str, pause: Pause) -> None:
        """The engine has generated more than the client received."""
        self.leave(self.talk(number), text, pause)

    @TALKED
    @rule(
        number=ANY,
        text=TEXT,
        pause=st.builds(
            Pause,
            batches=st.integers(0, 3),
            ahead=st.sampled_from([0, 0, 50]),
            silent=st.booleans(),
        ),
    )
    def ask_and_stop_while_it_reads(self, number: int, text: str, pause: Pause) -> None:
        self.leave(self.talk(number), text, pause)

    def leave(self, talk: Talk, text: str, pause: Pause) -> None:
        question = Message.user(text, id=new_id("u"))
        request = talk.request(question, talk.sendable(4))
        before = self.before(talk)
        answered = self.loop.run(self.world.ask_and_leave(request, pause))
        self.note(talk, question, request, answered)
        if answered.account is not None:
            self.check(talk, request, answered, before)

    @TALKED
    @rule(number=ANY, text=TEXT, tokens=st.integers(0, 4))
    def the_engine_dies_in_the_middle(self, number: int, text: str, tokens: int) -> None:
        """It is started again, by the same server."""
        talk = self.talk(number)
        question = Message.user(text, id=new_id("u"))
        request = talk.request(question, talk.sendable(4))
        answered = self.loop.run(self.world.ask_and_kill(request, Pause(tokens=tokens)))
        self.note(talk, question, request, answered)
        self.misses += answered.account is not None and not answered.account.agrees
        self.lost.clear()

    @TALKED
    @rule(slot=st.integers(0, 3), number=ANY, text=TEXT)
    def a_slot_is_lost(self, slot: int, number: int, text: str) -> None:
        """Behind the keeper's back: it finds out, counts it, and its books are right again."""
        self.world.fake.slots[slot].cells.clear()
        self.lost.add(slot)
        self.asked(self.talk(number), text, policy=4)

    @rule(which=ANY, how=st.sampled_from(["gone", "cut", "changed"]), number=ANY, text=TEXT)
    @TALKED
    def a_file_is_damaged(self, which: int, how: str, number: int, text: str) -> None:
        """While no server runs: a running server verifies each file once."""
        files = sorted(self.world.folder.glob("*.bin"))
        if files:
            path = files[which % len(files)]
            self.damaged.add(path.name)
            damage(path, how)
        self.restart_and_ask(in_order=False, number=number, text=text)

    # ---- invariants ----------------------------------------------------------------------------
    def take_away(self, talk: Talk) -> None:
        session = self.world.rows.sessions.get(talk.id)
        self.stray |= {session.file} if session else set()
        super().take_away(talk)

    def before(self, talk: Talk) -> Seen:
        seen = super().before(talk)
        if seen.session is not None and seen.session.file in self.damaged:
            seen = replace(seen, session=None)
        slots = [slot.cells.read for slot in self.world.fake.slots]
        return Seen(seen.own, seen.session, seen.trimmed, slots)

    def check(self, talk: Talk, request: Request, answered: Answered, before: Before) -> None:
        super().check(talk, request, answered, before)
        slot = next((slot for slot, h in self.all() if h.owner == talk.id), None)
        if slot is None or answered.end is None:
            return
        assert answered.account is not None and isinstance(before, Seen)
        prompt = list(self.loop.run(self.prompt(request)).ids)
        if answered.account.origin == "slot" and slot not in self.lost:
            best = max(played(before.slots[slot], prompt, chunk) for chunk in CHUNKS)
            assert answered.account.reused <= best  # more would shift cells into other messages
        # The cells are the text of the messages, however they came into the slot.
        read = self.world.fake.slots[slot].cells.read
        said = prompt + tokenized(answered.text, special=False)
        assert read == said[: len(read)] and len(said) - len(read) <= 1

    @invariant()
    def each_cell_is_the_one_of_the_books(self) -> None:
        for slot, held in self.known():
            assert held.book is not None
            same(held.book, self.world.fake.slots[slot].cells.read)

    @invariant()
    def each_file_is_the_one_of_its_row(self) -> None:
        rows = {session.file: session for session in self.world.rows.sessions.values()}
        for path in self.world.folder.glob("*.bin"):
            if path.name in rows and path.name not in self.damaged:
                same(rows[path.name].book, json.loads(path.read_text()))
            assert path.name in rows.keys() | self.stray | self.damaged
        assert not self.world.fake.crashed


def damage(path: Path, how: str) -> None:
    whole = path.read_text()
    if how == "gone":
        path.unlink()
    elif how == "cut":
        path.write_text(whole[: len(whole) // 2])
    else:
        digit = next(at for at, letter in enumerate(whole) if letter.isdigit())
        path.write_text(whole[:digit] + str((int(whole[digit]) + 1) % 10) + whole[digit + 1 :])


def played(live: list[int], prompt: list[int], chunk: int) -> int:
    slot = Cells()
    slot.evaluate(live)
    return slot.begin(prompt, chunk=chunk)


def same(book: Book, cells: list[int]) -> None:
    assert list(book.ids) == cells


class WithLittleRoom(OnFakeEngine):
    limit = SCANT


@pytest.mark.slow
@pytest.mark.parametrize("machine", [OnFakeEngine, WithLittleRoom])
def test_whatever_happens_the_books_are_those_of_the_engine(machine: type[OnFakeEngine]) -> None:
    run(
        machine,
        settings=settings(
            max_examples=8 if machine is OnFakeEngine else 4,
            stateful_step_count=24,
            deadline=None,
            derandomize=True,
            database=None,
            # Finding the smallest example takes minutes; add Phase.shrink where you need it.
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
