"""Removes of mails what nobody needs any more."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db.models import Exists, OuterRef
from django.utils import timezone

from chatsite.conversations.models import Message
from chatsite.files.folder import Folder
from chatsite.mail.models import UNFINISHED, Mail
from chatsite.storage import tidying

# A mail that is delivered again after so long is taken again.
RECORDS_KEPT = timedelta(days=90)
# Of a stranger's mail that no administrator released.
HELD_KEPT = timedelta(days=7)
# Younger bytes may belong to a mail that is being stored.
LEFT_OVER_SECONDS = 3600.0


def mail_folder() -> Folder:
    """The bytes of mails, as long as their files weren't looked at."""
    return Folder(settings.VAR_DIR / "mail")


@tidying
def purge_mails() -> int:
    """Old records; the whole text of mails whose message was removed for good; bytes that no mail
    waits for. How many rows."""
    now = timezone.now()
    held = Mail.objects.filter(state="held", received__lt=now - HELD_KEPT)
    held.update(state="dropped", text="", subject="", ended=now)
    old = Mail.objects.filter(conversation=None, received__lt=now - RECORDS_KEPT)
    there = Exists(Message.objects.filter(id=OuterRef("id")))
    ended = Mail.objects.exclude(state__in=(*UNFINISHED, "held")).exclude(text="")
    ended = ended.filter(~there, ended__lt=now - timedelta(hours=1))
    count = old.delete()[0] + ended.update(text="")
    folder = mail_folder()
    folder.discard_unfinished(older_than=LEFT_OVER_SECONDS)
    waiting = Mail.objects.filter(state__in=(*UNFINISHED, "held"), files__isnull=True)
    needed = {str(id) for id in waiting.values_list("id", flat=True)}
    for id in folder.ids(older_than=LEFT_OVER_SECONDS):
        if id not in needed:
            folder.remove(id)
    return count
