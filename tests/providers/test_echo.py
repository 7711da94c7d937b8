from __future__ import annotations

from chatsite.messages import Attachment, Message, TokenCount
from chatsite.providers.base.provider import Chunk, Finished, Request, TextPiece
from chatsite.providers.echo import EchoProvider


def request(*messages: Message, max_tokens: int = 256) -> Request:
    return Request(conversation="c", messages=messages, model="echo", max_tokens=max_tokens)


async def answer(*messages: Message, max_tokens: int = 256) -> list[Chunk]:
    provider = EchoProvider(delay=0)
    return [chunk async for chunk in provider.stream(request(*messages, max_tokens=max_tokens))]


def said(chunks: list[Chunk]) -> str:
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, TextPiece))


async def test_it_repeats_the_user_and_counts_the_messages() -> None:
    chunks = await answer(
        Message.system("Be kind.", id="s"), Message.user("Hello  there\n!", id="u")
    )
    assert said(chunks) == "Echo: you said “Hello  there\n!”. I was given 2 messages."
    last = chunks[-1]
    assert isinstance(last, Finished) and last.reason == "stop"
    assert (last.usage.prompt, last.usage.completion) == (7, 11)


async def test_it_arrives_in_pieces_of_two_words() -> None:
    """As many as it writes between two pauses; the last piece may have one."""
    chunks = await answer(Message.user("one two", id="u"), max_tokens=5)
    assert [c.text for c in chunks if isinstance(c, TextPiece)] == [
        "Echo: you",
        " said “one",
        " two”.",
    ]


async def test_it_stops_at_the_reply_bound_with_the_reason() -> None:
    chunks = await answer(Message.user("hello", id="u"), max_tokens=3)
    assert said(chunks) == "Echo: you said"
    assert isinstance(chunks[-1], Finished) and chunks[-1].reason == "length"


async def test_a_file_without_text_is_named() -> None:
    file = Attachment(id="f", name="plan.pdf", size=9, modality="document")
    assert "File: plan.pdf" in said(await answer(Message.user(None, file, id="u")))


async def test_it_counts_one_token_a_word_and_one_for_the_role() -> None:
    provider = EchoProvider()
    tokenizer = provider.tokenizer(provider.model(None))
    counts = await tokenizer.count([Message.user("a b c", id="1"), Message.assistant(None, id="2")])
    assert counts == [TokenCount(count=n, tokenizer="words", basis="estimated") for n in (4, 1)]


async def test_it_is_always_ready() -> None:
    assert EchoProvider().status().state == "ready"
