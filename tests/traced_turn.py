"""Counts what one turn does: files, functions, calls and changes of file in `chatsite/`.

`python -m tests.traced_turn` prints the counts of the third turn of a conversation, answered by
echo, from the page's command to the event that ends the turn, in all threads. A change of file is a
call in another file than the call before: how often a reader of the turn turns a page.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from types import FrameType
from uuid import uuid4

ROOT = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "chatsite", "")


class Tracer:
    """The calls of all threads that are started after `watch_threads`, while it counts."""

    def __init__(self) -> None:
        self.counts = False
        self.calls: list[tuple[str, str]] = []

    def watch_threads(self) -> None:
        threading.setprofile(self._called)
        sys.setprofile(self._called)

    def _called(self, frame: FrameType, event: str, arg: object) -> None:
        if self.counts and event == "call" and frame.f_code.co_filename.startswith(ROOT):
            code = frame.f_code
            self.calls.append((code.co_filename.removeprefix(ROOT), code.co_qualname))

    def result(self) -> dict[str, int]:
        files = [file for file, _ in self.calls]
        return {
            "files": len(set(files)),
            "functions": len(set(self.calls)),
            "calls": len(self.calls),
            "changes": sum(one != other for one, other in zip(files, files[1:], strict=False)),
        }


async def traced_turn() -> dict[str, int]:
    # Django has to be set up before the application is imported.
    from chatsite.conversations.owners import Owner
    from chatsite.events import TurnEnded
    from chatsite.live.commands import Send, parse
    from chatsite.wiring.site import Site

    tracer = Tracer()
    tracer.watch_threads()
    site = Site()
    site.agents.all(staff=False)
    owner, conversation = Owner(guest="g" * 20), str(uuid4())

    async def turn(number: int) -> None:
        frame = {
            "type": "send",
            "ref": "r",
            "query": "",
            "conversation": conversation,
            "agent": "demo",
            "client_id": str(uuid4()),
            "model": "",
            "attachments": [],
            "text": f"Hello number {number}, how are you today? " * 3,
        }
        command = parse(json.dumps(frame))
        assert isinstance(command, Send)
        request = site.page_request(
            owner=owner,
            staff=False,
            conversation=conversation,
            agent=command.agent,
            query=command.query,
            model=command.model,
        )
        await site.turns.send(request, client_id=str(command.client_id), text=command.text)
        while True:
            event = await reader.read()
            event.to_dict()
            if isinstance(event, TurnEnded):
                assert event.state == "complete"
                return

    opened = site.page_request(
        owner=owner, staff=False, conversation=conversation, agent="demo", query=""
    )
    _, reader = await site.turns.snapshots.open(opened)
    await turn(1)
    await turn(2)
    tracer.counts = True
    await turn(3)
    tracer.counts = False
    reader.close()
    return tracer.result()


def main() -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)
    print(json.dumps(asyncio.run(traced_turn())), flush=True)
    os._exit(0)  # the site's threads aren't waited for


if __name__ == "__main__":
    main()
