"""How a model is reached: what every provider offers and what it is asked."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from chatsite.messages import Basis, Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One call of a model: `messages` exactly as the history decided, head first.

    `conversation` keeps one conversation on one engine slot; it is never sent to a remote
    provider. `max_tokens` bounds the reply. None for a sampling value leaves it to the provider.
    """

    conversation: str
    messages: tuple[Message, ...]
    model: str
    max_tokens: int
    temperature: float | None = None
    top_p: float | None = None
    options: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of the answer, as it arrives."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens as the provider reported them, None where it didn't. `cached` is part of `prompt`."""

    prompt: int | None = None
    cached: int | None = None
    completion: int | None = None


FinishReason = Literal["stop", "length", "content_filter", "tool_calls"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The last chunk of a whole answer. A stream that ends without it was interrupted.

    `metadata` is stored with the message byte for byte (the embedded engine: its token ids).
    """

    reason: FinishReason
    usage: Usage = Usage()
    metadata: str = ""


Chunk = Text | Finished


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Whether a provider can answer now, in words for the page.

    `progress` is 0.0 to 1.0 while something loads, None where nothing can be said.
    """

    state: Literal["ready", "loading", "unavailable"]
    sentence: str = ""
    progress: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """What is known of the model that would answer: `window` in tokens, reply included."""

    provider: str
    name: str
    label: str
    window: int
    note: str = ""


class Tokenizer(Protocol):
    """Counts what messages take in a request, role markers included."""

    @property
    def name(self) -> str: ...
    @property
    def basis(self) -> Basis: ...

    async def count(self, messages: Sequence[Message]) -> list[int]:
        """Tokens of each message, in order; one batch, never slower than one pass over the text."""
        ...


class Provider(Protocol):
    """One way to reach models. All methods may be called from any task of the event loop."""

    @property
    def kind(self) -> str: ...

    def model(self, name: str | None) -> Model:
        """The model meant by `name`; None means the provider's own choice."""
        ...

    def small(self, beside: Model | None = None) -> Model | None:
        """The model for short side tasks (the role `fast`) of an agent that `beside` answers for;
        None where there is none."""
        ...

    def tokenizer(self, model: Model) -> Tokenizer: ...

    def status(self) -> Status: ...

    def stream(self, request: Request) -> AsyncGenerator[Chunk, None]:
        """The answer as it arrives. Closing the iterator (`aclose`) cancels it upstream.

        Raises ProviderError; what was yielded before stays valid.
        """
        ...
