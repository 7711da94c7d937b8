"""What becomes of a stored mail: its files, its answer, its end."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Sequence
from datetime import timedelta

from django.db.models import Max, Q
from django.utils import timezone

from chatsite.conversations.files.uploads import upload_folder
from chatsite.conversations.models import Message, Upload
from chatsite.conversations.path.added_messages import add_message
from chatsite.mail.models import Mail
from chatsite.mail.records import MailState
from chatsite.storage import reading, writing

# Its answer was sent, or is on its way.
ANSWERED = ("sending", "answered", "undeliverable")
# Of a thread's messages: older ones are hardly quoted.
MOST_TEXTS = 200
# Files of the same size, to be compared byte by byte.
MOST_SAME = 10


@reading
def answers_of_hour(*, conversation: str) -> int:
    """How many answers a thread got within the last hour."""
    since = timezone.now() - timedelta(hours=1)
    return Mail.objects.filter(
        conversation=uuid.UUID(conversation), state="answered", ended__gte=since
    ).count()


@reading
def notices_to(*, sender: str, within: timedelta) -> int:
    """How many answers somebody got without a conversation."""
    since = timezone.now() - within
    sent = Mail.objects.filter(sender=sender, conversation=None, state__in=ANSWERED)
    return sent.filter(received__gte=since).count()


@reading
def thread_texts(*, conversation: str, besides: str) -> list[str]:
    """What a conversation holds besides this mail, the newest first: what was said, and its mails
    as they came, with what was said about their files."""
    said = Message.objects.filter(conversation=uuid.UUID(conversation)).exclude(id=besides)
    texts = list(said.order_by("-seq").values_list("content", flat=True)[:MOST_TEXTS])
    mails = Mail.objects.filter(conversation=uuid.UUID(conversation)).exclude(id=besides)
    newest = mails.order_by("-received").values_list("text", "refused")[:MOST_TEXTS]
    for text, refused in newest:
        texts += [text, *refused]
    return [text for text in texts if text]


@reading
def thread_has_file(*, conversation: str, data: bytes) -> bool:
    """Whether these very bytes came with an earlier message."""
    same = Upload.objects.filter(conversation=uuid.UUID(conversation), size=len(data))
    for id in same.values_list("id", flat=True)[:MOST_SAME]:
        with contextlib.suppress(FileNotFoundError):
            if upload_folder().path(str(id)).read_bytes() == data:
                return True
    return False


@reading
def replied_message(*, conversation: str, ids: Sequence[str]) -> str | None:
    """The message of the path that these Message-IDs name; None for the newest one, to which every
    message replies, and where none is named."""
    here = uuid.UUID(conversation)
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
def keep_mail_files(*, mail: str, files: Sequence[str], refused: Sequence[str]) -> None:
    Mail.objects.filter(id=mail).update(files=list(files), refused=list(refused))


@writing
def leave_unanswered(*, mail: str, conversation: str, text: str, speaker: str) -> None:
    """Put a mail into the conversation without an answer. Raises TurnRunning, NotFound."""
    if not Message.objects.filter(id=mail).exists():
        add_message.here(
            conversation=conversation, source="email", text=text, speaker=speaker, id=mail
        )
    Mail.objects.filter(id=mail).update(state="over", ended=timezone.now())


@writing
def begin_sending(*, mail: str, outgoing: bytes, answer_id: str, answer: str) -> bytes:
    """Store the answer before it is sent. The bytes to send: those of the first call."""
    row = Mail.objects.select_for_update().get(id=mail)
    if row.outgoing is None:
        row.state, row.outgoing, row.answer_id = "sending", outgoing, answer_id
        row.answer = uuid.UUID(answer) if answer else None
        row.save(update_fields=["state", "outgoing", "answer_id", "answer"])
    return bytes(row.outgoing)


@writing
def finish_mail(*, mail: str, state: MailState) -> None:
    Mail.objects.filter(id=mail).update(state=state, outgoing=None, ended=timezone.now())
