"""Defines the tables. Rows are read and written by the functions of this part alone."""

from __future__ import annotations

import uuid
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q

# For `on_path=True` Django writes a bare column, for which SQLite uses no index: 0.1 s, not 1 ms.
ON_PATH = Q(on_path__in=(True,))
# A user message in one of these states isn't sent again with later ones.
UNANSWERED = ("failed", "interrupted")
STATES = [(state, state) for state in ("running", "complete", "stopped", "failed", "interrupted")]

# What is loaded whatever the reach of a policy; `is_marked` says it of one message.
MARKED = Q(pinned=True) | Q(excluded=True) | Q(in_force__gt="")


class Conversation(models.Model):
    """Stores a tree of messages, with the totals of its active path, which no query ever counts.

    `path_tokens` is the sum of the stored counts, whichever tokenizer made them. `marked` counts
    pinned and excluded messages on the path; at 0 no query looks for them. `path_background`
    counts user messages of background tasks, which `path_users` includes; `last_background` is the
    seq of the newest background message, 0 for none. `model` is the page's choice as
    `provider:name`, blank for the agent's own; `history` that of the policy and its settings, by
    the names of a link's parameters. While it is being restored from a file it is `importing`, and
    `deleted` too, so that nothing finds it. `characters` are those of all its messages, on the path
    or not: they count for its owner's quota. `text_changes` counts what changes a stored text, so
    that no search index is saved that was made before. `words_row` is the title's number in the
    index of words (`search.word_index`), None as long as it isn't there. What is before the seq
    `cleared` was cleared away, and is a version of nothing. `hidden` counts the deleted messages
    that can still be restored. While a long branch is put on the path in pieces, `leads_to` is the
    seq of its last message; otherwise it is 0.

    `pinned` and `archived` say since when it is that in the sidebar, `folder` names the folder
    where its owner put it. `titled` says who wrote the title: a "model" or a "person"; None: it is
    the first words. `temporary`: it is erased when its page is closed. `tuning` holds the
    temperature and the reply's length that were chosen for it. None everywhere: not so.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE
    )
    guest = models.CharField(max_length=64, blank=True, default="", db_index=True)
    agent = models.CharField(max_length=64)
    model = models.CharField(max_length=200, blank=True, default="")
    history = models.JSONField(blank=True, default=dict)
    title = models.CharField(max_length=200)
    created = models.DateTimeField()
    updated = models.DateTimeField()
    deleted = models.DateTimeField(null=True, blank=True)
    importing = models.BooleanField(default=False)
    next_seq = models.PositiveIntegerField(default=1)
    path_messages = models.PositiveIntegerField(default=0)
    path_users = models.PositiveIntegerField(default=0)
    path_background = models.PositiveIntegerField(default=0)
    last_background = models.PositiveIntegerField(default=0)
    path_tokens = models.PositiveBigIntegerField(default=0)
    characters = models.PositiveBigIntegerField(default=0)
    marked = models.PositiveIntegerField(default=0)
    forget_above = models.PositiveIntegerField(default=0)
    summary_on = models.BooleanField(default=True)
    compacted = models.BooleanField(null=True, blank=True)
    text_changes = models.PositiveIntegerField(default=0)
    cleared = models.PositiveIntegerField(default=0)
    hidden = models.PositiveIntegerField(default=0)
    leads_to = models.PositiveIntegerField(default=0)
    turns = models.PositiveIntegerField(default=0)
    last_turn = models.ForeignKey(
        "Turn", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    words_row = models.BigIntegerField(null=True, blank=True, serialize=False)
    pinned = models.DateTimeField(null=True, blank=True)
    archived = models.DateTimeField(null=True, blank=True)
    folder = models.CharField(max_length=60, null=True, blank=True)
    titled = models.CharField(max_length=8, null=True, blank=True)
    temporary = models.BooleanField(null=True, blank=True)
    tuning = models.JSONField(null=True, blank=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["user", "guest"],
                name="conversation_pinned",
                condition=Q(pinned__isnull=False),
            ),
            models.Index(
                fields=["updated"], name="conversation_temporary", condition=Q(temporary=True)
            ),
            models.Index(fields=["user", "-updated"]),
            models.Index(fields=["guest", "-updated"]),
            models.Index(
                fields=["created"], name="conversation_unsearched", condition=Q(words_row=None)
            ),
            models.Index(
                fields=["leads_to"], name="conversation_unfinished", condition=Q(leads_to__gt=0)
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["words_row"],
                name="conversation_words",
                condition=Q(words_row__isnull=False),
            ),
            models.CheckConstraint(
                name="conversation_has_one_owner",
                condition=Q(user__isnull=False, guest="") | Q(user__isnull=True) & ~Q(guest=""),
            ),
        ]

    def __str__(self) -> str:
        """Leave the title out: a person wrote it, and the admin's pages show this text."""
        return f"{self.agent} {self.id}"


