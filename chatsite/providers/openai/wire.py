"""Requests for chat completions: messages, tools, settings and the length of the reply."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from chatsite.errors import NotFound
from chatsite.messages import Attachment, Message, plain_text
from chatsite.providers.base.files import UPLOAD_LIFETIME, UPLOAD_TIMEOUT, FileContent, Files
from chatsite.providers.base.provider import (
    Request,
    SentParameters,
    ToolSpec,
    not_sent,
    wanted_parameters,
)
from chatsite.providers.base.provider_metadata import returned_fields
from chatsite.providers.base.role_order import join_texts, order_roles
from chatsite.providers.known.models import ModelFacts
from chatsite.wording import say

if TYPE_CHECKING:
    from openai import AsyncOpenAI


_AUDIO = {"mpeg": "mp3", "mp3": "mp3", "wav": "wav", "x-wav": "wav", "wave": "wav"}


@dataclass(slots=True)
class SentFiles:
    """The attachments of one request: `parts` by attachment id, and the attachments of uploaded
    files by the provider's id."""

    parts: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    references: dict[str, Attachment] = field(default_factory=dict)

    def lost(self, message: str) -> list[Attachment]:
        """Return the files that the provider has lost, by the `message` of its refusal."""
        named_files = [file for reference, file in self.references.items() if reference in message]
        if named_files:
            return named_files
        any_lost = "file" in message and any(
            word in message for word in ("not found", "no such", "expired")
        )
        return list(self.references.values()) if any_lost else []


async def collect_files(
    messages: Iterable[Message], files: Files, *, client: AsyncOpenAI, at: str | None
) -> SentFiles:
    """`at` is the account that stores uploads, None where files are sent inline with each request.
    A deleted file is left out: the text of its message has its name."""
    sent = SentFiles()
    for message in messages:
        if message.role != "user":
            continue
        for file in message.attachments:
            if file.id in sent.parts:
                continue
            try:
                sent.parts[file.id] = await _part(file, files, sent, client=client, at=at)
            except NotFound:
                continue
    return sent


async def _part(
    file: Attachment, files: Files, sent: SentFiles, *, client: AsyncOpenAI, at: str | None
) -> Mapping[str, Any]:
    if file.modality == "document":
        if at is not None:
            reference = await files.reference(file, at=at)
            if reference is None:
                reference = await _upload(file, await files.content(file), client=client)
                await files.remember(file, at=at, reference=reference)
            sent.references[reference] = file
            return {"type": "file", "file": {"file_id": reference}}
        data = await _data_url(await files.content(file))
        return {"type": "file", "file": {"filename": file.name, "file_data": data}}
    content = await files.content(file)
    if file.modality == "audio":
        kind = content.mime_type.partition("/")[2]
        audio = {"data": await content.base64(), "format": _AUDIO.get(kind, kind)}
        return {"type": "input_audio", "input_audio": audio}
    form = "image_url" if file.modality == "image" else "video_url"
    return {"type": form, form: {"url": await _data_url(content)}}


async def _upload(file: Attachment, content: FileContent, *, client: AsyncOpenAI) -> str:
    uploaded = await client.files.create(
        file=(file.name, content.data, content.mime_type),
        purpose="user_data",
        expires_after={"anchor": "created_at", "seconds": UPLOAD_LIFETIME},
        timeout=UPLOAD_TIMEOUT,
    )
    return uploaded.id


async def _data_url(content: FileContent) -> str:
    return f"data:{content.mime_type};base64,{await content.base64()}"


# The ids that OpenAI takes; a conversation with another provider may have others.
_ID = re.compile(r"[a-zA-Z0-9_-]{1,40}")
_NOT_OF_A_NAME = re.compile(r"[^a-zA-Z0-9_-]")
# Servers count unseen thinking as a part of the reply: without room of its own a model that thinks
# would spend an agent's thousand tokens before its first word. OpenAI advises to leave 25,000:
# https://developers.openai.com/api/docs/guides/reasoning
_ROOM = {"none": 0, "minimal": 2_048, "low": 4_096, "medium": 16_384, "high": 24_576}
_UNSAID, _MOST = 16_384, 32_768
# Our count may be an estimate, and most servers refuse a reply that may not fit their window.
_SURE = 0.9

Parts = Mapping[str, Mapping[str, Any]]


