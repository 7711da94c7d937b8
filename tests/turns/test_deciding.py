"""Token counts on their way to a decision, and the draft that isn't stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from chatsite.conversations.models import Message as Row
from chatsite.errors import BadCommand, NotFound
from chatsite.messages import Attachment, Basis, Message, TokenCount
from chatsite.providers.base.files import NoFiles
from chatsite.providers.echo import EchoProvider
from chatsite.turns.agents.resolved_agent import resolve_agent
from chatsite.turns.context.token_counts import TokenCounter as ForModel
from chatsite.turns.context.turn_context import PageRequest
from tests.conversations.builders import ADA, BOB, new_id, row, stored_totals, talk
from tests.pseudo_language import is_said, pseudo_language
from tests.turns.conftest import World, template


class TokenCounter:
    """Counts ten tokens a message and records the texts that it was asked to count."""

    def __init__(self, name: str, basis: Basis) -> None:
        self.name, self.basis = name, basis
        self.counted_texts: list[str] = []

    async def count(self, messages: Sequence[Message]) -> list[TokenCount]:
        self.counted_texts += [message.content or "" for message in messages]
        return [TokenCount(count=10, tokenizer=self.name, basis=self.basis)] * len(messages)


@pytest.mark.parametrize(
    ("stored", "tokenizer", "needed"),
    [
        (None, ("words", "estimated"), True),
        (None, ("o200k", "counted"), True),
        (("words", "estimated"), ("words", "estimated"), False),
        (("words", "estimated"), ("other", "estimated"), True),
        (("o200k", "counted"), ("words", "estimated"), True),
        (("words", "estimated"), ("o200k", "counted"), True),
        (("llama", "counted"), ("o200k", "counted"), True),
        (("o200k", "counted"), ("o200k", "counted"), False),
    ],
)
def test_what_another_tokenizer_counted_is_counted_again(
    stored: tuple[str, Basis] | None, tokenizer: tuple[str, Basis], needed: bool
) -> None:
    tokens = TokenCount(count=3, tokenizer=stored[0], basis=stored[1]) if stored else None
    message = Message(id="m", role="user", content="Hello", tokens=tokens)
    provider = EchoProvider()
    provider.tokenizer = lambda model: TokenCounter(*tokenizer)  # type: ignore[assignment, method-assign, return-value]
    counting = ForModel(resolve_agent(template(), {"echo": provider}))
    assert counting.is_missing(message, provider.tokenizer(provider.model(None))) is needed


class OneFile(NoFiles):
    reads = 0

    async def text(self, attachment: Attachment) -> str:
        self.reads += 1
        return "word " * 50


async def test_a_file_is_read_and_counted_once_however_often_a_page_asks() -> None:
    files = OneFile()
    counting = ForModel(resolve_agent(template(), {"echo": EchoProvider()}), files)
    file = Attachment(id="f", name="notes.txt", size=9, modality="document", characters=250)
    draft = Message.user("What is in it?", file, id="m")
    first, again = [(await counting.of([draft]))[0].count for _ in range(2)]
    asked = files.reads
    assert first == again > 50
    await counting.of([draft])
    assert files.reads == asked == 1


class TestDrafts:
    @pytest.fixture
    def page_request(self, world: World) -> PageRequest:
        page_request = world.page_request()
        talk(page_request.conversation, 2)
        return page_request

    def use(self, world: World, tokenizer: TokenCounter, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(world.provider, "tokenizer", lambda model: tokenizer)

    async def test_a_better_count_is_made_once_and_stored(
        self, world: World, page_request: PageRequest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tokenizer = TokenCounter("o200k", "counted")
        self.use(world, tokenizer, monkeypatch)
        await world.turns.drafts.preview(page_request, "draft")
        await world.turns.drafts.preview(page_request, "draft")
        assert tokenizer.counted_texts.count("question 1") == 1
        assert tokenizer.counted_texts.count("draft") == 2
        stored = await world.run(stored_totals, page_request.conversation)
        assert stored == (4, 2, 40)

        def bases() -> set[Any]:
            return set(Row.objects.values_list("tokens", "tokenizer", "basis"))

        assert await world.run(bases) == {(10, "o200k", "counted")}

    async def test_an_estimate_until_the_engine_is_ready_changes_no_count(
        self, world: World, page_request: PageRequest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tokenizer = TokenCounter("guess", "estimated")
        monkeypatch.setattr(world.provider, "kind", "embedded")
        self.use(world, tokenizer, monkeypatch)
        before = await world.run(stored_totals, page_request.conversation)
        await world.turns.drafts.preview(page_request, "draft")
        assert "question 1" not in tokenizer.counted_texts
        assert await world.run(stored_totals, page_request.conversation) == before

    async def test_nothing_is_stored_and_no_model_asked(
        self, world: World, page_request: PageRequest
    ) -> None:
        before = await world.run(row, page_request.conversation)
        for draft, state in (("", "empty"), ("draft", "written"), ("你好", "written")):
            found = await world.turns.drafts.preview(page_request, draft)
            assert (found["facts"]["stored"], found["facts"]["draft"]) == (4, state)
            assert found["verdicts"][-1]["reason"] == "current"
        after = await world.run(row, page_request.conversation)
        assert (before.next_seq, before.path_messages) == (after.next_seq, after.path_messages)
        assert world.provider.requests == []

    async def test_a_conversation_that_has_not_begun_has_a_preview_too(self, world: World) -> None:
        found = await world.turns.drafts.preview(world.page_request(), "draft")
        assert (found["facts"]["stored"], found["facts"]["draft"]) == (0, "written")
        assert [verdict["reason"] for verdict in found["verdicts"]] == ["system", "current"]

    async def test_another_agent_and_another_owner_get_no_preview(
        self, world: World, page_request: PageRequest
    ) -> None:
        other = PageRequest(
            owner=ADA, conversation=page_request.conversation, agent="other", query=""
        )
        with pytest.raises(BadCommand):
            await world.turns.drafts.preview(other, "draft")
        theirs = PageRequest(
            owner=BOB, conversation=page_request.conversation, agent="demo", query=""
        )
        with pytest.raises(NotFound):
            await world.turns.drafts.preview(theirs, "draft")


async def test_a_turn_sends_exactly_what_its_preview_listed(world: World) -> None:
    page_request = PageRequest(
        owner=ADA, conversation=new_id(), agent="demo", query="historyLength=2"
    )
    for number in range(4):
        await world.run_turn(page_request, f"question {number}")
    preview = await world.turns.drafts.preview(page_request, "What now?")
    _, ended = await world.run_turn(page_request, "What now?")
    receipt = await world.receipt(ended)
    for key in ("settings", "verdicts", "parts", "horizon", "prompt_tokens", "leading"):
        assert receipt[key] == preview[key], key
    sent = [message.content for message in world.provider.requests[-1].messages]
    assert sent[0] == "You are Memo."
    assert sent[1] == "question 3" and sent[-1] == "What now?" and len(sent) == 4


def test_offers_are_cached_for_each_language() -> None:
    """Whoever asks next may read another one."""
    contexts = World().contexts
    request = PageRequest(owner=ADA, conversation="c", agent="demo", query="historyPolicy=lastN")
    english = contexts.offers(contexts.of(request))
    with pseudo_language():
        context = contexts.of(request)
        offered = contexts.offers(context)
        assert all(is_said(one["title"]) and is_said(one["about"]) for one in offered["list"])
        assert is_said(context.settings.words)
    assert contexts.offers(contexts.of(request)) is english