class OwnerTotal(models.Model):
    """Stores how many `characters` the conversations of one `owner` have, by `Owner.key`; written
    by triggers alone (`database.owner_totals`)."""

    owner = models.CharField(max_length=80, primary_key=True)
    characters = models.BigIntegerField()

    def __str__(self) -> str:
        """Leave the owner out: a guest's key is all that it takes to be them."""
        return f"{self.characters} characters"


class Clock(models.Model):
    """Stores, in one row, when a server last looked at its clock."""

    seen = models.DateTimeField()

    def __str__(self) -> str:
        return f"clock seen {self.seen:%Y-%m-%d %H:%M}"


class Turn(models.Model):
    """Stores how one user message was answered. `receipt` is the decision with what the provider
    reported, in its stored form, without what the row knows; `whole_receipt` has that, too. `cost`
    is what it says in US dollars, for sums.

    `mode`: "" has a message of its own, "edit" one that took the place of another, "again" answers
    the message `asked` again, "continue" extends its last answer. `replaced` is the message that
    the path led to before (once: the former answer's first one), and `marker` where the marker
    "forget what is above" stood below `asked`, 0 for nowhere there. Both return where another try
    leaves nothing. `server` writes the answer; `stop` is how another server wants it to end.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    # Here and for messages the constraint's index begins with the conversation.
    conversation = models.ForeignKey(
        Conversation, on_delete=models.CASCADE, related_name="all_turns", db_index=False
    )
    client_id = models.CharField(max_length=64)
    number = models.PositiveIntegerField()
    mode = models.CharField(max_length=8, blank=True, default="")
    asked = models.ForeignKey(
        "Message", null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    replaced = models.UUIDField(null=True, blank=True)
    marker = models.PositiveIntegerField(default=0)
    state = models.CharField(max_length=12, choices=STATES, default="running", db_index=True)
    # Nullable, so that no table of receipts is written anew, and servers of before can insert.
    server = models.UUIDField(null=True, blank=True)
    stop = models.CharField(max_length=12, null=True, blank=True)
    problem_code = models.CharField(max_length=40, blank=True, default="")
    problem = models.TextField(blank=True, default="")
    receipt = models.JSONField(null=True, blank=True)
    cost = models.FloatField(null=True, blank=True)
    started = models.DateTimeField()
    ended = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["conversation", "ended", "cost"],
                name="turn_cost",
                condition=Q(cost__isnull=False),
            )
        ]
        constraints = [
            models.UniqueConstraint(fields=["conversation", "client_id"], name="turn_once"),
            models.UniqueConstraint(
                fields=["conversation"],
                condition=Q(state="running"),
                name="one_running_turn_a_conversation",
            ),
        ]

    def __str__(self) -> str:
        return f"turn {self.number} ({self.state})"

    @property
    def whole_receipt(self) -> dict[str, Any] | None:
        """Return the receipt with what the row knows; None where there is none."""
        if not self.receipt:
            return None
        stored: dict[str, Any] = self.receipt
        return stored | {"turn": str(self.id), "number": self.number}


class Server(models.Model):
    """Stores a server that uses this database and lives: `seen` moves on as long as it does. Others
    tell it notes at `address`, a host and a port."""

    id = models.UUIDField(primary_key=True)
    name = models.CharField(max_length=200)
    address = models.CharField(max_length=200, default="")
    started = models.DateTimeField()
    seen = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


class Import(models.Model):
    """Stores an import, of an owner the newest: the server that makes it, its conversation once
    the file is checked, and what the page is told besides."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE)
    guest = models.CharField(max_length=64, default="")
    server = models.UUIDField()
    conversation = models.UUIDField(null=True)
    told = models.JSONField(default=dict)
    began = models.DateTimeField()
    ended = models.DateTimeField(null=True)


