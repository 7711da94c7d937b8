"""Guests who were known before visits were noted."""

from __future__ import annotations

from datetime import timedelta
from importlib import import_module

import pytest
from django.db import connection
from django.utils import timezone

from chatsite.accounts.guests import expire_guests
from chatsite.accounts.models import Guest
from chatsite.conversations.models import Conversation
from chatsite.conversations.owners import Owner
from tests.conversations.builders import new_id, talk

BOB = Owner(guest="bob")


@pytest.mark.django_db
def test_they_count_from_the_upgrade() -> None:
    talk(new_id(), 1, owner=BOB)
    Conversation.objects.update(updated=timezone.now() - timedelta(days=900))
    migration = import_module("chatsite.conversations.migrations.0011_guests")
    with connection.cursor() as cursor:
        cursor.execute(migration.KNOWN)
    assert Guest.objects.get().key == "bob"
    assert expire_guests.here(before=timezone.now() - timedelta(days=1)) == 0
    assert expire_guests.here(before=timezone.now() + timedelta(days=1)) == 1
    assert not Conversation.objects.filter(guest="bob").exists()
