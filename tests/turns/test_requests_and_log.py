"""A turn's request can be looked up afterwards, and its lines in the log."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsite.conversations.lifecycle import clear_conversation
from chatsite.conversations.models import Message as Row
from chatsite.conversations.models import Turn
from chatsite.conversations.turn import receipts
from chatsite.errors import NotFound
from chatsite.history import Entry, Head
from chatsite.history.receipts.replay import StoredRequest
from chatsite.messages import Attachment, Message, ToolCall
from chatsite.providers.base.files import NO_FILES, NoFiles
from chatsite.providers.base.provider import Model, Price
from chatsite.providers.openai.wire import wire_messages
from chatsite.turns.answer.sent_requests import rebuild_request, request_fingerprint
from chatsite.turns.context.file_forms import forms_of, render_files
from tests.conversations.builders import ADA
from tests.turns.conftest import LocalScriptedProvider, ScriptedProvider, World

HEAD = Head.of("You are Memo.", ())
SENT = (Message.user("Hello", id="m1"), Message.assistant("Hi.", id="m2"))
ENTRIES = tuple(Entry(message=message, seq=seq) for seq, message in enumerate(SENT, 1))


def stored_request(entries: tuple[Entry, ...] = ENTRIES, **more: Any) -> StoredRequest:
    receipt = {
        "head": {"hash": HEAD.hash, "messages": 1},
        "layout": [{"first": 1, "last": 2}],
        "fingerprint": request_fingerprint([*HEAD.messages, *SENT]),
        "asked": {"model": "some"},
        **more,
    }
    return StoredRequest(agent="demo", receipt=receipt, entries=entries, summaries={})


def as_bytes(messages: Sequence[Message]) -> bytes:
    """The messages as the provider sends them."""
    return json.dumps(wire_messages(messages)).encode()


async def test_the_request_is_the_head_and_the_sent_messages() -> None:
    found = (await rebuild_request(stored_request(), HEAD, NO_FILES)).to_dict()
    assert found["messages"] == [
        {"role": "system", "content": "You are Memo."},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hi."},
    ]
    assert found["complete"] and found["note"] == "" and found["asked"] == {"model": "some"}


@given(text=st.text(st.characters(), max_size=40), call=st.text(st.characters(), max_size=20))
def test_a_fingerprint_is_the_hash_of_each_messages_plain_json(text: str, call: str) -> None:
    """Receipts of all versions hold it: the bytes may never change, whoever writes the JSON."""
    calls = (ToolCall(id="1", name=call, arguments={call: [text, 1.5, None]}),)
    message = Message.assistant(text, id="m", calls=calls)
    function = {
        "name": call,
        "arguments": json.dumps({call: [text, 1.5, None]}, ensure_ascii=False),
    }
    said = {
        "role": "assistant",
        "content": text or None,
        "tool_calls": [{"id": "1", "type": "function", "function": function}],
    }
    plain = json.dumps(said, ensure_ascii=False, separators=(",", ":"))
    digest = hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()
    whole = hashlib.sha256(digest.encode()).hexdigest()[:32]
    assert request_fingerprint([message]) == {"whole": whole, "each": digest[:2]}


def inserted(kind: str, *, sources: Sequence[int] = ()) -> list[dict[str, Any]]:
    part = {
        "kind": kind,
        "role": "user",
        "digest": "0a0a",
        "tokens": 9,
        "id": "",
        "sources": sources,
    }
    return [part]


CHANGED = replace(ENTRIES[1], message=replace(SENT[1], content="Ho."))


@pytest.mark.parametrize(
    ("head", "stored", "note"),
    [
        (Head.of("You are someone else.", ()), stored_request(), "The agent was changed since"),
        (HEAD, stored_request(ENTRIES[:1]), "Message 2 isn't stored any more"),
        (HEAD, stored_request((ENTRIES[0], CHANGED)), "The text of message 2 was changed since"),
        (
            HEAD,
            stored_request(fingerprint={"whole": "0", "each": ""}),
            "The text of a message was changed",
        ),
        (
            HEAD,
            stored_request(layout=[*inserted("text"), {"first": 1, "last": 2}]),
            "strategy (9 tokens) can't be shown: only its fingerprint 0a0a was kept",
        ),
        (
            HEAD,
            stored_request(layout=[*inserted("summary"), {"first": 1, "last": 2}]),
            "The summary that was sent isn't stored any more",
        ),
        (
            HEAD,
            stored_request(layout=[*inserted("recalled", sources=[7]), {"first": 1, "last": 2}]),
            "Message 7, which was quoted, isn't stored any more",
        ),
    ],
)
async def test_a_note_says_why_a_rebuilt_request_may_differ(
    head: Head, stored: StoredRequest, note: str
) -> None:
    found = (await rebuild_request(stored, head, NO_FILES)).to_dict()
    assert not found["complete"] and note in found["note"]


PLAN = Attachment(
    id="f1",
    name="plan.pdf",
    size=9,
    modality="document",
    mime_type="application/pdf",
    characters=10,
)
MAP = Attachment(id="f2", name="map.png", size=9, modality="image", mime_type="image/png")
LOST = replace(PLAN, id="f3", name="lost.pdf")
ASKED = Message.user("And these?", PLAN, MAP, LOST, id="m3")
TAKES = Model(provider="x", name="x", label="X", window=8192, takes=frozenset({"image"}))


class Texts(NoFiles):
    def __init__(self, **texts: str) -> None:
        self._texts = texts

    async def text(self, attachment: Attachment) -> str:
        if attachment.id not in self._texts:
            raise NotFound("gone")
        return self._texts[attachment.id]


async def test_texts_of_files_are_shown_as_they_were_sent() -> None:
    then = Texts(f1="Dredge it.", f2="")
    sent = await render_files([ASKED], forms_of([ASKED], TAKES), then)
    entries = (*ENTRIES, Entry(message=ASKED, seq=3))
    mark = request_fingerprint([*HEAD.messages, *SENT, ASKED])
    given = json.loads(json.dumps([file.to_dict() for file in sent.given]))
    asked: dict[str, Any] = {"layout": [{"first": 1, "last": 3}], "fingerprint": mark}
    what = stored_request(entries, given=given, **asked)
    rebuilt = await rebuild_request(what, HEAD, then)
    assert rebuilt.messages[-1] == sent.messages[0]
    found = rebuilt.to_dict()
    assert found["complete"] and "only their names are shown" in found["note"]
    assert found["messages"][-1] == {
        "role": "user",
        "content": "And these?\n\nFile: plan.pdf\n```\nDredge it.\n```\n\nFile: map.png\n\n"
        "File: lost.pdf (no longer stored)",
        "files": [{"name": "map.png", "form": "image"}],
    }
    for files, note in [
        (Texts(f1="Drain it.", f2=""), "The text of plan.pdf was changed since."),
        (Texts(f2=""), "plan.pdf isn't stored any more: its text, which was sent, can't be shown."),
        (Texts(f1="Dredge it."), "map.png isn't stored any more: it was sent."),
    ]:
        unlike = (await rebuild_request(what, HEAD, files)).to_dict()
        assert not unlike["complete"] and note in unlike["note"]
    old = (await rebuild_request(stored_request(entries, **asked), HEAD, then)).differences
    assert old[0] == "How plan.pdf went isn't in this receipt: only its name is shown."
    assert len(old) == 3
    with pytest.raises(ValueError, match="form"):
        await rebuild_request(
            stored_request(entries, given=[{"id": "f1", "form": "x"}], **asked), HEAD, then
        )


async def test_a_receipt_of_the_first_version_is_built_from_its_verdicts() -> None:
    verdicts = [
        {"first": 0, "last": 0, "sent": True},
        {"first": 1, "last": 1, "sent": False},
        {"first": 2, "last": 2, "sent": True},
    ]
    old = {"head": {"hash": HEAD.hash}, "verdicts": verdicts, "facts": {"sent": 1}}
    what = StoredRequest(agent="demo", receipt=old, entries=ENTRIES[1:], summaries={})
    found = (await rebuild_request(what, HEAD, NO_FILES)).to_dict()
    assert found["complete"]
    assert [one["content"] for one in found["messages"]] == ["You are Memo.", "Hi."]
    gone = await rebuild_request(replace(what, entries=()), HEAD, NO_FILES)
    assert gone.differences


async def test_every_request_of_a_conversation_can_be_built_again(world: World) -> None:
    """Also after the path was cleared and another one begun."""
    page_request = replace(world.page_request(), query="historyPolicy=lastN&historyLength=2")
    for text in ("One", "Two", "Three"):
        await world.run_turn(page_request, text)
    await clear_conversation(owner=ADA, conversation=page_request.conversation)
    await world.run_turn(page_request, "Four")
    turns = await world.run(lambda: list(Turn.objects.order_by("number")))
    assert len(turns) == 4
    head = world.resolve_agent("demo").head
    for turn, sent in zip(turns, world.provider.requests, strict=True):
        found = await receipts.request_parts(owner=ADA, turn=str(turn.id))
        rebuilt = await rebuild_request(found, head, NO_FILES)
        assert rebuilt.differences == ()
        assert as_bytes(rebuilt.messages) == as_bytes(sent.messages)
    await world.run(lambda: Row.objects.filter(content="Two").update(content="2"))
    found = await receipts.request_parts(owner=ADA, turn=str(turns[2].id))
    assert "was changed since" in (await rebuild_request(found, head, NO_FILES)).differences[0]


async def test_each_turn_logs_its_settings_and_what_was_left_out_without_a_word_of_it(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    page_request = replace(world.page_request(), query="historyLength=1")
    with caplog.at_level(logging.INFO, "chatsite.history"):
        await world.run_turn(page_request, "canary one")
        first = [record.getMessage() for record in caplog.records]
        caplog.clear()
        await world.run_turn(page_request, "canary two")
        second = [record.getMessage() for record in caplog.records]
    assert len(first) == 1 and len(second) == 2
    begins = '[History] Agent demo history settings: {policy: "lastN", length: 1, messageCount: '
    assert first[0].startswith(begins + '1, source: "built in, length: URL", tokens: ') or first[
        0
    ].startswith(begins + '1, source: "built in", tokens: ')
    assert second[0].startswith(begins + "3, ")
    assert second[1] == "[History] Trimmed messages from 3 to 1"
    assert "canary" not in "".join(first + second)


class PricedProvider(ScriptedProvider):
    price: Price | None = Price(1.0, 0.5, 2.0)

    def model(self, name: str | None) -> Model:
        return replace(super().model(name), price=self.price)


@pytest.mark.parametrize(
    ("provider", "mark"),
    [(PricedProvider(), 86), (ScriptedProvider(), 50), (LocalScriptedProvider(), 35)],
)
async def test_a_mark_by_price_is_the_answering_models(
    world: World, provider: ScriptedProvider, mark: int
) -> None:
    world.provider, world.fields = provider, {"chatSettings": {"historyLowWater": "auto"}}
    _, ended = await world.run_turn(world.page_request())
    receipt = await world.receipt(ended)
    assert receipt["settings"]["low_water"]["value"] == mark