class Message(models.Model):
    """Stores one message of the tree. Children have larger `seq`; the active path is `on_path` by
    `seq`.

    `turn_seq` is the seq of the user message whose turn this belongs to (0 before the first), so
    that a marked message is loaded with its whole turn. `quoted`, on an answer, holds the seqs of
    the older messages that were quoted before its question: references, never their text. `state`
    of a user message is "complete", or that of its turn where nothing of an answer was stored.
    `words_row` is the content's number in the index of words (`search.word_index`), None as long
    as it isn't there.

    Messages below the same one are versions of one place: answers that were tried again, questions
    that were changed. `edited` is when a person last changed the text. A message that is `deleted`
    keeps its place in the tree, off the path, until it is removed for good; `forgot_above` says of
    a message off the path that the marker "forget what is above" stood at it. `bookmarked` is for a
    person alone, and changes nothing that is sent. With `kept_whole` its result, or the texts of
    its files, never give way. `in_force` are the sentences that are sent with every request, ""
    where the person doesn't want to be asked, None where nobody was. `anchors` are exact values of
    a result, which stand in its line once it gave way: found when it is stored, so that a request
    is built again with the same ones.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    conversation = models.ForeignKey(
        Conversation, on_delete=models.CASCADE, related_name="tree", db_index=False
    )
    parent = models.ForeignKey("self", null=True, blank=True, on_delete=models.CASCADE)
    turn = models.ForeignKey(
        Turn, null=True, blank=True, on_delete=models.SET_NULL, related_name="messages"
    )
    seq = models.PositiveIntegerField()
    turn_seq = models.PositiveIntegerField(default=0)
    on_path = models.BooleanField(default=True)
    role = models.CharField(max_length=9)
    content = models.TextField(null=True, blank=True)
    reasoning = models.TextField(null=True, blank=True)
    attachments = models.JSONField(default=list, blank=True)
    calls = models.JSONField(default=list, blank=True)
    call_id = models.CharField(max_length=200, null=True, blank=True)
    metadata = models.TextField(blank=True, default="")
    source = models.CharField(max_length=9, default="web")
    speaker = models.CharField(max_length=200, blank=True, default="")
    reply_to = models.UUIDField(null=True, blank=True)
    pinned = models.BooleanField(default=False)
    excluded = models.BooleanField(default=False)
    # Nullable, so that the table isn't written anew, and servers of before can insert.
    kept_whole = models.BooleanField(null=True, blank=True)
    in_force = models.TextField(null=True, blank=True)
    anchors = models.TextField(null=True, blank=True)
    bookmarked = models.BooleanField(default=False)
    state = models.CharField(max_length=12, choices=STATES, default="complete")
    finish_reason = models.CharField(max_length=20, blank=True, default="")
    created = models.DateTimeField()
    tokens = models.PositiveIntegerField(default=0)
    tokenizer = models.CharField(max_length=80, blank=True, default="")
    basis = models.CharField(max_length=9, blank=True, default="")
    kv_size = models.IntegerField(default=-1)
    kv_start_position = models.IntegerField(default=-1)
    kv_status = models.SmallIntegerField(default=1)
    quoted = models.JSONField(default=list, blank=True)
    edited = models.DateTimeField(null=True, blank=True)
    deleted = models.DateTimeField(null=True, blank=True)
    forgot_above = models.BooleanField(null=True, blank=True)
    words_row = models.BigIntegerField(null=True, blank=True, serialize=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["conversation", "seq"], name="message_in_its_place"),
            models.UniqueConstraint(
                fields=["words_row"], name="message_words", condition=Q(words_row__isnull=False)
            ),
        ]
        indexes = [
            models.Index(fields=["conversation", "on_path", "seq"], name="message_path"),
            models.Index(fields=["conversation", "on_path", "turn_seq"], name="message_turn"),
            models.Index(
                fields=["conversation", "on_path", "turn_seq"],
                name="message_marked",
                condition=MARKED,
            ),
            models.Index(
                fields=["conversation"], name="message_bookmarked", condition=Q(bookmarked=True)
            ),
            models.Index(
                fields=["conversation"], name="message_root", condition=Q(parent__isnull=True)
            ),
            models.Index(
                fields=["conversation", "deleted"],
                name="message_deleted",
                condition=Q(deleted__isnull=False),
            ),
            # Each holds few rows, however long the conversation is.
            models.Index(
                fields=["conversation"],
                name="message_in_cache",
                condition=Q(kv_start_position__gte=0) | Q(kv_status=0),
            ),
            models.Index(
                fields=["conversation"], name="message_cleaned_up", condition=Q(kv_status__lt=1)
            ),
            models.Index(
                fields=["created", "seq"], name="message_unsearched", condition=Q(words_row=None)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.seq} {self.role}"

    @property
    def is_marked(self) -> bool:
        return bool(self.pinned or self.excluded or self.in_force)


class Summary(models.Model):
    """Stores one version of the running summary of a path, up to and including the message `last`.

    It holds while `last` is on the path (its place in the tree determines all messages above) and
    no covered message was changed: a change marks it `stale` in the same transaction. `made_from`
    is the version that it was folded or edited from. `by` is a model's name, or "you".

    `compaction` is the number of the version that a person applied, which this one is or was made
    from; None for a summary that comes about by itself. While it is `undone` it doesn't hold.
    `kept` are the turns that it doesn't stand for, by the seqs of their first messages.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    conversation = models.ForeignKey(
        Conversation, on_delete=models.CASCADE, related_name="summaries"
    )
    version = models.PositiveIntegerField()
    first_seq = models.PositiveIntegerField()
    last = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="+")
    last_seq = models.PositiveIntegerField()
    messages = models.PositiveIntegerField()
    text = models.TextField()
    by = models.CharField(max_length=80)
    made_from = models.ForeignKey("self", null=True, blank=True, on_delete=models.SET_NULL)
    stale = models.BooleanField(default=False)
    tokens = models.PositiveIntegerField()
    tokenizer = models.CharField(max_length=80)
    basis = models.CharField(max_length=9)
    report = models.JSONField(default=dict, blank=True)
    compaction = models.PositiveIntegerField(null=True, blank=True)
    undone = models.BooleanField(null=True, blank=True)
    kept = models.JSONField(null=True, blank=True)
    created = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["conversation", "version"], name="summary_version")
        ]


