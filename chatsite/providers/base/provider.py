"""What a provider offers, what it is asked for, and the chunks in which it answers."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, Protocol

from chatsite.encoding import encode_fields
from chatsite.kv_cache.books import CacheUse
from chatsite.messages import Basis, Message, TokenCount
from chatsite.providers.base.files import NO_FILES, Files
from chatsite.wording import TRANSLATE, say, say_count

# ---- a model: its window, what it takes, and what its tokens cost ---------------------------
# What a model may take besides text. "pdf": as a file of its own, pages and all.
Medium = Literal["image", "pdf", "audio", "video"]

# When the price lists were read.
PUBLISHED = "November 2026"
# OpenAI caches the beginning of a prompt from this length on, in steps of 128 tokens:
# https://platform.openai.com/docs/guides/prompt-caching
LEAST_CACHED = 1_024
CACHE_STEP = 128
# What is written into the cache costs a quarter more than other input at Anthropic, and at OpenAI
# from GPT-5.6 on; others report no writes.
CACHE_WRITE = 1.25
_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens. `cached` is None where reused input isn't cheaper.

    A price only ever makes an estimate: a contract, a batch or another server may charge otherwise.
    """

    input: float
    cached: float | None
    output: float

    def cost(self, *, prompt: int, cached: int = 0, written: int = 0, answer: int = 0) -> float:
        """Dollars for so many tokens; `cached` and `written`, into the cache, are of `prompt`."""
        reused = self.input if self.cached is None else self.cached
        fresh = prompt - cached + written * (CACHE_WRITE - 1)
        return (fresh * self.input + cached * reused + answer * self.output) / _MILLION

    @property
    def cached_share(self) -> float:
        """What a token from the cache costs, of one that is read anew: 0 to 1."""
        return self.cost(prompt=1, cached=1) / self.cost(prompt=1) if self.input else 1.0

    def premium(self, *, written: bool) -> float:
        """Dollars that a token costs more where it isn't read from the cache, but `written`."""
        return self.cost(prompt=1, written=int(written)) - self.cost(prompt=1, cached=1)


