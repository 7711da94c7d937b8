"""Instructions that a person keeps in force are part of every request, and of its record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from chatsite.errors import PromptTooLarge
from chatsite.history import (
    AddedMessage,
    Decision,
    Entry,
    Previous,
    Transcript,
    decide,
    resolve,
)
from chatsite.history.policies.table import POLICIES
from chatsite.history.receipts.replay import StoredRequest, rebuild_messages
from chatsite.history.room import sum_tokens
from tests.history.decision.test_decide import HEAD, WIDE, answer, decision_on, system, user

SAID = "Always use metric units.\n- Never round."
SENT = (
    "Standing instructions of the user, in force until they end them:\n"
    "- Always use metric units.\n- Never round.\n- Answer in rhymes from now on."
)


def talk(turns: int = 8, **marks: Any) -> list[Entry]:
    """An instruction of the path, then turns of which the first and third have instructions."""
    path: list[Entry] = [system(1)]
    for number in range(turns):
        said = {0: SAID, 2: "Answer in rhymes from now on."}.get(number, "")
        more = marks if number == 0 else {}
        path += [user(2 * number + 2, in_force=said, **more), answer(2 * number + 3)]
    return [*path, user(2 * turns + 2)]


def kept(decision: Decision) -> str | None:
    return next((m.content for m in decision.request if m.id == "instructions"), None)


@pytest.mark.parametrize("policy", sorted(POLICIES.names))
def test_they_follow_the_path_s_own_instructions_under_every_policy(policy: str) -> None:
    decision = decision_on(talk(), policy, length=1, tokens=600)
    roles = [message.role for message in decision.request]
    head = len(HEAD.system)
    assert [message.content for message in decision.request[head : head + 2]] == ["Be kind.", SENT]
    assert roles[: head + 2] == ["system"] * (head + 2)


def test_they_are_a_part_of_their_own_and_their_tokens_are_counted() -> None:
    parts = {part.name: part.tokens for part in decision_on(talk()).parts}
    assert parts["instructions"] > 20
    without = decision_on([*talk()[:1], user(2), answer(3), user(4)])
    assert "instructions" not in {part.name for part in without.parts}
    decision = decision_on(talk())
    assert decision.tokens == sum(
        part.tokens for part in decision.parts if part.name not in ("reply", "free")
    )


def test_their_room_is_taken_before_history_is_cut() -> None:
    limit = sum(part.tokens for part in decision_on(talk()).parts[:-2])
    assert decision_on(talk(), tokens=limit).cut is None
    assert decision_on(talk(), tokens=limit - 1).cut is not None


def test_what_alone_is_too_large_says_so() -> None:
    long = [user(1, in_force="Never " + "use very long words " * 400), user(2)]
    with pytest.raises(PromptTooLarge, match="the instructions that you keep in force"):
        decision_on(long, tokens=600)


@pytest.mark.parametrize("mark", [{"excluded": True}, {"in_force": ""}])
def test_one_that_is_left_out_or_ended_is_not_sent(mark: dict[str, object]) -> None:
    path = [Entry(**{**_fields(e), **mark}) if e.seq == 2 else e for e in talk()]  # type: ignore[arg-type]
    assert kept(decision_on(path)) == SENT.split("\n")[0] + "\n- Answer in rhymes from now on."


def _fields(entry: Entry) -> dict[str, object]:
    return {"message": entry.message, "seq": entry.seq, "in_force": entry.in_force}


def test_nothing_above_the_marker_is_in_force() -> None:
    path = [*talk()[:-1], user(18, forgets_above=True), answer(19), user(20, in_force="Never.")]
    assert kept(decision_on(path)) == SENT.split("\n")[0] + "\n- Never."


def test_nothing_is_in_force_where_nothing_said_before_is_sent() -> None:
    template = {"historyPolicy": "all", "conversation": {"enabled": False}}
    decision = decide(
        Transcript(entries=tuple(talk())),
        settings=resolve(environment={}, url={}, template=template),
        head=HEAD,
        window=WIDE,
        agent="demo",
    )
    assert kept(decision) is None


def test_the_beginning_stays_the_same_until_one_is_ended() -> None:
    before = Previous.from_dict(decision_on(talk()).to_stored())
    longer = [*talk(), answer(19), user(20)]
    assert decision_on(longer, previous=before).leading > 150
    ended = [Entry(message=e.message, seq=e.seq) if e.seq == 6 else e for e in longer]
    first = decision_on(ended).request[: len(HEAD.system) + 1]
    assert decision_on(ended, previous=before).leading == sum_tokens(first)


def rebuilt(decision: Decision, path: Sequence[Entry]) -> tuple[list[str | None], tuple[str, ...]]:
    stored = StoredRequest(
        agent="demo", receipt=decision.to_dict(), entries=tuple(path), summaries={}
    )
    messages, differences = rebuild_messages(stored, HEAD)
    return [message.content for message in messages], differences


def test_a_receipt_rebuilds_them_and_says_where_they_changed() -> None:
    decision = decision_on(talk())
    found, differences = rebuilt(decision, talk())
    assert found == [message.content for message in decision.request]
    assert differences == ()
    item = next(item for item in decision.layout if isinstance(item, AddedMessage))
    assert (item.kind, item.role, item.sources) == ("instructions", "system", (2, 6))
    fewer = [Entry(message=e.message, seq=e.seq) if e.seq == 6 else e for e in talk()]
    assert rebuilt(decision, fewer)[1] == ("Other instructions are in force now.",)
    none = [Entry(message=e.message, seq=e.seq) for e in talk()]
    assert rebuilt(decision, none)[1] == ("Other instructions are in force now.",)