def wire_messages(
    messages: Iterable[Message], *, server: str = "", model: str = "", parts: Parts | None = None
) -> list[dict[str, Any]]:
    """`parts` are the attached files by their ids, each as a part of its own; of other files only
    the name is sent. Metadata is sent back to the `server` and `model` that it is from.
    """
    sent: list[dict[str, Any]] = []
    in_round = False
    for same in order_roles(messages, results_as="tool"):
        if same.role == "system":
            sent.append({"role": "system", "content": _joined(same.messages)})
        elif same.role == "user":
            in_round = False
            sent.append({"role": "user", "content": _user_content(same.messages, parts or {})})
        elif same.role == "tool":
            for message in same.messages:
                call_id, content = _id(message.call_id), plain_text(message)
                sent.append({"role": "tool", "tool_call_id": call_id, "content": content})
        else:
            fields: dict[str, Any] = {}
            for message in same.messages:
                in_round = in_round or bool(message.calls)
                returned = returned_fields(message, server=server, model=model, in_round=in_round)
                if returned or message.calls:
                    # What neighbouring answers keep for their server stands one behind the other.
                    for name, value in _assistant(message, returned).items():
                        fields[name] = fields[name] + value if name in fields else value
            text = _joined(same.messages) or None
            sent.append({"role": "assistant", "content": text, **fields})
    return sent


def wire_tools(tools: Sequence[ToolSpec]) -> list[dict[str, Any]]:
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": dict(tool.parameters),
            },
        }
        for tool in tools
    ]


def bound_reply(request: Request, facts: ModelFacts | None, *, effort: object) -> int:
    """In tokens: the agent's own limit and, for a model that thinks, room for its thinking.
    `effort` is the request's reasoning effort."""
    if facts is None:
        return request.max_tokens
    bound = request.max_tokens
    if facts.reasoning or facts.thinks:
        room = _UNSAID if effort is None else _ROOM.get(str(effort), _MOST)
        taken = sum(message.tokens.count for message in request.messages if message.tokens)
        left = int(facts.window * _SURE) - taken - request.max_tokens
        bound += max(min(room, left), 0)
    return min(bound, facts.longest) if facts.longest else bound


def _joined(messages: Sequence[Message]) -> str:
    if len(messages) == 1:
        return plain_text(messages[0])
    return join_texts((message, plain_text(message)) for message in messages)


def _user_content(messages: Sequence[Message], parts: Parts) -> str | list[Mapping[str, Any]]:
    """Texts up to the next file are one part: some templates put parts together without a gap."""
    if len(messages) == 1 and not messages[0].attachments:
        return plain_text(messages[0])
    content: list[Mapping[str, Any]] = []
    texts: list[Message] = []
    for message in messages:
        texts.append(message)
        files = [parts[file.id] for file in message.attachments if file.id in parts]
        if files:
            content += [{"type": "text", "text": _joined(texts)}, *files]
            texts = []
    if not content:
        return _joined(texts)
    return [*content, {"type": "text", "text": _joined(texts)}] if texts else content


def _assistant(message: Message, returned: dict[str, Any]) -> dict[str, Any]:
    """The fields of an answer besides its text: its calls, and those that are `returned` to the
    server."""
    extras = returned.pop("calls", {})
    if not message.calls:
        return returned
    calls = []
    for call in message.calls:
        arguments = json.dumps(dict(call.arguments), ensure_ascii=False)
        function = {"name": _name(call.name), "arguments": arguments}
        sent: dict[str, Any] = {"id": _id(call.id), "type": "function", "function": function}
        if extras.get(call.id):
            sent["extra_content"] = extras[call.id]
        calls.append(sent)
    return {"tool_calls": calls, **returned}


def _id(id: str | None) -> str:
    """An id that OpenAI takes; a call and its result get the same one."""
    if id and _ID.fullmatch(id):
        return id
    return f"call_{hashlib.sha256((id or '').encode()).hexdigest()[:24]}"


def _name(name: str) -> str:
    return _NOT_OF_A_NAME.sub("_", name)[:64] or "unknown"


# ---- settings --------------------------------------------------------------------------------
EFFORT = "reasoning_effort"
_TAKEN = ("temperature", "top_p", "seed", "stop", "frequency_penalty", "presence_penalty")


def choose_parameters(request: Request, facts: ModelFacts | None) -> SentParameters:
    """Return the settings that a completion carries: thinking models refuse most of them. A model
    that thinks takes an effort alone, and some take tools together with one effort only; a model
    that doesn't refuses the effort."""
    wanted = wanted_parameters(request)
    if facts is None or not facts.reasoning:
        sent = {name: wanted[name] for name in _TAKEN if name in wanted}
        others = [name for name in wanted if name not in sent]
        return SentParameters(
            sent,
            not_sent(
                others,
                "{names} is not sent: {model} isn't known to take it.",
                "{names} are not sent: {model} isn't known to take it.",
                model=request.model,
            ),
        )
    others = [name for name in wanted if name != EFFORT]
    dropped = not_sent(
        others,
        "{names} is not sent: {model} thinks, and takes no such setting then.",
        "{names} are not sent: {model} thinks, and takes no such setting then.",
        model=request.model,
    )
    effort, only = wanted.get(EFFORT), facts.effort_with_tools if request.tools else ""
    if only and effort not in (None, only):
        dropped += (
            say(
                "reasoningEffort {effort} is sent as {only}: with tools {model} takes no other.",
                effort=effort,
                only=only,
                model=request.model,
            ),
        )
    effort = only or effort
    return SentParameters({EFFORT: effort} if effort else {}, dropped)
