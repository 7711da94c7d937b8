"""What an account has goes with it, in pieces; nobody else's does."""

from __future__ import annotations

from importlib import import_module

import pytest
from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.utils import timezone

from chatsite.accounts.removal import (
    PIECE,
    Rights,
    conversations_of,
    release_piece,
    remove_account,
    remove_lost_sessions,
    rights_of,
)
from chatsite.conversations.lifecycle import delete_conversation, purge
from chatsite.conversations.models import Conversation, Message
from chatsite.conversations.owners import Owner
from tests.conversations.builders import BOB, new_id, talk

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def ada() -> Owner:
    return Owner(user=User.objects.create_user("ada", password="x").pk)


def release_all(user: int) -> int:
    """How many pieces it took."""
    pieces = 0
    while release_piece.here(user=user):
        pieces += 1
    return pieces


def test_a_deleted_account_is_purged_with_its_conversations_and_nobody_elses(ada: Owner) -> None:
    assert ada.user is not None
    talk(mine := new_id(), 2, owner=ada)
    talk(deleted := new_id(), 1, owner=ada)
    delete_conversation.here(owner=ada, conversation=deleted)
    talk(bobs := new_id(), 1, owner=BOB)
    assert release_all(ada.user) == 1
    assert conversations_of.here(ada) == []
    remove_account.here(user=ada.user)
    assert not User.objects.exists()
    assert Message.objects.filter(conversation_id=mine).exists(), "removed later"
    assert purge().conversations == 2
    assert list(Conversation.objects.values_list("id", flat=True)) == [
        Conversation.objects.get(id=bobs).id
    ]
    assert not Message.objects.filter(conversation_id=mine).exists()


def test_a_large_account_is_released_in_pieces(ada: Owner) -> None:
    assert ada.user is not None
    now = timezone.now()
    Conversation.objects.bulk_create(
        Conversation(user_id=ada.user, agent="demo", title="", created=now, updated=now)
        for _ in range(2 * PIECE + 1)
    )
    assert release_all(ada.user) == 3


def test_what_comes_while_an_account_is_deleted_goes_too(ada: Owner) -> None:
    assert ada.user is not None
    release_all(ada.user)
    talk(late := new_id(), 1, owner=ada)
    remove_account.here(user=ada.user)
    assert purge().conversations == 1
    assert not Conversation.objects.filter(id=late).exists()


def test_disabled_and_deleted_accounts_have_no_rights(ada: Owner) -> None:
    assert ada.user is not None
    row = User.objects.get(pk=ada.user)
    disabled = User.objects.create_user("bob", is_active=False)
    found = rights_of.here([ada.user, disabled.pk, 999])
    assert found == {ada.user: Rights(staff=False, password=row.password)}
    assert row.password not in repr(found)


def test_the_sessions_of_accounts_that_are_gone_are_removed(ada: Owner) -> None:
    engine = import_module(settings.SESSION_ENGINE)
    kept = []
    for said in ({SESSION_KEY: str(ada.user)}, {SESSION_KEY: "999"}, {"guest": "bob"}):
        session = engine.SessionStore()
        session.update(said)
        session.save()
        kept += [session.session_key] if said != {SESSION_KEY: "999"} else []
    assert remove_lost_sessions.here() == 1
    assert set(Session.objects.values_list("pk", flat=True)) == set(kept)