def reusable(leading: int) -> int:
    """How many of the leading tokens OpenAI can take from its cache."""
    return leading // CACHE_STEP * CACHE_STEP if leading >= LEAST_CACHED else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """The model that would answer. `window` is in tokens, reply included.

    `takes` lists what it takes besides text; `tools`: it can call tools. `price` is None where no
    price is known, `longest`, its longest reply in tokens, where that isn't. `demonstration`: it
    shows that the page works, and is too small to give good answers. Of what its server refused:
    `factor` is how many tokens it counts for one of ours, `most` the longest prompt in ours.
    """

    provider: str
    name: str
    label: str
    window: int
    note: str = ""
    takes: frozenset[Medium] = frozenset()
    tools: bool = False
    price: Price | None = None
    longest: int | None = None
    demonstration: bool = False
    factor: float = 1.0
    most: int | None = None

    def prompt_room(self, reply: int) -> int:
        """Tokens, by our count, that a prompt may have beside so many of the reply."""
        room = int((self.window - reply) / self.factor)
        return room if self.most is None else min(room, self.most)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool as a model sees it. `name` has at most 64 letters, digits, `_` and `-`; `parameters`
    is a JSON schema of type object."""

    name: str
    description: str
    parameters: Mapping[str, object] = field(hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One call of a model: `messages` exactly as the history decided, head first.

    Attachments that the model can't take were replaced by text before; a provider sends every
    remaining one as a part of its own. `conversation` keeps a conversation on one engine slot; it
    is never sent to a remote provider. `max_tokens` bounds the reply. A sampling value of None is
    left to the provider. `may_call` False: `tools` are defined, since the messages have calls of
    them, but none may be called now. The first `head` messages are the agent's own, the same in
    each of its conversations. `answer` is the id of the message that will be written; `after` is
    the provider's own id of its response before, "" where that isn't known.
    """

    conversation: str
    messages: tuple[Message, ...]
    model: str
    max_tokens: int
    temperature: float | None = None
    top_p: float | None = None
    options: Mapping[str, object] = field(default_factory=dict)
    tools: tuple[ToolSpec, ...] = ()
    may_call: bool = True
    files: Files = NO_FILES
    head: int = 0
    answer: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class SentParameters:
    """`sent` has the settings that a model gets, under their names in chat completions. `dropped`
    has a sentence for every setting that it doesn't get, or gets with another value."""

    sent: Mapping[str, object] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PromptRead:
    """The prompt was read; sent before the first piece by the engine on this machine."""

    account: CacheUse


@dataclass(frozen=True, slots=True)
class PromptProgress:
    """How many tokens of a long prompt were read. The answer hasn't begun yet, so the request may
    still be repeated."""

    read: int
    total: int


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A piece of the answer, as it arrives."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningPiece:
    """A piece of the model's reasoning before its answer, where the provider shows it."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Divided:
    """All text and reasoning of this answer, where only its end shows which is which; it replaces
    the pieces, and nothing but `Finished` follows."""

    text: str
    reasoning: str


@dataclass(frozen=True, slots=True)
class CallBegun:
    """The model has begun to write a call of this tool; `Finished` has the whole call."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenCall:
    """A call as the model wrote it: `arguments` is its own JSON text, valid or not."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens as the provider reported them, None where it didn't. Of `prompt`, `cached` were read
    from its cache and `written` into it; `miss` is its own code for why not more were read.
    `response` is its id of the response, where the next request may name it."""

    prompt: int | None = None
    cached: int | None = None
    completion: int | None = None
    written: int | None = None
    miss: str | None = None
    response: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """For a receipt; few providers report more than three counts."""
        usual = ("prompt", "cached", "completion")
        return {n: v for n, v in encode_fields(self).items() if n in usual or v is not None}


FinishReason = Literal["stop", "length", "content_filter", "tool_calls"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The last chunk of a whole answer. A stream that ends without it was interrupted.

    `metadata` is JSON that is stored with the message and sent back unchanged (the embedded engine:
    its token ids; others: signed reasoning). A provider reads only its own metadata.
    """

    reason: FinishReason
    usage: Usage = Usage()
    metadata: str = ""
    calls: tuple[WrittenCall, ...] = ()


Chunk = PromptProgress | PromptRead | TextPiece | ReasoningPiece | Divided | CallBegun | Finished


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Whether a provider can answer now, as a sentence for the page.

    `progress` is 0.0 to 1.0 while something loads, None where it isn't known.
    """

    state: Literal["ready", "loading", "unavailable"]
    sentence: str = ""
    progress: float | None = None


class Tokenizer(Protocol):
    """Counts the tokens of messages in a request, role markers included."""

    @property
    def name(self) -> str: ...
    @property
    def basis(self) -> Basis: ...

    async def count(self, messages: Sequence[Message]) -> list[TokenCount]:
        """Tokens of each message, in order; all at once, in at most one pass over the text.

        Each has this tokenizer's name; its basis is `estimated` where a text can't be counted.
        """
        ...


class Provider(Protocol):
    """One way to reach models. All methods may be called from any task of the event loop."""

    @property
    def kind(self) -> str: ...

    def model(self, name: str | None) -> Model:
        """The model meant by `name`; None means the provider's own choice."""
        ...

    def small(self, beside: Model | None = None) -> Model | None:
        """The model for short side tasks (the role `fast`) of an agent that `beside` answers for,
        None where the provider has none."""
        ...

    def tokenizer(self, model: Model) -> Tokenizer: ...

    def status(self) -> Status: ...

    def parameters(self, request: Request) -> SentParameters:
        """Which of the agent's settings go along with the request, and which don't."""
        ...

    def stream(self, request: Request) -> AsyncGenerator[Chunk, None]:
        """The answer as it arrives. Closing the generator (`aclose`) cancels it upstream.

        Raises ProviderError; chunks that were yielded before stay valid.
        """
        ...


# ---- the settings of an agent ---------------------------------------------------------------
# What a template calls them, by their names in chat completions.
_IN_TEMPLATES = {
    "top_p": "topP",
    "stop": "stopSequences",
    "frequency_penalty": "frequencyPenalty",
    "presence_penalty": "presencePenalty",
    "reasoning_effort": "reasoningEffort",
}


def wanted_parameters(request: Request) -> dict[str, object]:
    """What the agent sets, under the names of chat completions."""
    wanted = {"temperature": request.temperature, "top_p": request.top_p, **request.options}
    return {name: value for name, value in wanted.items() if value is not None}


def not_sent(names: Sequence[str], one: str, many: str, **values: object) -> tuple[str, ...]:
    """One sentence for all of `names`, `one` or `many`, with them in words; none where there are no
    names."""
    if not names:
        return ()
    language = TRANSLATE.get().language()
    return (_sentence(tuple(names), one, many, language, **values),)


@lru_cache(maxsize=256)  # every turn and preview of an agent asks for the same, twice
def _sentence(names: Sequence[str], one: str, many: str, language: str, **values: object) -> str:
    shown = [_IN_TEMPLATES.get(name, name) for name in names]
    every = shown[0]
    if len(shown) > 1:
        every = say("{first} and {second}", first=", ".join(shown[:-1]), second=shown[-1])
    return say_count(one, many, len(shown), names=every, **values)
