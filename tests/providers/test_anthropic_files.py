"""Pictures and PDFs for Anthropic: sent inline, or uploaded once and referred to by id."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import pytest_asyncio

from chatsite.errors import NotFound, ProviderError
from chatsite.messages import Attachment, Message
from chatsite.providers.anthropic.provider import AnthropicProvider
from chatsite.providers.base.files import FileContent
from chatsite.providers.base.provider import Request
from chatsite.providers.tokens.tokenizers import ClaudeEstimate
from tests.fakes.anthropic_provider import provider_at
from tests.fakes.anthropic_server import FakeAnthropic


class Stored:
    """Files of one owner, as far as a request refers to them."""

    def __init__(self) -> None:
        self.references: dict[tuple[str, str], str] = {}

    async def content(self, attachment: Attachment) -> FileContent:
        if attachment.id == "gone":
            raise NotFound("This file isn't stored any more.")
        return FileContent(f"bytes of {attachment.id}".encode(), attachment.mime_type or "")

    async def text(self, attachment: Attachment) -> str:
        return ""

    async def reference(self, attachment: Attachment, *, at: str) -> str | None:
        return self.references.get((attachment.id, at))

    async def remember(self, attachment: Attachment, *, at: str, reference: str | None) -> None:
        self.references[attachment.id, at] = reference or ""
        if reference is None:
            del self.references[attachment.id, at]


PNG = Attachment(
    id="png", name="a.png", size=9, modality="image", mime_type="image/png", width=750, height=100
)
PDF = Attachment(
    id="pdf",
    name="plan.pdf",
    size=9,
    modality="document",
    mime_type="application/pdf",
    characters=3_001,
)
GONE = Attachment(id="gone", name="b.png", size=9, modality="image", mime_type="image/png")
SHOWN = Message.user("What is this?", PNG, PDF, GONE, id="u")


@pytest.fixture(scope="module")
def fake() -> Iterator[FakeAnthropic]:
    with FakeAnthropic() as server:
        yield server


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def keeping(fake: FakeAnthropic) -> AsyncIterator[AnthropicProvider]:
    made = provider_at(fake.base_url, api_key="sk-ant-canary", files=True)
    yield made
    await made.aclose()


async def send(provider: AnthropicProvider, files: Stored, message: Message = SHOWN) -> None:
    known: dict[str, Any] = {"conversation": "c", "model": "claude-haiku-4-5", "max_tokens": 9}
    async for _ in provider.stream(Request(messages=(message,), files=files, **known)):
        pass


@pytest.mark.asyncio(loop_scope="module")
async def test_files_are_sent_inline_to_a_server_without_uploads(fake: FakeAnthropic) -> None:
    """Before the text about them; of a deleted file only the name is sent."""
    provider = provider_at(fake.base_url)
    await send(provider, Stored())
    await provider.aclose()

    def source(id: str, kind: str) -> dict[str, str]:
        data = base64.b64encode(f"bytes of {id}".encode()).decode()
        return {"type": "base64", "media_type": kind, "data": data}

    image, document, text = fake.requests[-1]["messages"][0]["content"]
    assert image == {"type": "image", "source": source("png", "image/png")}
    pdf = source("pdf", "application/pdf")
    assert document == {"type": "document", "title": "plan.pdf", "source": pdf}
    assert text["text"] == "What is this?"
    assert fake.problems == []


@pytest.mark.asyncio(loop_scope="module")
async def test_a_file_is_uploaded_once_and_again_when_it_was_lost(
    fake: FakeAnthropic, keeping: AnthropicProvider
) -> None:
    files = Stored()

    def uploads() -> int:
        return fake.asked.count("POST /v1/files")

    await send(keeping, files)
    await send(keeping, files)
    assert uploads() == 2
    named = [
        block["source"]
        for block in fake.requests[-1]["messages"][0]["content"]
        if block["type"] != "text"
    ]
    assert [fake.files[one["file_id"]].data for one in named] == [b"bytes of png", b"bytes of pdf"]
    # Neither the upload nor the stored reference has the name.
    assert {(kept.name, kept.mime_type) for kept in fake.files.values()} == {
        ("file", "image/png"),
        ("file", "application/pdf"),
    }
    assert "canary" not in str(files.references)
    fake.files.clear()
    before = len(fake.requests)
    await send(keeping, files)
    assert (uploads(), len(fake.requests) - before) == (4, 2)
    assert fake.problems == []


@pytest.mark.asyncio(loop_scope="module")
async def test_a_second_refusal_of_a_file_is_reported(
    fake: FakeAnthropic, keeping: AnthropicProvider
) -> None:
    before = len(fake.requests)
    with pytest.raises(ProviderError) as caught:
        await send(keeping, Stored(), Message.user("[[mode=file_refused]]", PNG, id="u"))
    assert caught.value.code == "bad_request"
    assert len(fake.requests) == before + 2


async def test_an_estimate_counts_pictures_and_pages() -> None:
    words = Message.user("word " * 100, id="u")
    for finer, text, whole in ((False, 125, 100), (True, 162, 100)):
        estimate = ClaudeEstimate(finer=finer)
        counts = await estimate.count(
            [
                words,
                Message.user("word " * 100, PNG, id="u"),
                Message.user("word " * 100, GONE, id="u"),
                Message.user("word " * 100, PDF, id="u"),
            ]
        )
        plain, picture, large, pages = (each.count for each in counts)
        assert plain == pytest.approx(text, abs=5)
        assert picture - plain == pytest.approx(whole, abs=10)
        assert large - plain > 1_590 and pages - plain > 4_000
