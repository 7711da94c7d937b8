"""Imports the chats of another program: converted beside the server, and stored one by one."""

from __future__ import annotations

import asyncio
import json
import os
import re
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import IO, Any

from chatsite.child_process import run_child
from chatsite.conversations.database.columns import new_row
from chatsite.conversations.database.rows import message_columns
from chatsite.conversations.files.export import ELSEWHERE
from chatsite.conversations.files.export_format import not_imported
from chatsite.conversations.files.uploads import store_upload
from chatsite.conversations.imports.chats import add_chat_messages, at, begin_chat, show_chats
from chatsite.conversations.imports.conversion import MOST_SECONDS
from chatsite.conversations.imports.lines import ChatFacts, FileFacts, Line, Outcome, from_line
from chatsite.conversations.imports.reader import PIECE_CHARACTERS
from chatsite.conversations.lifecycle import remove_imports
from chatsite.conversations.models import Message as MessageRow
from chatsite.conversations.owners import Owner
from chatsite.conversations.ownership import owner_now
from chatsite.conversations.path.active_path import with_token_count
from chatsite.errors import ChatsiteError, Refused
from chatsite.files.folder import safe_name
from chatsite.files.intake import Intake
from chatsite.messages import Attachment, Message, ToolCall
from chatsite.storage import ROWS
from chatsite.wording import later, say

# A file of our own says so at its beginning.
_OWN = re.compile(rb'^[\xef\xbb\xbf\s]*\{.{0,200}"format"\s*:', re.DOTALL)
REFUSED = {
    "unknown": later(
        "This file isn't a Chatsite export, and holds no chats of ChatGPT, Claude, Open WebUI, "
        "LibreChat or SillyTavern."
    ),
    "own": later("These are chats of Chatsite: unpack the ZIP file, and import each by itself."),
    "broken": later("This file isn't a Chatsite export, nor whole JSON of another program."),
    "nested": later("This file isn't a Chatsite export, and nested too deeply to be read."),
    "large": later("The chats in this ZIP file are larger than 1 GB together."),
    "zip": later("This ZIP file is damaged, or protected by a password."),
    "memory": later("The file takes too much time or memory."),
}


def is_foreign(content: IO[bytes]) -> bool:
    """Whether a file on the disk isn't one of our own."""
    content.seek(0)
    head = content.read(1000)
    # Or a later seek would stay within Python's buffer: a child reads where the system's file is.
    content.seek(0, os.SEEK_END)
    return _OWN.match(head) is None


@asynccontextmanager
async def converted(content: IO[bytes]) -> AsyncIterator[tuple[Outcome, IO[bytes]]]:
    """Give what a file holds, and the lines of its chats. Raises BadRestore."""
    with tempfile.TemporaryFile() as lines:
        module = "chatsite.conversations.imports.conversion"
        await run_child(module, content, lines, seconds=MOST_SECONDS)
        outcome = await asyncio.to_thread(_outcome, lines)
        if outcome.refused:
            raise not_imported(say(REFUSED[outcome.refused]))
        lines.seek(0)
        yield outcome, lines


def _outcome(lines: IO[bytes]) -> Outcome:
    lines.seek(max(0, lines.seek(0, os.SEEK_END) - 100_000))
    last = lines.read().rpartition(b"\n\n")[2]
    # A child that was ended wrote no end.
    return from_line(Outcome, last) if last.endswith(b"}\n") else Outcome("memory")


