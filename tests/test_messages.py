"""A message is a frozen value: its parts, its check before it is stored, and its forms as text."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from typing import Any, get_args

import pytest

from chatsite.messages import MAX_ATTACHMENT_BYTES, ROLES, Attachment, Message, Role

PHOTO = Attachment(id="f1", name="quay.png", size=7, modality="image", mime_type="image/png")
PLAN = Attachment(id="f2", name="plan.pdf", size=3, modality="document")


def test_a_message_is_made_for_each_role_and_can_not_be_changed() -> None:
    said = Message.user("Look", PHOTO, id="m1")
    assert (said.id, said.role, said.content, said.attachments) == ("m1", "user", "Look", (PHOTO,))
    made = (
        Message.system("Be kind.", id="s"),
        said,
        Message.assistant("Seen.", id="a"),
        Message.tool("42", id="t", call_id="c1"),
    )
    assert tuple(message.role for message in made) == ROLES == get_args(Role)
    with pytest.raises(FrozenInstanceError):
        said.content = "Changed"  # type: ignore[misc]


def test_a_new_message_has_no_place_in_the_cache_and_counts_as_loaded() -> None:
    fresh = Message.user("Hi", id="m1")
    assert (fresh.kv_size, fresh.kv_start_position, fresh.kv_status) == (-1, -1, 1)


def test_media_are_counted_by_their_bytes() -> None:
    both = Message.user("Look", PHOTO, PLAN, id="m1")
    assert both.has_media and both.total_media_size == 10
    bare = both.to_text_only()
    assert (bare.id, bare.content, bare.attachments) == ("m1", "Look", ())
    assert not bare.has_media and bare.total_media_size == 0


def test_a_text_or_a_file_is_enough() -> None:
    Message.user("Hi", id="m1").validate()
    Message.user(None, PHOTO, id="m1").validate()
    Message.user(None, replace(PHOTO, size=MAX_ATTACHMENT_BYTES), id="m1").validate()


@pytest.mark.parametrize("content", [None, "", " \n\t"])
def test_neither_text_nor_file_is_refused(content: str | None) -> None:
    with pytest.raises(ValueError, match="needs text or at least one attachment"):
        Message.user(content, id="m1").validate()


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"size": 0}, "size must be 1 byte to 50 MB"),
        ({"size": MAX_ATTACHMENT_BYTES + 1}, "size must be 1 byte to 50 MB"),
        ({"modality": "smell"}, "modality 'smell' is not one of"),
        ({"name": ""}, "needs an id and a name"),
    ],
)
def test_a_wrong_file_is_refused_with_what_is_allowed(
    changed: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        Message.user("Look", replace(PHOTO, **changed), id="m1").validate()


def test_its_text_form_names_role_words_and_files() -> None:
    assert str(Message.user("Look", PHOTO, PLAN, id="m1")) == (
        "user: Look\nFile: quay.png\nFile: plan.pdf"
    )
    assert str(Message.assistant(None, id="m2")) == "assistant: "
