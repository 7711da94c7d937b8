"""Invariants that a conversation keeps under random steps in any order."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import Q
from django.utils import timezone
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from hypothesis.stateful import run_state_machine_as_test as run

from chatsite.conversations.lifecycle import clear_conversation, save_counts
from chatsite.conversations.models import Message, Turn
from chatsite.conversations.path import loading, marks, queries
from chatsite.conversations.path.added_messages import add_message
from chatsite.conversations.records import Checkpoint, StartedTurn
from chatsite.conversations.turn import receipts
from chatsite.conversations.turn.end import end_interrupted, end_turn
from chatsite.conversations.turn.rounds import end_call, save_checkpoints
from chatsite.conversations.versions import deletions, edits
from chatsite.conversations.versions.versions import show_version
from chatsite.errors import NotFound, Refused
from chatsite.history import BACKGROUND, Everything
from chatsite.messages import Message as DomainMessage
from chatsite.messages import Role
from chatsite.views import State
from tests.conversations.builders import (
    ADA,
    begin,
    begin_round,
    edit,
    messages,
    new_id,
    retry,
    row,
    talk,
    token_count,
    tool_call_message,
    tool_result,
)
from tests.examples import some

ANY = st.integers(0, 1_000_000)
# A turn's id and the message ids that its request was built from.
Sent = tuple[str, list[str]]


def as_stored(message: Message) -> dict[str, Any]:
    """All columns."""
    return {name: getattr(message, name) for name in vars(message) if not name.startswith("_")}


class Conversation(RuleBasedStateMachine):
    """One conversation of Ada's; `open` are the marked results of the calls that run."""

    def __init__(self) -> None:
        super().__init__()
        self.chat = new_id()
        talk(self.chat, 1)
        self.begun: StartedTurn | None = None
        self.answer = ""
        self.text = ""
        self.open: list[DomainMessage] = []
        self.sent: list[Sent] = []
        self.former: list[int] = []

    def path(self) -> list[Message]:
        return list(messages(self.chat).filter(on_path=True).order_by("seq"))

    def rest(self) -> bool:
        return self.begun is None

    def started(self, begun: StartedTurn) -> None:
        self.begun, self.answer, self.text, self.open = begun, begun.answer, begun.text, []
        self.former = []

    def ended(self) -> None:
        """Where a retry left nothing, the path is what it was before."""
        if self.begun and self.former:
            left = messages(self.chat).filter(turn=uuid.UUID(self.begun.turn))
            if not left.exclude(role="user").exists():
                assert [m.seq for m in self.path()] == self.former
        self.begun, self.open, self.former = None, [], []

    # ---- what can be done ----------------------------------------------------------------------
    @precondition(rest)
    @rule()
    def ask(self) -> None:
        self.started(begin(self.chat, "More?"))

    @precondition(rest)
    @rule(source=st.sampled_from(sorted(BACKGROUND)), role=st.sampled_from(["assistant", "user"]))
    def report(self, source: Any, role: Role) -> None:
        add_message.here(conversation=self.chat, source=source, text="It rains.", role=role)

    def last_turn(self) -> list[Message]:
        """What a person asked last, and all below it."""
        path = self.path()
        asked = [m.seq for m in path if m.role == "user" and m.source not in BACKGROUND]
        return [m for m in path if asked and m.seq >= asked[-1]]

    @precondition(rest)
    @rule(pick=ANY)
    def try_again(self, pick: int) -> None:
        """The answer to any message, by any message of its turn."""
        path = self.path()
        if not path:
            return
        chosen = path[pick % len(path)]
        asked = next((m for m in path if m.seq == chosen.turn_seq), None)
        background = chosen.source in BACKGROUND or asked and asked.source in BACKGROUND
        try:
            self.started(retry(self.chat, str(chosen.id)))
        except Refused:
            assert asked is None or background
        else:
            assert asked is not None and not background
            above = [m.seq for m in path if m.seq <= asked.seq]
            assert [m.seq for m in self.path()[:-1]] == above
            self.former = [m.seq for m in path]

    @precondition(rest)
    @rule()
    def go_on(self) -> None:
        if last := self.last_turn():
            try:
                self.started(retry(self.chat, str(last[-1].id), mode="continue"))
            except Refused:
                said = [m for m in last[1:] if m.source not in BACKGROUND]
                answer = said[-1] if said and said[-1].role == "assistant" else None
                assert said != last[1:] or answer is None or not answer.content or answer.calls

    @precondition(lambda self: self.begun and not self.open)
    @rule(calls=st.integers(1, 3), text=st.sampled_from([None, "Let me see."]))
    def call(self, calls: int, text: str | None) -> None:
        assert self.begun is not None
        asked, answer = tool_call_message(*["tides"] * calls, text=text), new_id()
        results, views = begin_round(self.begun.turn, asked, id=self.answer, answer=answer)
        assert views is not None
        self.answer, self.text, self.open = answer, "", list(results)

    @precondition(lambda self: self.open)
    @rule(pick=ANY)
    def end_call(self, pick: int) -> None:
        assert self.begun is not None
        ended = self.open.pop(pick % len(self.open))
        assert end_call.here(turn=self.begun.turn, message=tool_result(ended)) is not None

    @precondition(lambda self: self.begun)
    @rule()
    def save(self) -> None:
        assert self.begun is not None
        self.text += " on"
        save_checkpoints.here(
            [Checkpoint(turn=self.begun.turn, answer=self.answer, text=self.text, reasoning="Hm")]
        )

    @precondition(lambda self: self.begun)
    @rule(
        state=st.sampled_from(["complete", "stopped", "failed"]),
        text=st.sampled_from(["", "Done."]),
        tokens=st.one_of(st.none(), st.integers(0, 40)),
    )
    def end(self, state: State, text: str, tokens: int | None) -> None:
        assert self.begun is not None
        path = [m for m in self.path() if str(m.id) != self.answer]
        layout = [{"first": path[0].seq, "last": path[-1].seq}]
        end_turn.here(
            turn=self.begun.turn,
            state=state,
            text=text,
            reasoning="",
            tokens=None if tokens is None else token_count(tokens),
            receipt={"layout": layout},
        )
        self.sent.append((self.begun.turn, [str(m.id) for m in path]))
        self.ended()

    @rule()
    def kill(self) -> None:
        end_interrupted.here(conversation=self.chat)
        self.ended()

    @precondition(rest)
    @rule(pick=ANY)
    def show(self, pick: int) -> None:
        """Any message, wherever the path goes."""
        found = list(messages(self.chat).filter(deleted__isnull=True).order_by("seq"))
        if not found:
            return
        chosen = found[pick % len(found)]
        try:
            show_version.here(owner=ADA, message=str(chosen.id))
        except NotFound:
            assert chosen.seq < row(self.chat).cleared
        else:
            chosen.refresh_from_db()
            assert chosen.on_path

    @precondition(rest)
    @rule(pick=ANY)
    def ask_otherwise(self, pick: int) -> None:
        asked = [m for m in self.path() if m.role == "user" and m.source not in BACKGROUND]
        if asked:
            former = asked[pick % len(asked)]
            self.started(edit(self.chat, str(former.id), "Or rather?"))
            assert self.path()[-2].parent_id == former.parent_id

    @precondition(rest)
    @rule(pick=ANY)
    def correct(self, pick: int) -> None:
        """Of an answer, the former text stays as a version."""
        found = [m for m in self.path() if m.role in ("user", "assistant") and not m.calls]
        if found:
            chosen = found[pick % len(found)]
            changed = edits.edit_message.here(
                owner=ADA, message=str(chosen.id), text=f"Text {pick}"
            )
            (view,) = changed.changed.messages
            assert view.edited and view.message.content == f"Text {pick}"
            texts = list(messages(self.chat).values_list("content", flat=True))
            assert chosen.role == "user" or chosen.content in texts

    @precondition(rest)
    @rule(pick=ANY)
    def delete(self, pick: int) -> None:
        found = [m for m in self.path() if m.role != "tool"]
        if found:
            chosen = str(found[pick % len(found)].id)
            changed = deletions.delete_message.here(owner=ADA, message=chosen)
            assert chosen in changed.changed.gone
            assert chosen not in [str(m.id) for m in self.path()]

    @precondition(rest)
    @rule(pick=ANY)
    def delete_and_restore(self, pick: int) -> None:
        found = [m for m in self.path() if m.role != "tool"]
        if found:
            before, title, marker = self.path(), row(self.chat).title, row(self.chat).forget_above
            chosen = str(found[pick % len(found)].id)
            deletions.delete_message.here(owner=ADA, message=chosen)
            renamed = row(self.chat).title != title
            deletions.restore_message.here(owner=ADA, message=chosen)
            assert [as_stored(m) for m in self.path()] == [as_stored(m) for m in before]
            assert row(self.chat).forget_above == marker
            assert not renamed or row(self.chat).title == title

    @precondition(rest)
    @rule(pick=ANY)
    def restore(self, pick: int) -> None:
        found = list(messages(self.chat).filter(deleted__isnull=False).order_by("seq"))
        if found:
            chosen = found[pick % len(found)]
            try:
                deletions.restore_message.here(owner=ADA, message=str(chosen.id))
            except NotFound:
                assert chosen.seq < row(self.chat).cleared
            else:
                chosen.refresh_from_db()
                assert chosen.on_path and chosen.deleted is None

    @rule()
    def remove_for_good(self) -> None:
        deletions.purge_messages.here(now=timezone.now() + timedelta(hours=2))
        assert row(self.chat).hidden == 0

    @rule(
        pick=ANY,
        mark=st.sampled_from(
            [marks.pin_message, marks.exclude_message, marks.forget_above_message]
        ),
    )
    def mark(self, pick: int, mark: Any) -> None:
        path = [m for m in self.path() if m.state != "running" and m.turn_seq]
        if path:
            mark.here(owner=ADA, message=str(path[pick % len(path)].id), on=bool(pick % 3))

    @precondition(rest)
    @rule()
    def clear(self) -> None:
        clear_conversation.here(owner=ADA, conversation=self.chat)

    @rule(pick=ANY)
    def count(self, pick: int) -> None:
        some = messages(self.chat).order_by("seq")[pick % 7 : pick % 7 + 3]
        counts = {str(m.id): token_count(pick % 50) for m in some}
        save_counts.here(conversation=self.chat, counts=counts)

    # ---- what must hold ------------------------------------------------------------------------
    @invariant()
    def it_is_whole(self) -> None:
        every = list(messages(self.chat).order_by("seq"))
        path = [message for message in every if message.on_path]
        self.totals_are_those_of(path)
        self.is_a_chain(path, every)
        self.every_call_has_one_result_behind_it(path)
        self.what_runs_belongs_to_the_one_turn_that_runs(path, every)
        self.versions_are_those_of_the_tree(path, every)

    def totals_are_those_of(self, path: list[Message]) -> None:
        found = row(self.chat)
        ended = [message for message in path if message.state != "running"]
        totals = (found.path_messages, found.path_users, found.path_background)
        assert (*totals, found.path_tokens, found.marked) == (
            len(ended),
            sum(m.role == "user" for m in ended),
            sum(m.role == "user" and m.source in BACKGROUND for m in ended),
            sum(m.tokens for m in ended),
            sum(m.pinned or m.excluded for m in path),
        )
        places = [m.seq for m in path if m.role == "user" or m.seq == path[0].seq]
        assert not found.forget_above or found.forget_above in [*places, found.next_seq]

    def is_a_chain(self, path: list[Message], every: list[Message]) -> None:
        """But for deleted messages, which keep their place."""
        hidden = {m.id: m.parent_id for m in every if m.deleted is not None}
        assert row(self.chat).hidden == len(hidden)
        above: uuid.UUID | None = None
        turn = 0
        for message in path:
            assert message.id not in hidden
            assert self.shown(message.parent_id, hidden) == above
            above = message.id
            turn = message.seq if message.role == "user" else turn
            assert message.turn_seq == turn

    def shown(
        self, place: uuid.UUID | None, hidden: dict[uuid.UUID, uuid.UUID | None]
    ) -> uuid.UUID | None:
        while place in hidden:
            place = hidden[place]
        return place

    def every_call_has_one_result_behind_it(self, path: list[Message]) -> None:
        for place, message in enumerate(path):
            wanted = [call["id"] for call in message.calls]
            assert [m.call_id for m in path[place + 1 :][: len(wanted)]] == wanted
        assert sum(len(m.calls) for m in path) == sum(m.role == "tool" for m in path)

    def what_runs_belongs_to_the_one_turn_that_runs(
        self, path: list[Message], every: list[Message]
    ) -> None:
        running = [message for message in every if message.state == "running"]
        turns = Turn.objects.filter(conversation=row(self.chat), state="running").values_list("id")
        assert [str(id) for (id,) in turns] == ([self.begun.turn] if self.begun else [])
        assert {str(m.id) for m in running if m.role == "tool"} == {m.id for m in self.open}
        assert {str(m.turn_id) for m in running} == ({self.begun.turn} if self.begun else set())
        if self.begun is not None:
            assert str(path[-1].id) == self.answer == str(running[-1].id)

    def versions_are_those_of_the_tree(self, path: list[Message], every: list[Message]) -> None:
        """As a fresh page shows them: by stepping, every message is reached that wasn't cleared
        away."""
        cleared = row(self.chat).cleared
        hidden = {m.id: m.parent_id for m in every if m.deleted is not None}
        places: dict[uuid.UUID | None, set[str]] = {}
        for message in every:
            place = self.shown(message.parent_id, hidden)
            if message.id not in hidden and (place is not None or message.seq >= cleared):
                places.setdefault(place, set()).add(str(message.id))
        opened = queries.open_conversation.here(owner=ADA, conversation=self.chat)
        writing = self.answer if self.begun else ""
        seen = [m for m in path if str(m.id) != writing]
        assert [view.message.id for view in opened.messages] == [str(m.id) for m in seen][-60:]
        for view, message in zip(opened.messages, seen[-60:], strict=True):
            several = places[self.shown(message.parent_id, hidden)]
            found = [one.id for one in view.versions]
            assert len(found) == len(set(found))
            assert set(found) == (several if len(several) > 1 else set())
        if self.begun is None and path:
            assert path[-1].id not in places, "the path leads to an end of the tree"

    def teardown(self) -> None:
        """Every request can be built again, wherever the path goes by now, as long as one of its
        turn's messages is stored; and what is read for a decision is what has ended."""
        loaded = loading.load_path.here(owner=ADA, conversation=self.chat, reach=Everything())
        ended = [str(m.id) for m in self.path() if m.state != "running"]
        assert [entry.message.id for entry in loaded.transcript.entries] == ended
        there = messages(self.chat).filter(deleted__isnull=True)
        left = {str(id) for id in there.values_list("id", flat=True)}
        for turn, ids in self.sent:
            try:
                kept = receipts.request_parts.here(owner=ADA, turn=turn)
            except NotFound:
                own = Q(turn=turn) | Q(id=Turn.objects.get(id=turn).asked_id) | Q(id=ids[-1])
                assert not messages(self.chat).filter(own).exists()
                continue
            assert [entry.message.id for entry in kept.entries] == [id for id in ids if id in left]


@pytest.mark.examples
@pytest.mark.slow
@pytest.mark.django_db
def test_it_stays_whole() -> None:
    run(
        Conversation,
        settings=settings(max_examples=some(10), stateful_step_count=24, deadline=None),
    )
