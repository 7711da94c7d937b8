"""How attached files are rendered for a model, and what the person is told about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from django.db import connections

from chatsite import storage
from chatsite.errors import NotFound
from chatsite.files import inspector
from chatsite.messages import Attachment, Message
from chatsite.providers.base.files import FileContent, NoFiles
from chatsite.providers.base.media import SENT_BYTES, SENT_SIDE
from chatsite.providers.base.provider import Medium, Model
from chatsite.storage import reading
from chatsite.turns.context.file_forms import (
    StoredFiles,
    best_forms,
    draft_file_notes,
    file_notes,
    forms_of,
    render_files,
)
from tests.conversations.builders import ADA, BOB
from tests.conversations.upload_builders import Keep, folder, keep
from tests.pseudo_language import is_said, pseudo_language

__all__ = ["folder", "keep"]

PDF = Attachment(
    id="1",
    name="report.pdf",
    size=9,
    modality="document",
    mime_type="application/pdf",
    characters=12_300,
)
SCAN = replace(PDF, id="2", name="scan.pdf", characters=0)
NOTES = Attachment(
    id="3", name="notes.md", size=9, modality="document", mime_type="text/plain", characters=5
)
MAP = Attachment(id="4", name="map.png", size=9, modality="image", mime_type="image/png")
SONG = Attachment(id="5", name="song.mp3", size=9, modality="audio", mime_type="audio/mpeg")
FILM = Attachment(id="6", name="film.mp4", size=9, modality="video", mime_type="video/mp4")
EVERY = (PDF, SCAN, NOTES, MAP, SONG, FILM)


def model(*takes: Medium) -> Model:
    return Model(provider="x", name="x", label="Sigma", window=8192, takes=frozenset(takes))


class Texts(NoFiles):
    """The texts of files by id; other files aren't stored any more."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts

    async def text(self, attachment: Attachment) -> str:
        if attachment.id not in self._texts:
            raise NotFound("gone")
        return self._texts[attachment.id]


STORED = Texts({"1": "Dredge it.", "2": "", "3": "# Plan", "4": "", "5": "", "6": ""})


def user_message(text: str | None, *attachments: Attachment) -> Message:
    return Message.user(text, *attachments, id="m")


async def rendered(message: Message, to: Model, files: Texts = STORED) -> tuple[str, list[str]]:
    """The rendered text, and the names of the files that are still attached."""
    (found,) = (await render_files([message], best_forms([message], to), files)).messages
    return found.content or "", [attachment.name for attachment in found.attachments]


async def test_every_file_has_its_line_and_files_that_the_model_takes_stay_attached() -> None:
    text, attached = await rendered(
        user_message("And these?", *EVERY), model("image", "pdf", "audio")
    )
    assert attached == ["report.pdf", "scan.pdf", "map.png", "song.mp3"]
    assert text == (
        "And these?\n\nFile: report.pdf\n\nFile: scan.pdf\n\nFile: notes.md\n```\n# Plan\n```\n\n"
        "File: map.png\n\nFile: song.mp3\n\nFile: film.mp4"
    )


async def test_a_text_model_gets_texts_and_file_names() -> None:
    text, attached = await rendered(user_message(None, PDF, SCAN, MAP), model())
    assert attached == []
    assert text == "File: report.pdf\n```\nDredge it.\n```\n\nFile: scan.pdf\n\nFile: map.png"


@pytest.mark.parametrize("inside", ["```\nFile: x", "a ````` b", "``", ""])
async def test_a_file_cannot_close_its_own_fence(inside: str) -> None:
    text, _ = await rendered(user_message("Look", NOTES), model(), Texts({"3": inside}))
    _, _, rest = text.partition("File: notes.md\n")
    fence, _, rest = rest.partition("\n")
    assert set(fence) == {"`"} and len(fence) >= 3
    assert rest == f"{inside}\n{fence}"
    assert fence not in inside


async def test_a_file_that_is_not_stored_any_more_is_reported() -> None:
    text, attached = await rendered(user_message("Look", PDF, MAP), model("image"), Texts({}))
    assert attached == []
    assert text == "Look\n\nFile: report.pdf (no longer stored)\n\nFile: map.png (no longer stored)"


async def test_messages_without_files_stay_the_same_object() -> None:
    message = user_message("Hello")
    assert (await render_files([message], [()], STORED)).messages[0] is message


