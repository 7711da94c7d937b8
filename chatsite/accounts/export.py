"""Everything that one person has here, as one ZIP file, made while it is sent.

Memory holds one conversation, or one block of a file, at a time.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import IO, Any, cast
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from django.contrib.auth.models import User
from django.core.serializers.json import DjangoJSONEncoder
from django.http import Http404, HttpRequest, StreamingHttpResponse
from django.utils.text import slugify
from django.views.decorators.http import require_GET

from chatsite.accounts.removal import conversations_of, files_of, messages_aside
from chatsite.conversations.files.export import write_export
from chatsite.conversations.files.uploads import find_upload, open_upload
from chatsite.conversations.owners import Owner
from chatsite.conversations.path.queries import whole_path
from chatsite.errors import NotFound
from chatsite.own_agents.queries import own_data
from chatsite.prompts.prompts import list_prompts
from chatsite.web.api.history import cleanup_strategy
from chatsite.web.people import known_person, site_of
from chatsite.wiring.features import FEATURES
from chatsite.wiring.site import Site
from chatsite.wording import later, say

BLOCK = 256 * 1024
README = later("""Everything that you have in Chatsite, as of {now}.

account.json     your account, your agents and your instructions for all agents
prompts.json     the prompts that you keep
conversations/   each conversation as a file of its own. Chatsite restores it: open the menu with
                 your name, "Import chats". Beside some of them is
                 "...other-versions.json": answers that were replaced, and what was cleared away.
files/           the files that you attached, each in a folder with its number

What you deleted isn't here, and no temporary chat.
""")


@require_GET
async def export_all(request: HttpRequest) -> StreamingHttpResponse:
    """Send everything that an account or a guest has. Not found for who has nothing here yet."""
    owner, user = await known_person(request), await request.auser()
    if owner is None or (owner.user is not None and not user.is_authenticated):
        raise Http404
    now = datetime.now(UTC)
    account = _account(user if owner.user else None) | await own_data(owner=owner)
    if owner.user is not None:
        for feature in FEATURES:
            account |= await feature.account_data(user=owner.user)
    pieces = _archive(site_of(request), owner, account, now)
    return StreamingHttpResponse(
        pieces,
        headers={
            "Content-Type": "application/zip",
            "Content-Disposition": f'attachment; filename="chatsite-{now:%Y-%m-%d}.zip"',
            "Cache-Control": "private, no-store",
        },
    )


def _account(user: Any) -> dict[str, Any]:
    if not isinstance(user, User):
        return {"guest": True}
    fields = ("username", "email", "first_name", "last_name", "date_joined", "last_login")
    return {name: getattr(user, name) for name in fields}


class _Sink:
    """Keeps what the archive writes until it is sent."""

    def __init__(self) -> None:
        self._waiting = bytearray()

    def write(self, data: bytes) -> int:
        self._waiting += data
        return len(data)

    def flush(self) -> None:
        """Do nothing: ZipFile calls this, and nothing waits elsewhere."""

    def take(self) -> bytes:
        taken, self._waiting = bytes(self._waiting), bytearray()
        return taken


async def _archive(
    site: Site, owner: Owner, account: dict[str, Any], now: datetime
) -> AsyncIterator[bytes]:
    sink = _Sink()
    archive = ZipFile(cast(IO[bytes], sink), "w", ZIP_DEFLATED)

    def add(name: str, content: bytes) -> None:
        archive.writestr(_entry(name, now, ZIP_DEFLATED), content)

    add("README.txt", say(README, now=f"{now:%Y-%m-%d %H:%M} UTC").encode())
    add("account.json", _json(account))
    add("prompts.json", _json(await list_prompts(owner=owner)))
    for number, id in enumerate(await conversations_of(owner), start=1):
        try:
            for name, content in await _conversation(site, owner, id):
                await asyncio.to_thread(add, f"conversations/{number:05} {name}", content)
        except NotFound:
            continue  # deleted meanwhile
        yield sink.take()
    for id, name in await files_of(owner):
        try:
            attachment = await find_upload(owner, id=id)
            source = await open_upload(attachment)
        except NotFound:
            continue
        info = _entry(f"files/{id}/{name.replace('/', '_')}", now, ZIP_STORED)
        info.file_size = attachment.size
        with source, archive.open(info, "w", force_zip64=True) as target:
            while block := await asyncio.to_thread(source.read, BLOCK):
                target.write(block)
                yield sink.take()
    archive.close()
    yield sink.take()


async def _conversation(site: Site, owner: Owner, id: str) -> list[tuple[str, bytes]]:
    """Return names and contents of a conversation's files. Raises NotFound."""
    whole = await whole_path(owner=owner, conversation=id)
    aside = await messages_aside(owner=owner, conversation=id)
    cleanup = cleanup_strategy(site, whole.conversation.agent)
    name = slugify(whole.conversation.title)[:80] or "conversation"
    content = await asyncio.to_thread(write_export, whole, cleanup=cleanup)
    beside = [(f"{name}.other-versions.json", _json(aside))] if aside else []
    return [(f"{name}.chatsite.json", content), *beside]


def _entry(name: str, now: datetime, how: int) -> ZipInfo:
    info = ZipInfo(name, (now.year, now.month, now.day, now.hour, now.minute, now.second))
    info.compress_type = how
    info.external_attr = 0o600 << 16
    return info


def _json(value: object) -> bytes:
    return json.dumps(value, cls=DjangoJSONEncoder, ensure_ascii=False, indent=1).encode()
