"""Mails are stored once, found by their own sender alone, and go with what they belong to."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import authenticate
from django.contrib.auth.forms import UserCreationForm
from django.contrib.auth.models import User
from django.utils import timezone

from chatsite.accounts.removal import release_piece, remove_account
from chatsite.conversations import lifecycle as maintenance
from chatsite.conversations.lifecycle import clear_conversation, delete_conversation
from chatsite.conversations.models import Conversation
from chatsite.conversations.owners import Owner
from chatsite.conversations.records import NewTurn
from chatsite.conversations.turn.begin import begin_turn
from chatsite.conversations.versions import deletions
from chatsite.conversations.versions.deletions import delete_message
from chatsite.errors import Refused
from chatsite.files.folder import opened
from chatsite.history import Everything
from chatsite.mail import mails
from chatsite.mail import wiring as mail_upkeep
from chatsite.mail.addresses import (
    add_address,
    address_owner,
    addresses_of,
    verify_address,
)
from chatsite.mail.answers import (
    answers_of_hour,
    begin_sending,
    finish_mail,
    notices_to,
    replied_message,
)
from chatsite.mail.mails import (
    hold_mail,
    is_known_mail,
    mailbox_account,
    mailbox_place,
    own_thread,
    record_mail,
    save_mailbox_place,
    take_mail,
    take_notice,
    unfinished_mail,
    unfinished_mails,
)
from chatsite.mail.models import Mail, MailAddress
from chatsite.mail.wiring import mail_folder, purge_mails
from tests.conversations.builders import end, new_id, run_in_threads, user_message

pytestmark = pytest.mark.django_db
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.fixture
def ada() -> int:
    return User.objects.create_user("ada").pk


@pytest.fixture
def bob() -> int:
    return User.objects.create_user("bob").pk


def coming(**more: Any) -> Mail:
    id = new_id()
    fields: dict[str, Any] = {
        "key": id,
        "message_id": f"{id}@example.org",
        "sender": "ada@example.org",
        "subject": "The quay",
        "subject_key": "the quay",
        "text": "How long is it?\n> quoted",
        "files": [],
    }
    return Mail(**(fields | more))


def take(user: int, mail: Mail | None = None, thread: str | None = None, **more: Any) -> Mail:
    mail = mail or coming(**more)
    assert take_mail.here(mail, user=user, agent="demo", thread=thread)
    return mail


def thread_of(user: int, *ids: str, **more: Any) -> str | None:
    return own_thread.here(coming(ids=list(ids), **more), user=user)


def answer(mail: Mail, id: str) -> None:
    begin_sending.here(mail=mail.id, outgoing=b"answer", answer_id=id, answer="")
    finish_mail.here(mail=mail.id, state="answered")


# ---- once ------------------------------------------------------------------------------------
@pytest.mark.django_db(transaction=True)
def test_a_mail_is_taken_once_however_often_it_comes() -> None:
    user = User.objects.create_user("ada").pk

    def again() -> bool:
        return take_mail.here(coming(key="one"), user=user, agent="demo", thread=None)

    found = run_in_threads(6, again)
    assert sorted(map(str, found)) == ["False"] * 5 + ["True"]
    assert Mail.objects.count() == Conversation.objects.count() == 1
    assert is_known_mail.here(key="one")


def test_the_first_answer_stays_whatever_is_made_later(ada: int) -> None:
    mail = take(ada)
    send: dict[str, Any] = {"mail": mail.id, "answer": new_id()}
    assert begin_sending.here(outgoing=b"one", answer_id="a@x", **send) == b"one"
    assert begin_sending.here(outgoing=b"two", answer_id="b@x", **send) == b"one"
    (left,) = unfinished_mails.here()
    assert left.outgoing == b"one"
    finish_mail.here(mail=mail.id, state="answered")
    assert unfinished_mails.here() == [] and unfinished_mail.here(mail=mail.id) is None


def test_of_what_is_refused_only_that_it_came_is_stored() -> None:
    assert record_mail.here(coming(), state="refused")
    row = Mail.objects.get()
    assert (row.text, row.subject, row.conversation, row.user) == ("", "", None, None)


def test_how_far_a_mailbox_was_read_is_stored() -> None:
    assert mailbox_place.here(name="a") is None
    for last in (3, 7):
        save_mailbox_place.here(name="a", validity=1, last=last)
    place = mailbox_place.here(name="a")
    assert place is not None and (place.validity, place.last) == (1, 7)


# ---- threads ---------------------------------------------------------------------------------
def test_a_thread_is_found_by_received_and_sent_ids_and_by_its_subject(ada: int) -> None:
    mail = take(ada)
    answer(mail, "answer@harbour.example")
    for id in (mail.message_id, "answer@harbour.example"):
        assert thread_of(ada, "unknown@example.org", id) == mail.thread
    assert thread_of(ada) == mail.thread
    assert thread_of(ada, subject_key="") is None
    Mail.objects.update(received=LONG_AGO)
    assert thread_of(ada) is None


def test_the_closest_known_id_chooses_the_thread_and_an_unknown_one_begins_one(ada: int) -> None:
    old, new = take(ada, message_id="1@x"), take(ada, message_id="2@x")
    assert old.thread != new.thread
    assert thread_of(ada, "3@x", "2@x", "1@x") == new.thread
    assert thread_of(ada, "3@x") is None


def test_nobody_else_finds_a_private_thread(ada: int, bob: int) -> None:
    """Not another account, not the account of a room, and not who writes into the mailbox's own."""
    mail = take(ada)
    answer(mail, "answer@harbour.example")
    room = User.objects.create_user("room").pk
    mailbox = mailbox_account.here(address="agent@harbour.example")
    for other, external in ((bob, False), (room, False), (mailbox, True), (ada, True)):
        for ids in ([mail.message_id, "answer@harbour.example"], []):
            assert thread_of(other, *ids, external=external) is None
    assert take(bob, thread=mail.thread).thread != mail.thread