class ForeignImport:
    """One import: what was made so far, and what was left out."""

    def __init__(self, id: uuid.UUID, owner: Owner, agent: str, intake: Intake) -> None:
        self._id = id
        self._owner = owner
        self._agent = agent
        self._intake = intake
        self._made: list[str] = []
        self._told: dict[str, Any] = {"done": 0, "chats_done": 0}
        self._report: dict[str, Any] = {"program": "", "chats": 0, "messages": 0, "files": 0}
        self._largest = 0
        self._outcome = Outcome()

    async def run(self, content: IO[bytes]) -> None:
        """Import all chats of a file, or none where it raises."""
        try:
            async with converted(content) as (outcome, lines):
                self._told |= {"count": outcome.messages, "chats": outcome.chats}
                self._outcome = outcome
                if not self._agent:
                    raise not_imported(say("Say whose chats they become, by ?agent=."))
                for _ in range(outcome.chats):
                    await self._store(lines)
            await self._show()
        except BaseException:
            for one in self._made:
                await asyncio.shield(remove_imports(conversation=one))
            raise

    async def _show(self) -> None:
        left_out = [
            {"kind": kind, "count": count, "titles": titles}
            for kind, (count, titles) in self._outcome.left_out.items()
        ]
        told = {"report": self._report | {"left_out": left_out}}
        showing = asyncio.ensure_future(show_chats(id=self._id, made=self._made, told=told))
        try:
            await asyncio.shield(showing)
        except asyncio.CancelledError:
            await showing  # nothing is shown in part
            raise

    async def _store(self, lines: IO[bytes]) -> None:
        facts = from_line(ChatFacts, await asyncio.to_thread(lines.readline))
        owner = owner_now(self._owner)
        try:
            made = await begin_chat(owner=owner, agent=self._agent, facts=facts, made=self._made)
        except Refused as refused:
            made = None
            self._outcome.leave(refused.code, facts.title)
        else:
            if made is None:
                self._outcome.leave("here", facts.title)
            else:
                self._made.append(made)
        files = [await self._file(lines, keep=made is not None) for _ in range(facts.files)]
        ids: list[uuid.UUID] = []
        turns: list[int] = []
        self._told["chats_done"] += 1
        left = facts.messages
        while left:
            some = await asyncio.to_thread(_piece, lines, left)
            left -= len(some)
            self._told["done"] += len(some)
            if made is None:
                continue
            began = time.monotonic()
            rows = await asyncio.to_thread(_rows, made, some, files, ids, turns)
            await add_chat_messages(
                id=self._id, owner=owner, conversation=made, rows=rows, told=self._told
            )
            # Half of the time belongs to the others.
            await asyncio.sleep(time.monotonic() - began)
        if made is not None:
            self._count(made, facts)

    def _count(self, made: str, facts: ChatFacts) -> None:
        self._report["program"] = facts.program
        self._report["chats"] += 1
        self._report["messages"] += facts.messages
        if facts.messages > self._largest:
            self._largest = facts.messages
            self._report["largest"] = {"id": made, "title": facts.title, "agent": self._agent}

    async def _file(self, lines: IO[bytes], *, keep: bool) -> Attachment | str:
        """Store the next file, as an upload is stored; its name where it isn't taken."""
        about = from_line(FileFacts, await asyncio.to_thread(lines.readline))
        content = await asyncio.to_thread(lines.read, about.size)
        name, owner = safe_name(about.name), owner_now(self._owner)

        async def blocks() -> AsyncIterator[bytes]:
            yield content

        if not keep:
            return name
        try:
            coming = self._intake.taken(blocks(), owner=owner.key, guest=bool(owner.guest))
            async with coming as taken:
                kept = await store_upload(owner, name=name, taken=taken)
        except ChatsiteError:
            self._outcome.leave("refused", name)
            return name
        self._report["files"] += 1
        return kept


def _piece(lines: IO[bytes], left: int) -> list[Line]:
    """Read the next messages, as many as one transaction stores."""
    piece: list[Line] = []
    characters = 0
    while len(piece) < min(left, ROWS) and characters < PIECE_CHARACTERS:
        piece.append(from_line(Line, lines.readline()))
        characters += piece[-1].characters
    return piece


def _rows(
    conversation: str,
    lines: Sequence[Line],
    files: Sequence[Attachment | str],
    ids: list[uuid.UUID],
    turns: list[int],
) -> list[MessageRow]:
    """Rows of the next messages; `ids` and `turns` hold those of all above, and get theirs."""
    rows = []
    for line in lines:
        above, seq = line.parent, len(ids) + 1
        turn = seq if line.role == "user" else turns[above] if above >= 0 else 0
        message = with_token_count(_message(line, seq, files))
        row = new_row(
            MessageRow,
            conversation_id=uuid.UUID(conversation),
            parent_id=ids[above] if above >= 0 else None,
            seq=seq,
            turn_seq=turn,
            on_path=line.on_path,
            created=at(line.created),
            **message_columns(message),
        )
        ids.append(row.id)
        turns.append(turn)
        rows.append(row)
    return rows


def _message(line: Line, seq: int, files: Sequence[Attachment | str]) -> Message:
    own = [files[place] for place in line.files]
    missing = [*line.missing, *(name for name in own if isinstance(name, str))]
    text = "\n\n".join(filter(None, (line.text, *(f"[File: {name}]" for name in missing))))
    about = json.dumps({ELSEWHERE: json.dumps({"model": line.model})}) if line.model else ""
    return Message(
        id=str(uuid.uuid4()),
        role=line.role,
        content=text or ("" if line.role == "tool" else None),
        reasoning=line.reasoning or None,
        attachments=tuple(one for one in own if isinstance(one, Attachment)),
        calls=(ToolCall(id=f"call_{seq}", name=line.call[0], arguments=line.call[1]),)
        if line.call
        else (),
        call_id=f"call_{line.parent + 1}" if line.role == "tool" else None,
        metadata=about,
    )
