"""The tables of the Talk rooms: each room, and the newest of its messages."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from chatsite.conversations.owners import Owner
from chatsite.talk.records import RoomFile

UNFINISHED = Q(state__in=("waiting", "asked")) | Q(changed=True)


class TalkRoom(models.Model):
    """A room of a Nextcloud. `account` owns its conversation, and nobody signs in with it.

    `last_known` is the newest message that was taken, None where the room was never read.
    `to_clear`: the room was cleared, and its conversation isn't yet. `names` are those of its
    people, as `talk.names` has them.
    """

    server = models.CharField(max_length=500)
    token = models.CharField(max_length=64)
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="talk_rooms"
    )
    conversation = models.UUIDField()
    last_known = models.PositiveBigIntegerField(null=True, blank=True)
    to_clear = models.BooleanField(default=False)
    names = models.JSONField(default=dict, blank=True)

    class Meta:
        db_table = "conversations_talkroom"
        constraints = [models.UniqueConstraint(fields=["server", "token"], name="talk_room_once")]

    def __str__(self) -> str:
        return f"{self.token} at {self.server}"

    @property
    def owner(self) -> Owner:
        return Owner(user=self.account_id)


class TalkMessage(models.Model):
    """A message of a room, as `talk.records.RoomMessage`; `number` is its id there.

    `state` is what is still to be done with it (`RoomState`). `stored` is the conversation's
    message that was made of it, or that it posted; `changed`: the room has it otherwise than the
    conversation. Finished ones are removed when there are many newer ones.
    """

    room = models.ForeignKey(
        TalkRoom, on_delete=models.CASCADE, related_name="messages", db_index=False
    )
    number = models.PositiveBigIntegerField()
    actor = models.CharField(max_length=200)
    name = models.CharField(max_length=200)
    kind = models.CharField(max_length=8)
    text = models.TextField(blank=True)
    sent = models.PositiveBigIntegerField(default=0)
    edited = models.PositiveBigIntegerField(default=0)
    reference = models.CharField(max_length=64, blank=True, default="")
    parent = models.PositiveBigIntegerField(default=0)
    parent_reference = models.CharField(max_length=64, blank=True, default="")
    files = models.JSONField(default=list, blank=True)
    addressed = models.BooleanField(default=False)
    state = models.CharField(max_length=8, default="finished")
    stored = models.UUIDField(null=True, blank=True)
    changed = models.BooleanField(default=False)

    class Meta:
        db_table = "conversations_talkmessage"
        constraints = [models.UniqueConstraint(fields=["room", "number"], name="talk_message_once")]
        indexes = [
            models.Index(
                fields=["room", "reference"],
                name="talk_reference",
                condition=~Q(reference=""),
            ),
            models.Index(fields=["room", "number"], name="talk_unfinished", condition=UNFINISHED),
        ]

    def __str__(self) -> str:
        """Without the text: a person wrote it, and the admin's pages show this."""
        return f"{self.kind} {self.number}"

    @property
    def shared_files(self) -> tuple[RoomFile, ...]:
        return tuple(RoomFile(**one) for one in self.files)