class SearchIndexPart(models.Model):
    """Stores some words of a conversation for the selector `lexical`, as `lexical.stored` makes
    them.

    Parts follow one another by `first`, the passages before them; the last one's `messages` are on
    the path up to its end. `tokens` is for sentence vectors, empty where the server has none. All
    are deleted when some of the text is changed or deleted.
    """

    conversation = models.ForeignKey(
        Conversation, on_delete=models.CASCADE, related_name="search_index"
    )
    first = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    messages = models.PositiveIntegerField()
    data = models.BinaryField()
    tokens = models.BinaryField(default=bytes)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["conversation", "first"], name="index_part_once")
        ]


class Upload(models.Model):
    """Describes an uploaded file. Its bytes are in `FILES_DIR` under its id, never under its name.

    It belongs to its uploader; `conversation` is set when it is sent with a message. `text` is the
    text that was extracted from it.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE
    )
    guest = models.CharField(max_length=64, blank=True, default="", db_index=True)
    conversation = models.ForeignKey(
        Conversation, null=True, blank=True, on_delete=models.CASCADE, related_name="uploads"
    )
    name = models.CharField(max_length=255)
    size = models.PositiveBigIntegerField()
    modality = models.CharField(max_length=8)
    mime_type = models.CharField(max_length=100)
    width = models.PositiveIntegerField(default=0)
    height = models.PositiveIntegerField(default=0)
    text = models.TextField(blank=True, default="")
    created = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="upload_has_one_owner",
                condition=Q(user__isnull=False, guest="") | Q(user__isnull=True) & ~Q(guest=""),
            )
        ]


class FileReference(models.Model):
    """Stores the id of an uploaded file at the provider account `at`."""

    upload = models.ForeignKey(Upload, on_delete=models.CASCADE, related_name="references")
    at = models.CharField(max_length=120)
    reference = models.CharField(max_length=200)
    created = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["upload", "at"], name="one_reference_an_account")
        ]
