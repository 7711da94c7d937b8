"""What a strategy gets to see of a turn."""

from __future__ import annotations

from chatsite.agents.strategy.wire import Given
from chatsite.agents.template import Template
from chatsite.history import Head, Transcript, Window
from chatsite.history.path.room import Room
from chatsite.history.values.selectable import offered
from chatsite.history.values.transcript import turns


def given_of(
    transcript: Transcript,
    template: Template,
    *,
    head: Head,
    window: Window,
    budget: int | None,
) -> Given:
    """All that was said before the current message and may be sent, and the room there is for it.

    `budget` is that of the settings. Every message must carry its tokens (else ValueError).
    """
    said = [entry for entry in transcript.entries if entry.message.role != "system"]
    current = [entry.message for entry in turns(said)[-1].entries]
    replied = current[0].reply_to
    before = offered(transcript, reply_to=frozenset({replied} if replied else ()))
    room = Room.of(
        window,
        budget=budget,
        head=head,
        system=[entry.message for entry in before if entry.message.role == "system"],
        current=current,
    )
    return Given(
        history=tuple((entry.seq, entry.message) for entry in before),
        input=current[0].content or "",
        budget=max(0, room.limit - room.fixed),
        limit=room.limit,
        slug=template.slug,
        name=template.name,
        personality=template.personality,
    )
