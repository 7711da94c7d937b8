"""`manage.py add_message`, as a scheduled task calls it."""

from __future__ import annotations

import io
import sys

import pytest
from django.core.management import CommandError, call_command

from chatsite.conversations.models import Message
from tests.conversations.builders import begin, messages, new_id, talk

pytestmark = pytest.mark.django_db


@pytest.fixture
def conversation() -> str:
    conversation_id = new_id()
    talk(conversation_id, 1)
    return conversation_id


def add(*arguments: str) -> str:
    out = io.StringIO()
    call_command("add_message", *arguments, stdout=out)
    return out.getvalue()


def last(conversation: str) -> Message:
    found = messages(conversation).order_by("seq").last()
    assert found is not None
    return found


def test_a_text_is_stored_as_the_assistants(conversation: str) -> None:
    output = add(conversation, "--source", "briefing", "It will rain.")
    assert output == f"Stored as message 3 of {conversation}.\n"
    stored = last(conversation)
    assert (stored.content, stored.role, stored.source) == (
        "It will rain.",
        "assistant",
        "briefing",
    )


def test_the_role_may_be_the_users(conversation: str) -> None:
    add(conversation, "Check it", "--source", "scheduled", "--role", "user")
    assert (last(conversation).role, last(conversation).source) == ("user", "scheduled")


def test_without_a_text_argument_the_text_is_read_from_stdin(
    conversation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    piped = io.TextIOWrapper(io.BytesIO("Grüße\naus dem Skript \n".encode() + b"\xff"))
    monkeypatch.setattr(sys, "stdin", piped)
    add(conversation, "--source", "scheduled")
    assert last(conversation).content == "Grüße\naus dem Skript \n\N{REPLACEMENT CHARACTER}"


def test_a_refusal_is_printed_as_a_sentence(conversation: str) -> None:
    with pytest.raises(CommandError, match="The message is empty; nothing was stored"):
        add(conversation, "  ", "--source", "briefing")
    with pytest.raises(CommandError, match="There is no conversation"):
        add(new_id(), "Hello", "--source", "briefing")
    with pytest.raises(CommandError, match="invalid choice: 'web'"):
        add(conversation, "Hello", "--source", "web")
    with pytest.raises(CommandError, match="required: --source"):
        add(conversation, "Hello")
    begin(conversation)
    with pytest.raises(CommandError, match="An answer is being written there"):
        add(conversation, "Hello", "--source", "briefing")


@pytest.mark.parametrize("source", ["talk", "email"])
def test_a_message_from_talk_or_by_mail_is_a_persons_unless_its_role_is_given(
    conversation: str, source: str
) -> None:
    add(conversation, "Is the crane free?", "--source", source)
    assert (last(conversation).role, last(conversation).source) == ("user", source)
    add(conversation, "It is.", "--source", source, "--role", "assistant")
    assert (last(conversation).role, last(conversation).source) == ("assistant", source)
