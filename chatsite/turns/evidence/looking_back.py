"""What the tool `recall` finds and opens, in the index that `relevant` keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chatsite.conversations.path.loading import load_recallable
from chatsite.errors import NotFound, Refused
from chatsite.history import Entry, split_turns
from chatsite.tools.recall import PastMessage
from chatsite.tools.tool import ToolContext, ToolError
from chatsite.turns.context.file_forms import StoredFiles
from chatsite.turns.evidence.recall import Recaller

# Of the best ones so many are read at once: mostly there are enough among them.
AT_ONCE = 40


@dataclass(frozen=True, slots=True)
class LookBack:
    """`tools.recall.PastMessages` is its protocol."""

    recaller: Recaller

    async def find(self, using: ToolContext, query: str, *, most: int) -> Sequence[PastMessage]:
        try:
            seqs = await self.recaller.find(
                owner=using.owner, conversation=using.conversation, query=query, before=using.asked
            )
        except Refused as error:
            raise ToolError(error.message, name="NotReady") from None
        found: list[PastMessage] = []
        for start in range(0, len(seqs), AT_ONCE):
            some = seqs[start : start + AT_ONCE]
            entries = await _load(using, some)
            known = {entry.seq: entry for entry in entries}
            messages = [_past_message(known[seq], entries, using) for seq in some if seq in known]
            # One that is shown may lead to a result that gave way.
            found += [one for one in messages if one.results or not using.shows(one.number)]
            if len(found) >= most:
                break
        return found[:most]

    async def open(self, using: ToolContext, number: int) -> PastMessage | None:
        entries = await _load(using, [number])
        entry = next((one for one in entries if one.seq == number), None)
        if entry is None:
            return None
        texts = [entry.message.content or ""]
        for file in entry.message.attachments:
            try:
                text = await StoredFiles(using.owner).text(file) if file.characters else ""
            except NotFound:
                text = ""
            texts.append(f"File: {file.name}\n{text}")
        return _past_message(entry, entries, using, "\n\n".join(filter(None, texts)))


async def _load(using: ToolContext, seqs: Sequence[int]) -> tuple[Entry, ...]:
    owner, conversation = using.owner, using.conversation
    return await load_recallable(owner=owner, conversation=conversation, seqs=seqs)


def _past_message(
    entry: Entry, entries: Sequence[Entry], using: ToolContext, text: str = ""
) -> PastMessage:
    """`entries` are those of its turn, and maybe of others."""
    message = entry.message
    turn = next(turn for turn in split_turns(entries) if entry in turn.entries)
    called = {call.id: call.name for one in turn.entries for call in one.message.calls}
    author: str = message.speaker or message.role
    if message.role == "tool":
        author = f"result of {called.get(message.call_id or '', 'a tool')}"
    return PastMessage(
        number=entry.seq,
        author=author,
        at=entry.at,
        text=text or message.content or "",
        results=tuple(
            one.seq
            for one in turn.entries
            if one.message.role == "tool" and not using.shows(one.seq)
        ),
    )
