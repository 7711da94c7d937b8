"""Random actions of people, and accidents, with conversations on the engine; and the invariants
after each step, for a fake and for the real engine."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from chatsite.kv_cache.books import Book, Session, plan
from chatsite.kv_cache.slots.slots import WORTH_RESTORING, SlotContents
from chatsite.messages import Message
from chatsite.providers.base.provider import Request
from tests.providers.cache_talks import HEADS, TEXTS, Talk, Turn, new_id
from tests.providers.cache_world import Answered, World

ANY = st.integers(0, 1_000_000)
TEXT = st.sampled_from(TEXTS)
# See Talk.sendable: the last turns, all of them (most often), some of them.
POLICY = st.one_of(st.integers(0, 3), st.just(4), st.just(4), st.integers(32, 255))
TALKED = precondition(lambda self: bool(self.talks))


@dataclass(frozen=True)
class Before:
    """The book of the conversation's own slot, and its saved session; whether the slot was trimmed
    since that was saved."""

    own: Book | None
    session: Session | None
    trimmed: bool


class Conversations(RuleBasedStateMachine):
    """`lost` are slots that the engine has lost without the cache's knowledge; `untold` are
    conversations whose last request failed, so that no account of it exists."""

    # Codes of errors that a request may end with.
    allowed = frozenset({"too_large"})

    def __init__(self) -> None:
        super().__init__()
        self.talks: list[Talk] = []
        self.lost: set[int] = set()
        self.untold: set[str] = set()
        self.misses = 0
        self.loop, self.world = self.opened()

    def opened(self) -> tuple[asyncio.Runner, World]:
        """A world without conversations, and its event loop."""
        raise NotImplementedError

    # ---- actions of people ---------------------------------------------------------------------
    @rule(agent=st.integers(0, len(HEADS) - 1), text=TEXT)
    def begin(self, agent: int, text: str) -> None:
        if len(self.talks) < 7:
            self.talks.append(Talk(HEADS[agent]))
            self.asked(self.talks[-1], text, policy=4)

    @TALKED
    @rule(number=ANY, text=TEXT, policy=POLICY)
    def ask(self, number: int, text: str, policy: int) -> None:
        self.asked(self.talk(number), text, policy=policy)

    @TALKED
    @rule(number=ANY, text=TEXT, policy=POLICY, pieces=st.integers(1, 6))
    def ask_and_stop(self, number: int, text: str, policy: int, pieces: int) -> None:
        self.asked(self.talk(number), text, policy=policy, pieces=pieces)

    @TALKED
    @rule(number=ANY, at=ANY, text=TEXT)
    def edit(self, number: int, at: int, text: str) -> None:
        """The question is edited, and the messages after it are removed."""
        talk = self.talk(number)
        if talk.turns:
            del talk.turns[at % len(talk.turns) :]
            self.take_away(talk)
        self.asked(talk, text, policy=4)

    @TALKED
    @rule(number=ANY)
    def ask_again(self, number: int) -> None:
        """Another version of the last answer."""
        talk = self.talk(number)
        if talk.turns:
            question = talk.turns.pop().question
            self.asked(talk, question, policy=4)

    @TALKED
    @rule(number=ANY, at=ANY, text=TEXT)
    def delete_and_ask(self, number: int, at: int, text: str) -> None:
        talk = self.talk(number)
        if talk.turns:
            del talk.turns[at % len(talk.turns)]
            self.take_away(talk)
        self.asked(talk, text, policy=4)

    @TALKED
    @rule(number=ANY, which=st.integers(0, 255), text=TEXT)
    def clean_up_and_ask(self, number: int, which: int, text: str) -> None:
        talk = self.talk(number)
        for at, turn in enumerate(talk.turns):
            turn.unloaded |= bool(which >> at & 1)
        self.asked(talk, text, policy=4)

    @TALKED
    @rule(number=ANY, text=TEXT)
    def bring_back_and_ask(self, number: int, text: str) -> None:
        talk = self.talk(number)
        for turn in talk.turns:
            turn.unloaded = False
        self.asked(talk, text, policy=4)

    # ---- accidents -----------------------------------------------------------------------------
    @TALKED
    @rule(take_away=st.booleans(), number=ANY)
    def nobody_asks_for_a_while(self, take_away: bool, number: int) -> None:
        """Also right after words were deleted, which the slot still holds."""
        if take_away and self.talk(number).turns:
            del self.talk(number).turns[-1]
            self.take_away(self.talk(number))
        self.loop.run(self.world.quiet())

    @TALKED
    @rule(number=ANY, which=st.integers(0, 255), text=TEXT)
    def trim_ahead_and_ask(self, number: int, which: int, text: str) -> None:
        """Trim the conversation's slot; the next request then needs all turns again, or fewer."""
        talk = self.talk(number)
        slot, held = next(
            (one for one in self.all() if one[1].owner == talk.id), (0, SlotContents())
        )
        if held.book is None or slot in self.lost:
            return
        lying = [turn for turn in talk.turns if turn.question.id in held.book.places]
        left = [turn for at, turn in enumerate(lying) if which >> at & 1 or turn is lying[-1]]
        said = [message for turn in left for message in turn.messages]
        self.loop.run(self.world.trim(talk.id, [*talk.head, *said]))
        self.asked(talk, text, policy=4 if which % 3 == 0 else 2)

    @TALKED
    @rule(in_order=st.booleans(), number=ANY, text=TEXT)
    def restart_and_ask(self, in_order: bool, number: int, text: str) -> None:
        self.loop.run(self.world.restart(in_order=in_order))
        self.lost.clear()
        self.misses = 0
        self.asked(self.talk(number), text, policy=4)

    # ---- one request ---------------------------------------------------------------------------
    def asked(
        self, talk: Talk, asks: str | Message, *, policy: int, pieces: int | None = None
    ) -> Answered:
        question = Message.user(asks, id=new_id("u")) if isinstance(asks, str) else asks
        request = talk.request(question, talk.sendable(policy))
        before = self.before(talk)
        answered = self.loop.run(self.world.ask(request, pieces=pieces))
        assert answered.error is None or answered.error.code in self.allowed, answered.error
        self.note(talk, question, request, answered)
        if answered.account is not None:
            self.check(talk, request, answered, before)
        return answered

    def note(self, talk: Talk, question: Message, request: Request, answered: Answered) -> None:
        answer = None
        if answered.text:
            metadata = answered.end.metadata if answered.end else ""
            answer = Message.assistant(answered.text, id=request.answer, metadata=metadata)
        talk.turns.append(Turn(question, answer))
        talk.said.add(request.answer)
        if answered.account is not None:
            self.world.rows.taken.discard(talk.id)
            self.untold.discard(talk.id)
        else:
            self.untold.add(talk.id)

    def before(self, talk: Talk) -> Before:
        """What this conversation's next request can find."""
        own = next((h for _, h in self.known() if h.owner == talk.id), None)
        session = self.world.rows.sessions.get(talk.id)
        return Before(own.book if own else None, session, bool(own and own.trimmed))

    def check(self, talk: Talk, request: Request, answered: Answered, before: Before) -> None:
        account = answered.account
        assert account is not None
        slot = next((slot for slot, h in self.all() if h.owner == talk.id), None)
        lost = set(self.lost)
        self.misses += not account.agrees
        if slot is not None and slot not in self.lost:
            assert account.agrees
        assert account.reused + account.evaluated == account.cells
        if slot is not None:
            self.lost.discard(slot)
        prompt = self.loop.run(self.prompt(request))
        assert account.cells == len(prompt)
        if before.own is not None:
            here, head = plan(before.own, prompt).reused, self.size_of_head(talk, prompt)
            more = before.session.book if before.trimmed and before.session else before.own
            there = plan(more, prompt).reused
            if there >= here + WORTH_RESTORING and there + WORTH_RESTORING > head:
                assert (account.origin, account.expected) == ("session", there)
            elif here + WORTH_RESTORING > head:
                assert (account.origin, account.expected) == ("slot", here)
        elif before.session is not None and slot not in lost:
            # For fewer cells neither the session nor the agent's head is restored.
            assert account.expected + 2 * WORTH_RESTORING > plan(before.session.book, prompt).reused

    async def prompt(self, request: Request) -> Book:
        prompter = self.world.running.prompter
        assert prompter is not None
        return await prompter.prompt(request.messages, answer=request.answer)

    def size_of_head(self, talk: Talk, prompt: Book) -> int:
        return sum(span.size for span in prompt.spans if span.key in {m.id for m in talk.head})

    def all(self) -> Iterator[tuple[int, SlotContents]]:
        """The slots of which the keeper knows anything, since this engine runs."""
        for slot, held in enumerate(self.world.cache._contents):
            if held.running is self.world.running:
                yield slot, held

    def known(self) -> Iterator[tuple[int, SlotContents]]:
        return ((slot, h) for slot, h in self.all() if h.book is not None and slot not in self.lost)

    def talk(self, number: int) -> Talk:
        return self.talks[number % len(self.talks)]

    def take_away(self, talk: Talk) -> None:
        talk.said &= talk.keys
        self.world.rows.take_away(talk.id)

    # ---- invariants ----------------------------------------------------------------------------
    @invariant()
    def the_books_are_those_of_the_engine(self) -> None:
        cells = self.loop.run(self.world.cells())
        owners = [held.owner for _, held in self.known() if held.owner]
        assert len(owners) == len(set(owners))
        for slot, held in self.known():
            assert held.book is not None and held.book.faults() == ()
            assert len(held.book) == cells[slot]

    @invariant()
    def pages_are_told_what_the_books_say(self) -> None:
        for _, held in self.known():
            if held.owner and held.owner not in self.untold:
                assert held.book is not None
                assert self.world.places[held.owner] == held.book.places

    @invariant()
    def misses_are_counted(self) -> None:
        assert self.world.cache.misses == self.misses

    @invariant()
    def saved_sessions_keep_to_their_limit_and_hold_nothing_taken_away(self) -> None:
        rows = self.world.rows.sessions
        assert sum(session.size for session in rows.values()) <= self.world.limit
        for talk in self.talks:
            if talk.id in rows:
                assert {span.key for span in rows[talk.id].book.spans} <= talk.keys | talk.said
        heads = {message.id for head in HEADS for message in head}
        for key in rows.keys() - {talk.id for talk in self.talks}:
            assert key.startswith("head:")
            assert {span.key for span in rows[key].book.spans} <= heads
