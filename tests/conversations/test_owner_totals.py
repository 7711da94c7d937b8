"""The sum of an owner's characters, which the database keeps: always that of the conversations."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.db.models import Sum
from django.utils import timezone

from chatsite.conversations import lifecycle as maintenance
from chatsite.conversations.database.owner_totals import create_triggers, total_of
from chatsite.conversations.lifecycle import delete_conversation
from chatsite.conversations.models import Conversation, OwnerTotal
from chatsite.conversations.owners import Owner
from tests.conversations.builders import ADA, BOB, begin, edit, end, messages, new_id, talk

pytestmark = pytest.mark.django_db


def summed(owner: Owner) -> int:
    rows = Conversation.objects.filter(owner.filter())
    return int(rows.aggregate(total=Sum("characters"))["total"] or 0)


def test_it_follows_turns_edits_deletions_and_purges_for_each_owner_by_itself() -> None:
    first, second = new_id(), new_id()
    talk(first, 3)
    talk(second, 2, owner=BOB)
    end(edit(first, str(messages(first).get(seq=3).id), "A longer question than before"))
    end(begin(new_id(), "Hello"), "An answer")
    assert (total_of(ADA), total_of(BOB)) == (summed(ADA), summed(BOB))
    assert total_of(ADA) > total_of(BOB) > 0
    delete_conversation.here(owner=ADA, conversation=first)
    assert total_of(ADA) == summed(ADA), "until it is purged it counts"
    before = total_of(ADA)
    maintenance.purge(now=timezone.now() + timedelta(hours=2))
    assert total_of(ADA) == summed(ADA) < before


def test_it_moves_along_when_a_guest_signs_in_and_nothing_is_left_of_a_removed_owner() -> None:
    user = get_user_model().objects.create_user("grace")
    talk(new_id(), 2)
    before = total_of(ADA)
    Conversation.objects.filter(ADA.filter()).update(user=user, guest="")
    assert (total_of(ADA), total_of(Owner(user=user.pk))) == (0, before)
    assert not OwnerTotal.objects.filter(owner=ADA.key).exists(), "a guest's key is no secret left"
    Conversation.objects.all().delete()
    assert not OwnerTotal.objects.filter(owner=f"user:{user.pk}").exists()


@pytest.mark.sqlite
def test_sums_are_made_again_where_a_trigger_was_missing() -> None:
    talk(new_id(), 1)
    with connection.cursor() as cursor:
        cursor.execute("DROP TRIGGER conversations_ownertotal_changed")
    Conversation.objects.filter(ADA.filter()).update(characters=70)
    assert total_of(ADA) != 70
    create_triggers()
    assert total_of(ADA) == 70
    Conversation.objects.filter(ADA.filter()).update(characters=71)
    assert total_of(ADA) == 71
