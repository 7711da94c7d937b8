"""Attached files in chat completions: inline, and uploaded to the provider."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from chatsite.errors import NotFound, ProviderError
from chatsite.messages import Attachment, Message, Modality
from chatsite.providers.base.files import FileContent
from chatsite.providers.base.media import counts_media
from chatsite.providers.base.provider import Finished, Request
from chatsite.providers.known.models import ModelTable
from chatsite.providers.known.servers import SERVERS
from chatsite.providers.openai.provider import OpenAIProvider
from chatsite.providers.tokens.tokenizers import Estimate
from tests.fakes.openai_provider import provider_at
from tests.fakes.openai_rules import problems
from tests.fakes.openai_server import FakeOpenAI

KEY = "sk-canary-files"
PDF = b"%PDF-1.7\r\n\x00\xff%%EOF\n" * 30_000


@dataclass
class Stored:
    """The files of one owner, as the site stores them."""

    data: dict[str, tuple[bytes, str]]
    references: dict[tuple[str, str], str] = field(default_factory=dict)

    async def content(self, attachment: Attachment) -> FileContent:
        if attachment.id not in self.data:
            raise NotFound("This file isn't stored any more.")
        return FileContent(*self.data[attachment.id])

    async def text(self, attachment: Attachment) -> str:
        return ""

    async def reference(self, attachment: Attachment, *, at: str) -> str | None:
        return self.references.get((attachment.id, at))

    async def remember(self, attachment: Attachment, *, at: str, reference: str | None) -> None:
        if reference is None:
            del self.references[attachment.id, at]
        else:
            self.references[attachment.id, at] = reference


def attached(id: str, modality: Modality, mime_type: str) -> Attachment:
    return Attachment(id=id, name=f"{id}.x", size=10, modality=modality, mime_type=mime_type)


PICTURE = attached("picture", "image", "image/png")
REPORT = attached("report", "document", "application/pdf")
SOUND = attached("sound", "audio", "audio/mpeg")
FILM = attached("film", "video", "video/mp4")
GONE = attached("gone", "image", "image/png")


@pytest.fixture
def stored() -> Stored:
    data = {"picture": (b"png", "image/png"), "report": (PDF, "application/pdf")}
    data |= {"sound": (b"mp3", "audio/mpeg"), "film": (b"mp4", "video/mp4")}
    return Stored(data)


@pytest.fixture
def fake() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as server:
        yield server


def keeping(fake: FakeOpenAI, *, key: str = KEY) -> OpenAIProvider:
    """OpenAI itself, which stores uploads."""
    server = replace(SERVERS["openai"], base_url=fake.base_url)
    return OpenAIProvider(server=server, api_key=key, table=ModelTable())


async def sent(
    fake: FakeOpenAI,
    provider: OpenAIProvider,
    stored: Stored,
    *files: Attachment,
    text: str = "So?",
) -> Mapping[str, Any]:
    asked = Request(
        conversation="c",
        messages=(Message.user(text, *files, id="u"),),
        model="gpt-4o",
        max_tokens=10,
        files=stored,
    )
    try:
        chunks = [chunk async for chunk in provider.stream(asked)]
    finally:
        await provider.aclose()
    assert isinstance(chunks[-1], Finished)
    body = fake.requests[-1]
    assert problems(body, extra=["video_url"]) == []
    message: Mapping[str, Any] = body["messages"][0]
    return message


async def test_each_file_is_sent_in_the_form_of_its_kind(fake: FakeOpenAI, stored: Stored) -> None:
    """For a server without uploads; of a deleted file only the name is sent."""
    message = await sent(
        fake, provider_at(fake.base_url), stored, PICTURE, REPORT, SOUND, FILM, GONE
    )
    data = {kind: base64.b64encode(stored.data[kind][0]).decode() for kind in stored.data}
    names = "\n".join(f"File: {name}.x" for name in (*stored.data, "gone"))
    assert message["content"] == [
        {"type": "text", "text": f"So?\n{names}"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data['picture']}"}},
        {
            "type": "file",
            "file": {
                "filename": "report.x",
                "file_data": f"data:application/pdf;base64,{data['report']}",
            },
        },
        {"type": "input_audio", "input_audio": {"data": data["sound"], "format": "mp3"}},
        {"type": "video_url", "video_url": {"url": f"data:video/mp4;base64,{data['film']}"}},
    ]
    assert not fake.files


async def test_a_line_that_names_a_file_is_not_written_twice(
    fake: FakeOpenAI, stored: Stored
) -> None:
    text = "So?\n\nFile: picture.x"
    message = await sent(fake, provider_at(fake.base_url), stored, PICTURE, text=text)
    assert message["content"][0]["text"] == text


async def test_a_pdf_is_given_once_and_named_from_then_on(fake: FakeOpenAI, stored: Stored) -> None:
    first = await sent(fake, keeping(fake), stored, REPORT)
    again = await sent(fake, keeping(fake), stored, REPORT)
    ((id, file),) = fake.files.items()
    assert first["content"][1] == again["content"][1] == {"type": "file", "file": {"file_id": id}}
    assert (file.name, file.mime_type, file.purpose) == ("report.x", "application/pdf", "user_data")
    assert file.data == PDF
    assert file.fields["expires_after[anchor]"] == "created_at"
    ((_, account),) = stored.references
    assert KEY not in account and fake.base_url not in account
    # Another account doesn't know the file.
    await sent(fake, keeping(fake, key="sk-other"), stored, REPORT)
    assert len(fake.files) == 2


async def test_a_file_that_the_provider_lost_is_uploaded_again(
    fake: FakeOpenAI, stored: Stored
) -> None:
    await sent(fake, keeping(fake), stored, REPORT, PICTURE)
    lost = fake.files.popitem()[0]
    message = await sent(fake, keeping(fake), stored, REPORT, PICTURE)
    now = message["content"][1]["file"]["file_id"]
    assert now != lost and now in fake.files
    assert list(stored.references.values()) == [now]
    assert len(fake.requests) == 3


async def test_a_file_that_can_not_be_given_is_a_failure_in_words(stored: Stored) -> None:
    with FakeOpenAI(refuses_files=True) as fake, pytest.raises(ProviderError) as told:
        await sent(fake, keeping(fake), stored, REPORT)
    assert told.value.code == "too_large"
    assert not stored.references


async def test_files_that_stay_attached_are_counted(stored: Stored) -> None:
    def picture(width: int, height: int) -> Message:
        return Message.user("So?", replace(PICTURE, width=width, height=height), id="u")

    paper = replace(REPORT, characters=35_000)
    said = [Message.user("So?\n\nFile: picture.x", id="u"), picture(100, 100)]
    said += [picture(1024, 1024), picture(6000, 6000), picture(0, 0)]
    said += [Message.user("So?", paper, id="u")]
    counts = await Estimate().count(said)
    text, small, usual, huge, unknown, pdf = (each.count - counts[0].count for each in counts)
    assert text == 0 and small == pytest.approx(255, abs=5)
    assert usual == pytest.approx(1229, abs=5)
    assert huge == pytest.approx(1844, abs=5) and unknown == pytest.approx(1844, abs=5)
    assert pdf == pytest.approx(10_000 + 18_000, rel=0.1)
    assert [counts_media(message) for message in said[:2]] == [False, True]
