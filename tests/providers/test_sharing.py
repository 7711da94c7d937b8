"""What conversations share and what each has alone, on the real engine's four slots."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest
import pytest_asyncio

from chatsite.kv_cache.books import CacheUse
from chatsite.kv_cache.slots.cache import Cache
from chatsite.kv_cache.slots.sessions import Sessions
from chatsite.messages import Message
from chatsite.providers.base.provider import PromptRead, Request
from chatsite.providers.embedded.engine import SLOTS, Engine
from chatsite.providers.embedded.provider import TRAINED_SYSTEM, EmbeddedProvider
from tests.providers.cache_rows import MemoryRows

pytestmark = [pytest.mark.engine, pytest.mark.asyncio(loop_scope="module")]

EXAMPLES = (
    Message.system(TRAINED_SYSTEM, id="personality"),
    Message.user("Say it shorter: The meeting was moved to Friday because of rain.", id="e1"),
    Message.assistant("Meeting moved to Friday (rain).", id="e2"),
    Message.user("Say it shorter: The ship will leave the harbour before noon.", id="e3"),
    Message.assistant("Ship leaves before noon.", id="e4"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("var") / "kv"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine(folder: Path) -> AsyncIterator[Engine]:
    engine = Engine(log_path=folder.parent / "engine.log", sessions=folder)
    engine.start()
    await engine.ready()
    yield engine
    await engine.stop()


@pytest.fixture
def provider(engine: Engine, folder: Path) -> EmbeddedProvider:
    sessions = Sessions(folder, limit=1024**3, rows=MemoryRows())
    return EmbeddedProvider(engine, Cache(engine, sessions=sessions, quiet=3600))


async def ask(
    provider: EmbeddedProvider, conversation: str, *said: Message, head: tuple[Message, ...]
) -> CacheUse:
    request = Request(
        conversation=conversation,
        messages=(*head, *said),
        model="smollm2",
        max_tokens=2,
        head=len(head),
        answer=f"{conversation}-answer",
    )
    async with aclosing(provider.stream(request)) as chunks:
        found = [chunk.account async for chunk in chunks if isinstance(chunk, PromptRead)]
    [account] = found
    assert account.agrees
    return account


async def test_an_agents_examples_are_read_once_for_all_its_conversations(
    provider: EmbeddedProvider,
) -> None:
    first = await ask(provider, "a", Message.user("One.", id="u1"), head=EXAMPLES)
    assert (first.origin, first.reused) == ("none", 0) and first.evaluated == first.cells
    others = [
        await ask(provider, name, Message.user("Two, please.", id="u2"), head=EXAMPLES)
        for name in "bcdefg"
    ]
    for other in others:
        assert other.origin == "shared" and other.cells - other.reused < 16


async def test_a_conversation_that_lost_its_slot_is_restored(provider: EmbeddedProvider) -> None:
    head = EXAMPLES[:1]
    names = [f"talk {number}" for number in range(SLOTS + 1)]
    said = {
        name: Message.user(f"{name}: the harbour lies to the west. " * 8, id="u1") for name in names
    }
    before = [await ask(provider, name, said[name], head=head) for name in names]
    assert provider.cache.view(names[0]).place == "none"
    assert provider.cache.view(names[1]).place == "slot"
    again = await ask(
        provider, names[0], said[names[0]], Message.user("And now?", id="u2"), head=head
    )
    assert again.origin == "session" and again.restored_ms is not None
    assert again.reused >= before[0].cells - 8
    assert provider.cache.view(names[1]).place == "none"


async def test_no_conversation_reads_another_ones_cells(provider: EmbeddedProvider) -> None:
    """A cell depends on the cells before it: of another conversation's slot only the common
    beginning is reused, and of the own slot nothing of a message that isn't sent any more."""
    story = "Please tell me a story about Ada, a red fox who lives in the snow."
    short = Message.user("Please tell me about the snow.", id="short")
    head = EXAMPLES[:1]
    for name in "abcd":
        await ask(provider, name, Message.user(story, id=f"story {name}"), head=head)
    stranger = await ask(provider, "new", short, head=head)
    own = await ask(provider, "b", short, head=head)
    assert (stranger.origin, own.origin) == ("none", "slot")
    for account in (stranger, own):
        assert account.shifted == 0 and account.evaluated >= len(" about the snow.".split())


async def test_a_slot_that_somebody_else_emptied_is_noticed_and_counted(
    engine: Engine, provider: EmbeddedProvider, caplog: pytest.LogCaptureFixture
) -> None:
    head = EXAMPLES[:1]
    said = Message.user("Behind the keeper's back nothing is certain any more.", id="u1")
    await ask(provider, "lost", said, head=head)
    assert engine.running is not None and provider.cache.misses == 0
    for slot in range(SLOTS):
        await engine.running.client.erase(slot)
    with pytest.raises(AssertionError):
        await ask(provider, "lost", said, Message.user("So?", id="u2"), head=head)
    assert provider.cache.misses == 1 and "were expected to be reused" in caplog.text
    await ask(provider, "lost", said, Message.user("And so?", id="u3"), head=head)
    assert provider.cache.misses == 1