def test_external_senders_share_an_account_but_no_thread() -> None:
    mailbox = mailbox_account.here(address="agent@harbour.example")
    assert mailbox_account.here(address="agent@harbour.example") == mailbox
    mail = take(mailbox, external=True)
    assert thread_of(mailbox, mail.message_id, external=True) == mail.thread
    eve = "eve@evil.example"
    assert thread_of(mailbox, mail.message_id, external=True, sender=eve) is None


def test_nobody_signs_in_as_the_mailbox_or_signs_up_under_its_name() -> None:
    user = User.objects.get(pk=mailbox_account.here(address="agent@harbour.example"))
    for password in ("", "!", user.password):
        assert authenticate(username=user.username, password=password) is None
    User.objects.filter(pk=user.pk).delete()
    form: UserCreationForm[User] = UserCreationForm(
        {"username": user.username, "password1": "harbour-1815", "password2": "harbour-1815"}
    )
    assert "username" in form.errors


def test_a_deleted_conversation_is_no_thread_and_its_mails_wait_no_more(ada: int) -> None:
    mail = take(ada)
    delete_conversation.here(owner=Owner(user=ada), conversation=mail.thread)
    assert thread_of(ada, mail.message_id) is thread_of(ada) is None
    assert unfinished_mails.here() == [] and unfinished_mail.here(mail=mail.id) is None


def test_a_disabled_account_gets_no_answers(ada: int) -> None:
    mail = take(ada)
    User.objects.filter(pk=ada).update(is_active=False)
    assert unfinished_mails.here() == [] and unfinished_mail.here(mail=mail.id) is None


# ---- what goes -------------------------------------------------------------------------------
def begun(user: int, mail: Mail) -> None:
    """The message of the mail, answered."""
    asked = replace(user_message("How long is it?"), id=str(mail.id), source="email")
    new = NewTurn(
        owner=Owner(user=user),
        conversation=mail.thread,
        agent="demo",
        client_id=str(mail.id),
        answer=new_id(),
        reach=Everything(),
    )
    end(begin_turn.here(new, user=asked, greeting=()))
    answer(mail, "answer@harbour.example")


def purge() -> None:
    later = timezone.now() + timedelta(hours=3)
    maintenance.purge_conversations.here(now=later)
    deletions.purge_messages.here(now=later)
    Mail.objects.update(ended=timezone.now() - timedelta(hours=2))
    purge_mails.here()


def test_a_mails_text_goes_with_its_message(ada: int) -> None:
    mail = take(ada)
    begun(ada, mail)
    purge()
    assert Mail.objects.get().text == "How long is it?\n> quoted"
    delete_message.here(owner=Owner(user=ada), message=str(mail.id))
    purge()
    assert Mail.objects.get().text == ""


def test_a_mail_goes_with_its_conversation(ada: int) -> None:
    mail = take(ada)
    delete_conversation.here(owner=Owner(user=ada), conversation=mail.thread)
    purge()
    assert not Mail.objects.exists() and not Conversation.objects.exists()


