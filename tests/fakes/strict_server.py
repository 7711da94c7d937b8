"""A provider that refuses: prompts above its window, by a count of its own, and fields of requests
that it doesn't know. `refusals` are the status codes and bodies that it has sent."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.anthropic_server import AnthropicConnection, FakeAnthropic
from tests.fakes.openai_connection import Behaviour, Connection, Seen
from tests.fakes.openai_prompts import text_of
from tests.fakes.openai_server import FakeOpenAI

# The body of a refusal for the name of a field.
Wording = Callable[[str], tuple[int, Any]]


@dataclass
class Strictness:
    """`count` is the server's count of a text, `window` what it takes, reply included. `too_long`
    gives the refusal of a prompt from its size, the reply's and the window. `refused` are fields
    with the words in which they are refused, one at a time. `in_stream`: the status is 200, and
    the refusal comes as an event. `faulty` is a tool whose schema it doesn't take."""

    count: Callable[[str], int] = len
    window: int = 1_000_000
    too_long: Callable[[int, int, int], tuple[int, Any]] = lambda prompt, reply, window: (400, {})
    refused: Mapping[str, Wording] = field(default_factory=dict)
    in_stream: bool = False
    faulty: str = ""
    refusals: list[tuple[int, Any]] = field(default_factory=list)

    def refusal(self, body: Mapping[str, Any]) -> tuple[int, Any] | None:
        for name, words in self.refused.items():
            if name in body:
                return words(name)
        if self.faulty in [tool["function"]["name"] for tool in body.get("tools", ())]:
            said = f"Invalid schema for function '{self.faulty}': object schema missing properties."
            return openai_error(400, said, code="invalid_function_parameters")
        prompt = sum(4 + self.count(text_of(each.get("content"))) for each in body["messages"])
        reply = body.get("max_tokens") or body.get("max_completion_tokens") or 0
        if prompt + reply > self.window:
            return self.too_long(prompt, reply, self.window)
        return None


class StrictConnection(Connection):
    def __init__(self, seen: Seen, behaviour: Behaviour, strictness: Strictness) -> None:
        super().__init__(seen, behaviour)
        self.strictness = strictness

    async def answer(self, body: Mapping[str, Any]) -> None:
        refusal = self.strictness.refusal(body)
        if refusal is None:
            await super().answer(body)
            return
        self.strictness.refusals.append(refusal)
        if self.strictness.in_stream:
            await self.send_stream(b"data: " + json.dumps(refusal[1]).encode() + b"\n\n")
        else:
            self.whole(refusal[0], "Refused", refusal[1])


class StrictOpenAI(FakeOpenAI):
    def __init__(self, strictness: Strictness, *, models: Sequence[str] = ("small",)) -> None:
        super().__init__(models=tuple(models))
        self.strictness = strictness

    def connection(self) -> StrictConnection:
        return StrictConnection(self.seen, self.behaviour, self.strictness)


class StrictAnthropicConnection(AnthropicConnection):
    """Refuses fields, nested ones too, as Anthropic's own API says it."""

    def __init__(
        self, seen: Seen, behaviour: Behaviour, problems: list[str], server: StrictAnthropic
    ) -> None:
        super().__init__(seen, behaviour, problems)
        self.server = server

    async def answer(self, body: Mapping[str, Any]) -> None:
        text = json.dumps({name: body[name] for name in body if name != "stream"})
        name = next((one for one in self.server.refused if f'"{one}"' in text), None)
        if name is None:
            await super().answer(body)
            return
        said = f"{name}: Extra inputs are not permitted"
        error = {"type": "invalid_request_error", "message": said}
        told = {"type": "error", "error": error}
        if self.server.in_stream:
            await self.send_stream(b"event: error\ndata: " + json.dumps(told).encode() + b"\n\n")
        else:
            self.whole(400, "Bad Request", told)


class StrictAnthropic(FakeAnthropic):
    def __init__(self, refused: Sequence[str], *, in_stream: bool = False) -> None:
        super().__init__()
        self.refused = refused
        self.in_stream = in_stream

    def connection(self) -> StrictAnthropicConnection:
        return StrictAnthropicConnection(self.seen, self.behaviour, self.problems, self)


# ---- in which words ------------------------------------------------------------------------------
def openai_error(status: int, message: str, **more: Any) -> tuple[int, Any]:
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    return status, {"error": error | more}


def unknown_field(name: str) -> tuple[int, Any]:
    return openai_error(400, f"Unknown field: {name}")


def extra_forbidden(name: str) -> tuple[int, Any]:
    """As FastAPI's validation says it."""
    why = {
        "type": "extra_forbidden",
        "loc": ["body", name],
        "msg": "Extra inputs are not permitted",
    }
    return 422, {"detail": [why]}


def unsupported(name: str) -> tuple[int, Any]:
    other = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}.get(name)
    instead = f" Use '{other}' instead." if other else ""
    said = f"Unsupported parameter: '{name}' is not supported with this model.{instead}"
    return openai_error(400, said, param=name, code="unsupported_parameter")


def too_high(name: str) -> tuple[int, Any]:
    said = f"{name} is too large: 500. This model supports at most 100 completion tokens."
    return openai_error(400, said, param=name, code="invalid_value")


def not_both(name: str) -> tuple[int, Any]:
    return openai_error(
        400,
        f"The model returned the following errors: `temperature` and `{name}` cannot both be "
        "specified for this model. Please use only one.",
    )


def with_numbers(prompt: int, reply: int, window: int) -> tuple[int, Any]:
    return openai_error(
        400,
        f"This model's maximum context length is {window} tokens. However, you requested "
        f"{prompt + reply} tokens ({prompt} in the messages, {reply} in the completion).",
        code="context_length_exceeded",
    )


def without_numbers(prompt: int, reply: int, window: int) -> tuple[int, Any]:
    return openai_error(400, "Your input exceeds the context window of this model.")
