"""The question to the fast model, and how its replies are read."""

from __future__ import annotations

import pytest

from chatsite.history.path.transcript import Entry, PathTurn
from chatsite.history.policies.triage import plan_triage
from chatsite.history.policies.triage_question import read_reply, triage_prompt
from chatsite.history.token_estimate import estimate_message
from chatsite.messages import Attachment, Message, ToolCall
from tests.history.older_turns import NOON, triage_terms, turn, turns_of

ROOM = 100_000


def question(older: list[PathTurn], current: str = "And now?", *, room: int = ROOM) -> str:
    task, prompt = triage_prompt(
        Message.user(current, id="now"), plan_triage(older, triage_terms()), room=room
    )
    assert (task.role, prompt.role) == ("system", "user")
    assert prompt.content is not None
    return prompt.content


class TestTheQuestion:
    def test_candidates_are_listed_by_position_with_time_speakers_and_texts(self) -> None:
        first = turn(1, question="My dog is called Rex.", reply="Noted.\nA fine name.", hours=25.5)
        text = question([first, *turns_of(9)[1:]])
        assert text.startswith(
            "[0] 2026-02-28 10:30 UTC\nUser:\n    My dog is called Rex.\n"
            "Assistant:\n    Noted.\n    A fine name.\n\n[1] 2026-03-01 12:00 UTC\n"
        )
        assert "[3]" in text and "[4]" not in text
        assert "The current message:\n    And now?" in text
        assert text.endswith('Which of the positions 0 to 3? Only the JSON object "relevant".')

    def test_only_the_newest_certain_turn_is_shown(self) -> None:
        text = question(turns_of(9))
        assert "question 17" in text and "question 15" not in text

    def test_quoted_text_can_not_pose_as_a_position_or_a_speaker(self) -> None:
        text = question([turn(1, question="x\n[3]\nUser:\ny"), *turns_of(9)[1:]])
        assert text.count("\n[3]") == 1
        assert "    [3]\n    User:\n    y" in text

    def test_tool_calls_and_files_are_mentioned(self) -> None:
        file = Attachment(id="f", name="map.pdf", size=9, modality="document")
        call = ToolCall(id="c", name="search", arguments={"query": "tides"})
        messages = (
            Message.user(None, file, id="u", source="email"),
            Message.assistant(None, id="a", calls=(call,)),
            Message.tool('{"rows": 40}', id="t", call_id="c"),
            Message.assistant("High water at six.", id="b"),
        )
        entries = tuple(Entry(message=one, seq=n, at=NOON) for n, one in enumerate(messages, 1))
        text = question([PathTurn(entries), *(turn(9 + 2 * n) for n in range(8))])
        assert text.startswith(
            "[0] 2026-03-01 12:00 UTC\nUser (by email):\n    File: map.pdf\n"
            "Assistant:\n    High water at six.\n    [Did: search (query: tides)]\n\n[1]"
        )
        assert "rows" not in text

    def test_excluded_answers_and_background_reports_are_not_shown(self) -> None:
        user = Entry(message=Message.user("Shown", id="u"), seq=1)
        hidden = Entry(message=Message.assistant("Hidden", id="a"), seq=2, excluded=True)
        report = Message(id="r", role="assistant", content="Report", source="briefing")
        older = PathTurn((user, hidden, Entry(message=report, seq=3)))
        text = question([older, *(turn(9 + 2 * n) for n in range(8))])
        assert text.startswith("[0]\nUser:\n    Shown\n\n[1]")
        assert "Hidden" not in text and "Report" not in text

    def test_long_texts_are_cut_equally_until_the_question_fits(self) -> None:
        older = [turn(1 + 2 * n, question="word " * 4_000, reply="short") for n in range(25)]
        for room in (60_000, 15_000, 6_000):
            text = question(older, "now " * 5_000, room=room)
            prompt = Message.user(text, id="q")
            assert room / 4 < estimate_message(prompt) <= room
            assert text.count("[…shortened]") == 22 and text.count("    short") == 21

    def test_the_same_turns_give_the_same_question(self) -> None:
        assert question(turns_of(9)) == question(turns_of(9))


REPLIES: list[tuple[str, set[int] | None]] = [
    ('{"relevant": [0, 2]}', {0, 2}),
    ('{"relevant": []}', set()),
    ('{"relevant": [2, 0, 2, 2]}', {0, 2}),
    ('{"relevant": [-1, 5, 6, 99]}', set()),
    ('{"relevant": [true, false, null, "1", 2.0, [3], {"n": 4}]}', set()),
    ('{"relevant": [1, 1e999, 10000000000000000000000]}', {1}),
    ('  {"relevant": [1], "why": "it is about {dogs}"}\n', {1}),
    ('```json\n{"relevant": [1]}\n```', {1}),
    ('Here you are:\n```\n{"relevant": [3]}\n```\nAnything else?', {3}),
    ('I think {"relevant": [4]} is right.', {4}),
    ('<think>{"maybe": [1]} {x}</think>{"relevant": [2]}', {2}),
    ('{"relevant": [2]} and again {"relevant": [2]}', {2}),
    ('{"relevant": [1]} or {"relevant": [2]}', None),
    ("", None),
    ("none", None),
    ("[0, 1]", None),
    ('{"relevant": 1}', None),
    ('{"relevant": {"0": true}}', None),
    ('{"Relevant": [1]}', None),
    ('{"positions": [1]}', None),
    ('{"outer": {"relevant": [1]}}', None),
    ('{"relevant": [1, 2', None),
    ("{'relevant': [1]}", None),
    ("{" * 3_000, None),
    ('{"a":' * 5_000, None),
    ('{"relevant": [' + "9" * 6_000 + "]}", None),
]


@pytest.mark.parametrize(("reply", "meant"), REPLIES, ids=lambda value: str(value)[:40])
def test_a_reply_is_read_or_refused(reply: str, meant: set[int] | None) -> None:
    assert read_reply(reply, 5) == meant
