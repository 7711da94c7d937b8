"""What one person may store: it counts what was sent and answered, and comes back with a purge."""

from __future__ import annotations

import shutil
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.utils import timezone

from chatsite.conversations import lifecycle as maintenance
from chatsite.conversations.files import uploads
from chatsite.conversations.lifecycle import clear_conversation, delete_conversation
from chatsite.conversations.owners import Owner
from chatsite.errors import Refused
from chatsite.files.intake import KEPT_FREE
from tests.conversations.builders import ADA, begin, end, new_id

pytestmark = pytest.mark.django_db
# Of a million; a guest has a quarter.
LONG = "x" * 100_000


@pytest.fixture(autouse=True)
def one_million(settings: Any) -> None:
    settings.WORDS_QUOTA_MILLION = 1


def fill(owner: Owner, times: int) -> str:
    chat = new_id()
    for _ in range(times):
        end(begin(chat, LONG, owner=owner), "Noted.")
    return chat


def test_a_guest_has_a_quarter_of_what_an_account_has() -> None:
    user = get_user_model().objects.create_user("grace")
    fill(ADA, 2)
    with pytest.raises(Refused, match="0.25 million characters"):
        begin(new_id(), LONG)
    fill(Owner(user=user.pk), 9)
    with pytest.raises(Refused, match="1 million characters"):
        begin(new_id(), LONG, owner=Owner(user=user.pk))


def test_answers_count_too() -> None:
    chat = new_id()
    for _ in range(2):
        end(begin(chat, "Write."), LONG)
    with pytest.raises(Refused, match="are free"):
        begin(chat, LONG)


def test_what_was_purged_makes_room_again_and_what_is_only_cleared_does_not() -> None:
    chat = fill(ADA, 2)
    clear_conversation.here(owner=ADA, conversation=chat)
    with pytest.raises(Refused):
        begin(new_id(), LONG)
    delete_conversation.here(owner=ADA, conversation=chat)
    maintenance.purge(now=timezone.now() + timedelta(hours=2))
    assert begin(new_id(), LONG).turn


def test_a_full_disk_takes_no_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    usage = SimpleNamespace(free=KEPT_FREE - 1)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    monkeypatch.setattr(uploads, "free_space", uploads.free_space.__wrapped__)
    with pytest.raises(Refused, match="disk is nearly full"):
        begin(new_id(), "Hello")
