"""The commands that a page may send over its socket: checked strictly, unknown ones refused."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
)
from pydantic_core import PydanticCustomError

from chatsite.errors import BadCommand
from chatsite.history import URL_NAMES
from chatsite.messages import MAX_ATTACHMENTS
from chatsite.wording import later, say

Ref = Annotated[str, StringConstraints(max_length=64)]
Slug = Annotated[str, StringConstraints(max_length=64, pattern=r"^[A-Za-z0-9_-]+$")]
Query = Annotated[str, StringConstraints(max_length=4096)]
Attached = Annotated[tuple[UUID, ...], Field(max_length=MAX_ATTACHMENTS)]


def without_nul(text: str) -> str:
    """PostgreSQL can't store the character NUL in a text, and no keyboard makes one."""
    if "\0" in text:
        raise PydanticCustomError("nul", say("it holds the character NUL"))
    return text


Words = Annotated[str, AfterValidator(without_nul)]
# `provider:name`; "" is the agent's own.
ModelName = Annotated[str, StringConstraints(max_length=200), AfterValidator(without_nul)]


def _choosable(choice: dict[str, str]) -> dict[str, str]:
    """Only the names are checked: a value that isn't allowed is passed over, and shown."""
    if not set(choice) <= set(URL_NAMES):
        allowed = say("allowed are {words}", words=", ".join(URL_NAMES))
        raise PydanticCustomError("choice", allowed)
    return choice


# What was chosen of the policy and its settings, by the names of a link's parameters.
HistoryChoice = Annotated[
    dict[str, Annotated[str, StringConstraints(max_length=80), AfterValidator(without_nul)]],
    AfterValidator(_choosable),
]


class Tuning(BaseModel):
    """What was chosen of the answers of a conversation; what isn't there is the agent's. The
    model's own bounds are applied where it is known who answers."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    temperature: float | None = Field(default=None, ge=0, le=2, allow_inf_nan=False)
    max_tokens: int | None = Field(default=None, ge=16, le=1_000_000)


class PageCommand(BaseModel):
    """`query` is the page's query string: history settings are decided on the server."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    ref: Ref = ""
    query: Query = ""
    conversation: UUID


class Open(PageCommand):
    type: Literal["open"]
    agent: Slug


class Asking(PageCommand):
    """Who answers: `model` is "" for the agent's own."""

    agent: Slug
    model: ModelName = ""
    tuning: Tuning | None = None


class Send(Asking):
    """`history`: what was chosen in the page before the chat began; later what is kept counts.
    `once`: this choice holds for the answer alone. `confirmed`: whatever it costs. `temporary`: the
    chat that it begins is erased when it is closed."""

    type: Literal["send"]
    client_id: UUID
    text: Words
    reply_to: UUID | None = None
    attachments: Attached = ()
    history: HistoryChoice = Field(default_factory=dict)
    once: HistoryChoice | None = None
    confirmed: bool = False
    temporary: bool = False


class Edit(Asking):
    """Ask the user message `message` otherwise: `text` and the files that it keeps begin a new
    branch, and the former message stays as a version."""

    type: Literal["edit"]
    client_id: UUID
    message: UUID
    text: Words
    attachments: Attached = ()


class Again(Asking):
    """Answer the same message once more; `message` is the answer, or the unanswered message.
    `once`: the model is for this answer, and the conversation keeps its own; `history`: so is this
    choice of a policy and its settings."""

    type: Literal["again"]
    client_id: UUID
    message: UUID
    once: bool = False
    history: HistoryChoice | None = None


class GoOn(Asking):
    """Write the answer `message`, the last one, further."""

    type: Literal["continue"]
    client_id: UUID
    message: UUID


class Choose(PageCommand):
    """Keep this choice of a policy and its settings with the conversation; {} keeps none."""

    type: Literal["choose"]
    history: HistoryChoice


class Stop(PageCommand):
    type: Literal["stop"]


class AskPreview(Asking):
    type: Literal["preview"]
    draft: Words
    reply_to: UUID | None = None
    attachments: Attached = ()
    history: HistoryChoice = Field(default_factory=dict)


AnyCommand = Open | Send | Edit | Again | GoOn | Choose | Stop | AskPreview
_adapter: TypeAdapter[AnyCommand] = TypeAdapter(Annotated[AnyCommand, Field(discriminator="type")])
# Pydantic's own words for these repeat what was sent.
OWN_WORDS = {
    "union_tag_invalid": later(
        "type must be open, send, edit, again, continue, choose, stop or preview"
    ),
    "uuid_parsing": later("it must be a UUID"),
    "extra_forbidden": later("it has a field that isn't known"),
}


def parse(frame: str) -> AnyCommand:
    """Raises BadCommand with the place and the reason; never repeats what was sent."""
    try:
        return _adapter.validate_json(frame)
    except ValidationError as error:
        first = error.errors(include_input=False, include_context=False, include_url=False)[0]
        known = first["loc"][:-1] if first["type"] == "extra_forbidden" else first["loc"]
        place = ".".join(str(part) for part in known) or say("the frame")
        words = say(OWN_WORDS.get(first["type"], first["msg"]))
        raise BadCommand(
            say("This command isn't understood: {place}: {words}.", place=place, words=words)
        ) from None
    except (ValueError, RecursionError):
        raise BadCommand(say("This command isn't understood: it is not JSON.")) from None


def ref_of(frame: str) -> str:
    """The `ref` of a frame that didn't parse, so that the page knows what was refused."""
    try:
        return _Ref.model_validate_json(frame).ref
    except (ValidationError, ValueError, RecursionError):
        return ""


class _Ref(BaseModel):
    ref: Ref = ""