def test_the_person_is_told_which_files_the_model_gets_in_another_form() -> None:
    assert file_notes([user_message(None, *EVERY)], model("image", "pdf", "audio", "video")) == ()
    assert file_notes([user_message(None, *EVERY)], model("audio")) == (
        "Only the text of report.pdf is sent, 12,300 characters: Sigma takes no PDF.",
        "Sigma can't see scan.pdf, map.png or film.mp4; only their names are sent.",
    )
    empty = replace(NOTES, characters=0)
    assert file_notes([user_message(None, empty)], model()) == (
        "No text was found in notes.md; only its name is sent.",
    )
    assert file_notes([user_message(None, MAP)], model()) == (
        "Sigma can't see map.png; only its name is sent.",
    )
    both = user_message(None, PDF, replace(PDF, id="9", name="plan.pdf"))
    assert file_notes([both], model()) == (
        "Only the texts of report.pdf and plan.pdf are sent, 24,600 characters: Sigma takes no "
        "PDFs.",
    )


def test_the_text_of_all_files_is_limited_and_newer_files_have_precedence() -> None:
    large = replace(PDF, size=9_000_000)
    old = replace(large, id="7", name="old.pdf")
    small = replace(MAP, id="8", name="small.png")
    takes = model("image", "pdf")
    request = [
        user_message("One", old, replace(old, id="9", name="scan.pdf", characters=0), small),
        user_message("Two"),
        user_message("Three", large, replace(large, id="10")),
    ]
    assert forms_of(request, takes) == (("text", "name", "name"), (), ("pdf", "pdf"))
    why = "the files of one request may have 18 MB together, and newer ones come first."
    said = (
        f"Only the text of old.pdf is sent, 12,300 characters: {why}",
        f"Only the names of scan.pdf and small.png are sent: {why}",
    )
    assert file_notes(request, takes) == said
    assert draft_file_notes(request, request[2].attachments, takes) == said
    # A file that doesn't fit doesn't prevent smaller ones from being sent.
    assert forms_of(
        [user_message("One", small), user_message("Two", large, old, large)], takes
    ) == (
        ("name",),
        ("pdf", "pdf", "text"),
    )
    assert forms_of([user_message("One", old), user_message("Two", large, small)], takes) == (
        ("text",),
        ("pdf", "image"),
    )


def test_pictures_are_counted_in_the_form_that_is_sent() -> None:
    assert (SENT_SIDE, SENT_BYTES) == (inspector.SENT_SIDE, inspector.SENT_BYTES)
    photograph = replace(MAP, size=8_000_000, width=4_000, height=3_000)
    ten = user_message("Our trip", *[replace(photograph, id=str(id)) for id in range(10)])
    assert set(forms_of([ten], model("image"))[0]) == {"image"}
    drawing = replace(MAP, size=3_000_000, width=1_000, height=1_000)
    seven = user_message("Plans", *[replace(drawing, id=str(id)) for id in range(7)])
    assert forms_of([seven], model("image"))[0] == ("image",) * 6 + ("name",)


async def test_a_request_reaches_its_owners_files_only(
    keep: Keep, monkeypatch: pytest.MonkeyPatch, transactional_db: None
) -> None:
    monkeypatch.setitem(connections.settings["default"], "CONN_MAX_AGE", 0)
    mine = await reading(keep)(b"words", text="words", name="a.txt")
    files = StoredFiles(ADA)
    assert await files.content(mine) == FileContent(b"words", "text/plain")
    assert await files.text(mine) == "words"
    await files.remember(mine, at="openai", reference="file-1")
    assert await files.reference(mine, at="openai") == "file-1"
    others = StoredFiles(BOB)
    assert await others.reference(mine, at="openai") is None
    for ask in (others.content, others.text):
        with pytest.raises(NotFound):
            await ask(mine)
    storage.close()


async def test_the_person_is_told_in_their_language_and_the_model_in_english() -> None:
    messages = [user_message("Look", *EVERY)]
    forms = forms_of(messages, model("audio"))
    english = (await render_files(messages, forms, STORED)).messages
    with pseudo_language():
        assert all(map(is_said, file_notes(messages, model("audio"))))
        assert (await render_files(messages, forms, STORED)).messages == english
