"""The server killed while it put a long branch on the path: the next start shows it whole."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.person import Person
from tests.running import Server
from tests.story.test_branches import edit, id_of, shown, talk

# As the server would, up to the end of the first piece, which is kept short.
DIE_AFTER_ONE_PIECE = """
import os, signal, sys
from chatsite.storage import next_piece
from chatsite.conversations.models import Message
from chatsite.conversations.versions import versions
from chatsite.conversations.owners import Owner
versions.PIECE = 2
row = Message.objects.get(id={message!r}).conversation
owner = Owner(user=row.user_id, guest=row.guest)
assert next_piece(versions.show_version.pieces(owner=owner, message={message!r})) == (False, None)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(tmp_path) as server:
        yield server
        server.kill()


@pytest.mark.thorough
async def test_after_a_kill_between_two_pieces_the_whole_branch_is_shown(server: Server) -> None:
    async with Person(server.url) as ada:
        page = await talk(ada, "One.", "Two.", "Three.")
        before, first = await shown(page), await id_of(page, "One.")
        await edit(page, first, "Or rather?")
        server.kill()
        killed = await asyncio.create_subprocess_exec(
            *(
                sys.executable,
                "manage.py",
                "shell",
                "-c",
                DIE_AFTER_ONE_PIECE.format(message=first),
            ),
            cwd=server.root,
            env=server.environment,
        )
        assert await killed.wait() == -signal.SIGKILL
        server.start()
        page = await ada.page(page.conversation)
        assert [one["content"] for one in await shown(page)] == [one["content"] for one in before]
        await page.say("Go on.")
        assert len(await shown(page)) == len(before) + 2