def test_mails_and_addresses_go_with_their_account(ada: int, bob: int) -> None:
    begun(ada, take(ada))
    kept = take(bob)
    add_address.here(user=ada, address="ada@example.org")
    while release_piece.here(user=ada):
        pass
    remove_account.here(user=ada)
    assert list(Mail.objects.values_list("id", flat=True)) == [Mail.objects.get(id=kept.id).id]
    assert not MailAddress.objects.exists()


def test_of_one_stranger_so_many_mails_are_held_and_of_all_so_much_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    eve = "eve@evil.example"
    for _ in range(mails.MOST_HELD_OF_SENDER):
        assert hold_mail.here(coming(sender=eve, text="x" * 1_000), note="") == ""
    why = hold_mail.here(coming(sender=eve), note="")
    assert why == "many mails of its sender are held already"
    assert hold_mail.here(coming(text="x" * 1_000), note="") == ""
    monkeypatch.setattr(mails, "MOST_HELD_CHARACTERS", 22_000)
    assert hold_mail.here(coming(text="x" * 1_001), note="") == "the room for held mails is full"
    assert Mail.objects.filter(state="held").count() == mails.MOST_HELD_OF_SENDER + 1
    # What no administrator released in a week goes, and there is room again.
    Mail.objects.update(received=timezone.now() - mail_upkeep.HELD_KEPT - timedelta(seconds=1))
    purge_mails.here()
    assert not Mail.objects.exclude(text="").exists()
    assert hold_mail.here(coming(sender=eve, text="x" * 1_001), note="") == ""


def test_old_records_and_the_bytes_of_finished_mails_are_removed(
    ada: int, settings: Any, tmp_path: Path
) -> None:
    settings.VAR_DIR = tmp_path
    record_mail.here(coming(), state="refused")
    Mail.objects.update(received=LONG_AGO)
    waiting = take(ada, coming(files=None))
    folder = mail_folder()
    for id in (str(waiting.id), new_id()):
        path = folder.coming()
        with opened(path) as file:
            file.write(b"mail")
        folder.keep(path, id)
        os.utime(folder.path(id), (0, 0))
    purge()
    assert [str(row.id) for row in Mail.objects.all()] == [str(waiting.id)]
    assert list(folder.ids(older_than=0)) == [str(waiting.id)]


# ---- addresses -------------------------------------------------------------------------------
def test_only_a_verified_address_of_an_active_account_says_who_writes(ada: int, bob: int) -> None:
    for user in (ada, bob):
        add_address.here(user=user, address="shared@example.org")
    assert address_owner.here(address="shared@example.org") is None
    verify_address.here(user=ada, address="shared@example.org")
    verify_address.here(user=ada, address="shared@example.org")
    assert address_owner.here(address="shared@example.org") == ada
    with pytest.raises(Refused, match="belongs to another account"):
        verify_address.here(user=bob, address="shared@example.org")
    User.objects.filter(pk=ada).update(is_active=False)
    assert address_owner.here(address="shared@example.org") is None


def test_an_account_has_a_few_addresses_each_once(ada: int) -> None:
    for number in range(10):
        for _ in range(2):
            add_address.here(user=ada, address=f"{number}@example.org")
    assert len(addresses_of.here(user=ada)) == 10
    with pytest.raises(Refused, match="may have 10 addresses"):
        add_address.here(user=ada, address="more@example.org")


# ---- what is counted -------------------------------------------------------------------------
def test_answers_of_an_hour_and_notices_are_counted(ada: int) -> None:
    mail = take(ada)
    answer(mail, "a@x")
    assert answers_of_hour.here(mail) == 1
    Mail.objects.update(ended=timezone.now() - timedelta(minutes=61))
    assert answers_of_hour.here(mail) == 0
    notice = coming(sender="eve@x.org")
    assert take_notice.here(notice, outgoing=b"n", answer_id="n@x")
    assert notice.outgoing == b"n" and notice.text == ""
    assert notices_to.here(sender="eve@x.org", within=timedelta(days=1)) == 1
    assert notices_to.here(sender="ada@example.org", within=timedelta(days=1)) == 0


def test_a_reply_is_to_a_message_of_the_path_that_is_not_the_newest(ada: int) -> None:
    mail = take(ada)
    begun(ada, mail)
    owner = Owner(user=ada)
    named = Mail(conversation=mail.conversation, ids=[mail.message_id])
    assert replied_message.here(named) == str(mail.id)
    unknown = Mail(conversation=mail.conversation, ids=["unknown@x"])
    assert replied_message.here(unknown) is None
    clear_conversation.here(owner=owner, conversation=mail.thread)
    assert replied_message.here(named) is None
