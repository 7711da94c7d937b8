"""A chat that shows memory at work: made for a person who asks for it, and theirs like any other.

It is stored as an imported file is. Its last exchanges are sent, one further up is pinned, and the
question that comes with it needs both: its answer gets a receipt.
"""

from __future__ import annotations

import json
import tempfile

from django.http import HttpRequest, HttpResponse, JsonResponse

from chatsite.conversations.files.export_format import FORMAT, VERSION
from chatsite.conversations.path.queries import list_conversations
from chatsite.errors import NotFound
from chatsite.history.policies.cuts import LAST_N
from chatsite.history.settings.choosers import Choice
from chatsite.history.settings.offers import LENGTH, POLICY
from chatsite.web.api.requests import json_fields, takes
from chatsite.web.people import request_owner, site_of
from chatsite.wording import later, say

TITLE = later("Sample: what the model remembers")
QUESTION = later("What is my boat called, and in which month do I paint her?")
PINNED = (
    later("My boat is called Heron. Her berth is number 14."),
    later("Noted: your boat is called Heron, and her berth is number 14."),
)
TALK = (
    (
        later("What do I need to paint her hull?"),
        later("Sandpaper, a primer, two coats of antifouling paint, and three dry days."),
    ),
    (
        later("Who lifts her out of the water?"),
        later("The yard at the north quay. Ask for a place four weeks ahead."),
    ),
    (
        later("I want to paint her in April."),
        later("April is a good month: it is dry, and the yard isn't full yet."),
    ),
)
# The new question counts, too: one exchange is above it and below the line.
SENT: Choice = {POLICY: LAST_N.name, LENGTH: "3"}


@takes("POST")
async def sample(request: HttpRequest) -> HttpResponse:
    """Answers with the sample that this person still has, or with a new one for an `agent`, and
    with the `question` to ask in it. Raises NotFound for an unknown agent."""
    site, owner = site_of(request), await request_owner(request)
    slug = str(json_fields(request).get("agent"))
    if not site.own_agents.may_use(owner, slug):
        raise NotFound(say("There is no agent of that name here."))
    recent, _ = await list_conversations(owner=owner)
    found = next((one for one in recent if one.title == say(TITLE)), None)
    if found is None:
        with tempfile.TemporaryFile() as content:
            content.write(json.dumps(_file(site.catalogue.get(slug).slug)).encode())
            task = await site.imports.start(owner, content, lambda header: (header.history, ""))
            imported = await task
        assert imported is not None  # as for chats of our own
        found, _ = imported
    return JsonResponse({"conversation": found.to_dict(), "question": say(QUESTION)})


def _file(agent: str) -> dict[str, object]:
    asked, answered = PINNED
    messages = [{"role": "user", "content": say(asked), "pinned": True}]
    messages.append({"role": "assistant", "content": say(answered)})
    for asked, answered in TALK:
        messages.append({"role": "user", "content": say(asked)})
        messages.append({"role": "assistant", "content": say(answered)})
    facts = {"format": FORMAT, "version": VERSION, "agent": agent, "title": say(TITLE)}
    return facts | {"history": dict(SENT), "messages": messages}
