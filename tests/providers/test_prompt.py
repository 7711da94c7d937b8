from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import pytest

from chatsite.messages import Message, ToolCall
from chatsite.providers.embedded.client import CompletionReader, EngineClient, EngineRefused
from chatsite.providers.embedded.prompt import TokenCache, spoken_text
from chatsite.providers.embedded.template import Frame, NotAdditive, discover_frame

Turns = Sequence[dict[str, str]]


class Letters(EngineClient):
    """An engine whose tokens are code points and whose template is a function."""

    def __init__(self, template: Callable[[Turns], str] = lambda turns: "") -> None:
        super().__init__("http://127.0.0.1:9", key="k")
        self.template = template

    async def tokenize(
        self, texts: Sequence[str], *, special: bool = False, first: bool = False
    ) -> list[list[int]]:
        return [[ord(letter) for letter in ("^" if first else "") + text] for text in texts]

    async def render(self, messages: Turns) -> str:
        return self.template(messages)


def plain(turns: Turns) -> str:
    return "".join(f"[{t['role'][0]}]{t['content']};" for t in turns) + "[a]"


def merging(turns: Turns) -> str:
    """Puts the system's words into the user's first message, and wants turns to alternate."""
    roles = [t["role"] for t in turns if t["role"] != "system"]
    if any(a == b for a, b in zip(roles, roles[1:], strict=False)) or roles[0] != "user":
        raise EngineRefused(500, "server_error")
    return (
        "".join(
            f"{t['content']}\n" if t["role"] == "system" else f"[{t['role'][0]}]{t['content']}"
            for t in turns
        )
        + "[a]"
    )


def counting(turns: Turns) -> str:
    return "".join(f"{number}/{len(turns)} {t['content']}" for number, t in enumerate(turns))


def forgetful(turns: Turns) -> str:
    return f"[u]{turns[-1]['content']}[a]"


def shown(frame: Frame, *said: tuple[str, str]) -> str:
    spoken = [(role, text, [ord(letter) for letter in text]) for role, text in said]
    prompt = frame.join(spoken, answer="reply")  # type: ignore[arg-type]
    assert not prompt.faults()
    return "".join(map(chr, prompt.ids))


async def test_a_template_that_frames_each_message_is_found() -> None:
    frame = await discover_frame(Letters(plain))
    assert frame is not None
    said = [("system", "S"), ("user", "U"), ("assistant", "A"), ("user", "V")]
    assert shown(frame, *said) == "^[s]S;[u]U;[a]A;[u]V;[a]"
    assert shown(frame, ("assistant", "A"), ("user", "U")) == "^[a]A;[u]U;[a]"
    assert frame.around("user") == 4


async def test_orders_that_a_template_refuses_are_refused_and_others_framed() -> None:
    frame = await discover_frame(Letters(merging))
    assert frame is not None
    assert shown(frame, ("system", "S"), ("user", "U")) == "^S\n[u]U[a]"
    for order in (["user", "user"], ["assistant", "user"], []):
        with pytest.raises(NotAdditive):
            shown(frame, *[(role, "x") for role in order])


@pytest.mark.parametrize("template", [counting, forgetful])
async def test_a_template_that_looks_at_the_whole_conversation_has_no_frame(
    template: Callable[[Turns], str],
) -> None:
    assert await discover_frame(Letters(template)) is None


def test_the_cache_drops_the_least_recently_used() -> None:
    cache = TokenCache(max_bytes=3 * (200 + 400))
    for name in "abc":
        cache.put(name, range(100))
    assert cache.get("a") is not None
    cache.put("d", range(100))
    assert cache.get("b") is None
    assert [bool(cache.get(name)) for name in "acd"] == [True, True, True]
    cache.put("a", range(10))
    assert cache.bytes == 2 * 600 + 240


def test_a_text_larger_than_the_cache_does_no_harm() -> None:
    cache = TokenCache(max_bytes=1000)
    cache.put("large", range(10_000))
    assert (cache.get("large"), cache.bytes) == (None, 0)


def test_calls_and_results_become_text() -> None:
    calls = (ToolCall(id="1", name="weather", arguments={"city": "Köln"}),)
    message = Message.assistant("Let me look.", id="a", calls=calls)
    assert spoken_text(message) == 'Let me look.\nCall: weather {"city": "Köln"}'
    assert spoken_text(Message.tool("Dry.", id="t", call_id="1")) == "Result: Dry."


def event(text: str, ids: list[int], predicted: int) -> bytes:
    value = {"content": text, "tokens": ids, "stop": False, "tokens_predicted": predicted}
    return json.dumps(value).encode()


async def test_ids_the_engine_left_out_are_found_again() -> None:
    completion = CompletionReader()
    completion.take(event("ab", [ord("b")], 2))
    completion.take(event("c", [ord("c")], 3))
    assert await completion.ids(Letters()) == [97, 98, 99]


@pytest.mark.parametrize(
    "events",
    [
        [event("ab", [ord("x")], 2)],
        [event("ab", [ord("b")], 3)],
        [event("a", [97], 1), event("", [1], 2), event("b", [98], 3)],
    ],
    ids=["another last id", "another number", "a control token"],
)
async def test_ids_that_arent_certain_are_left_out(events: list[bytes]) -> None:
    completion = CompletionReader()
    for one in events:
        completion.take(one)
    assert await completion.ids(Letters()) is None
