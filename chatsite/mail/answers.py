"""What becomes of a stored mail: its files, its answer, its end."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Sequence
from datetime import timedelta

from django.db.models import Max, Q
from django.utils import timezone

from chatsite.conversations.database.locks import hold
from chatsite.conversations.files.uploads import upload_store
from chatsite.conversations.models import Message, Upload
from chatsite.conversations.path.added_messages import add_message
from chatsite.errors import Refused
from chatsite.mail.models import Mail, MailState
from chatsite.storage import reading, writing

# Its answer was sent, or is on its way.
ANSWERED = ("sending", "answered", "undeliverable")
# Of a thread's messages: older ones are hardly quoted.
MOST_TEXTS = 200
# Files of the same size, to be compared byte by byte.
MOST_SAME = 10


@reading
def answers_of_hour(mail: Mail) -> int:
    """Counts the answers that the mail's thread got within the last hour."""
    since = timezone.now() - timedelta(hours=1)
    answered = Mail.objects.filter(conversation=mail.conversation_id, state="answered")
    return answered.filter(ended__gte=since).count()


@reading
def notices_to(*, sender: str, within: timedelta) -> int:
    """Counts the answers that somebody got without a conversation."""
    since = timezone.now() - within
    sent = Mail.objects.filter(sender=sender, conversation=None, state__in=ANSWERED)
    return sent.filter(received__gte=since).count()


@reading
def thread_texts(mail: Mail) -> list[str]:
    """Gives the other texts of the mail's conversation, the newest first: its messages, and its
    mails as they came, with what was said about their files."""
    messages = Message.objects.filter(conversation=mail.conversation_id).exclude(id=mail.id)
    texts = list(messages.order_by("-seq").values_list("content", flat=True)[:MOST_TEXTS])
    mails = Mail.objects.filter(conversation=mail.conversation_id).exclude(id=mail.id)
    newest = mails.order_by("-received").values_list("text", "refused")[:MOST_TEXTS]
    for text, refused in newest:
        texts += [text, *refused]
    return [text for text in texts if text]


@reading
def thread_has_file(mail: Mail, data: bytes) -> bool:
    """Tells whether these very bytes came with an earlier message of the mail's conversation."""
    same = Upload.objects.filter(conversation=mail.conversation_id, size=len(data))
    for id in same.values_list("id", flat=True)[:MOST_SAME]:
        with (
            contextlib.suppress(FileNotFoundError, Refused),
            upload_store().opened(str(id)) as file,
        ):
            if file.read() == data:
                return True
    return False


@reading
def replied_message(mail: Mail) -> str | None:
    """Finds the message of the path that the mail answers; None stands for the newest one, to which
    every message replies, and for none."""
    ids, here = mail.ids, mail.conversation_id
    known = Mail.objects.filter(Q(message_id__in=ids) | Q(answer_id__in=ids), conversation=here)
    by_id: dict[str, uuid.UUID | None] = {}
    for row in known.only("id", "message_id", "answer_id", "answer"):
        by_id |= {row.message_id: row.id, row.answer_id: row.answer}
    named = next((by_id[id] for id in ids if id in by_id), None)
    path = Message.objects.filter(conversation=here, on_path=True)
    found = path.filter(id=named).exclude(state="running").first() if named else None
    newest = path.aggregate(seq=Max("seq"))["seq"]
    return str(found.id) if found is not None and found.seq != newest else None


@writing
def keep_mail_files(*, mail: uuid.UUID, files: Sequence[str], refused: Sequence[str]) -> None:
    Mail.objects.filter(id=mail).update(files=list(files), refused=list(refused))


@writing
def leave_unanswered(mail: Mail, *, text: str, speaker: str) -> None:
    """Puts a mail into the conversation without an answer. Raises TurnRunning, NotFound."""
    hold(conversation=mail.thread)
    if not Message.objects.filter(id=mail.id).exists():
        add_message.here(
            conversation=mail.thread, source="email", text=text, speaker=speaker, id=str(mail.id)
        )
    Mail.objects.filter(id=mail.id).update(state="over", ended=timezone.now())


@writing
def begin_sending(*, mail: uuid.UUID, outgoing: bytes, answer_id: str, answer: str) -> bytes:
    """Stores the answer before it is sent. Gives the bytes to send: those of the first call."""
    hold(shared="mail")
    row = Mail.objects.get(id=mail)
    if row.outgoing is None:
        row.state, row.outgoing, row.answer_id = "sending", outgoing, answer_id
        row.answer = uuid.UUID(answer) if answer else None
        row.save(update_fields=["state", "outgoing", "answer_id", "answer"])
    return bytes(row.outgoing)


@writing
def finish_mail(*, mail: uuid.UUID, state: MailState) -> None:
    Mail.objects.filter(id=mail).update(state=state, outgoing=None, ended=timezone.now())
