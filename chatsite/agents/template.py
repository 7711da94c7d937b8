"""An agent's template: what `agents/<slug>/template.json` says, checked, as a frozen value.

The format is AgentDock's, so that a folder of its templates works as it is. Keys nobody here
knows are kept and reported; a wrong type is an error with its place in the file. Messages name
places and types, never values: a template may hold a key to a paid service.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from chatsite.agents.chat import prefilled, spoken
from chatsite.agents.known import FIELDS, LLM, unknown
from chatsite.agents.reading import (
    clean,
    fraction,
    join,
    mapping,
    number,
    one_of,
    optional_text,
    text,
    texts,
    whole,
    yes_or_no,
)
from chatsite.errors import BadTemplate
from chatsite.messages import Message

EMBEDDED = "embedded"
DEFAULT_PRIORITY = 1000  # After every agent that says where it wants to stand.
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
DEFAULT_STEPS, MOST_STEPS = 20, 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """How one provider is to be asked. None leaves the choice to the provider; 0 is a value.

    `max_tokens` bounds the answer and is the reply's reserve in the window.
    `trained_personality`: send the system sentence the model was trained with, not ours.
    `options` are further wishes under the names that chat completions give them.
    """

    model: str | None
    temperature: float | None
    max_tokens: int
    top_p: float | None
    trained_personality: bool
    options: Mapping[str, object] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A template that can be used.

    `chat_settings` is raw and goes to `history.resolve`; `other` holds the top-level keys that
    have no field here. Both and `configurations` are without keys to services.
    `unknown` names, dotted, what was kept but has no effect. A lower `priority` comes first.
    `max_steps` is how many times a turn may call tools before the model must answer.
    """

    slug: str
    agent_id: str
    name: str
    description: str
    personality: str
    nodes: tuple[str, ...]
    configurations: Mapping[str, Mapping[str, object]] = field(hash=False)
    chat_settings: Mapping[str, object] = field(hash=False)
    greeting: tuple[str, ...]
    prompts: tuple[str, ...]
    prefilled: tuple[Message, ...]
    tags: tuple[str, ...]
    priority: int
    max_steps: int
    other: Mapping[str, object] = field(hash=False)
    unknown: tuple[str, ...]

    @property
    def llms(self) -> tuple[str, ...]:
        """Providers in order of preference, without "llm."; empty where the template names none."""
        names = (node.removeprefix(LLM) for node in self.nodes if node.startswith(LLM))
        return tuple(dict.fromkeys(names))

    @property
    def tools(self) -> tuple[str, ...]:
        """Every other node: tools, or what AgentDock knows and nobody here does."""
        return tuple(dict.fromkeys(node for node in self.nodes if not node.startswith(LLM)))

    def model_settings(self, llm: str) -> ModelSettings:
        """Settings for that provider; the defaults where the template says nothing of it."""
        return _model_settings(llm, self.configurations.get(LLM + llm, {}))


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenTemplate:
    """A template that can't be used, and why. `file` is relative to the folder of agents.

    `key` is the dotted place in the file, "" when it is the file itself.
    """

    slug: str
    file: str
    key: str
    reason: str


def parse_template(slug: str, document: object) -> Template:
    """Check a JSON document and return its template. Raises BadTemplate, and nothing else."""
    top = mapping(clean(document), "")
    configurations = _configurations(top)
    chat = mapping(top.get("chatSettings"), "chatSettings")
    optional_text(top.get("version"), "version")
    return Template(
        slug=slug,
        agent_id=optional_text(top.get("agentId"), "agentId") or slug,
        name=_name(top),
        description=optional_text(top.get("description"), "description") or "",
        personality=_personality(top),
        nodes=_nodes(top),
        configurations=configurations,
        chat_settings=chat,
        greeting=spoken(chat, "initialMessages"),
        prompts=spoken(chat, "chatPrompts"),
        prefilled=prefilled(chat),
        tags=texts(top.get("tags"), "tags"),
        priority=_priority(top),
        max_steps=_max_steps(top),
        other={key: value for key, value in top.items() if key not in FIELDS},
        unknown=tuple(unknown(top, configurations, chat)),
    )


def _name(top: Mapping[str, object]) -> str:
    name = text(top.get("name"), "name").strip()
    if not name:
        raise BadTemplate("is empty; people pick an agent by its name", key="name")
    return name


def _personality(top: Mapping[str, object]) -> str:
    """Text, or lines. Blank is allowed and means: no system message."""
    said = top.get("personality")
    lines = texts(said, "personality") if isinstance(said, list) else (text(said, "personality"),)
    return "\n".join(lines).strip()


def _nodes(top: Mapping[str, object]) -> tuple[str, ...]:
    nodes = texts(top.get("nodes"), "nodes")
    for index, node in enumerate(nodes):
        if not node.removeprefix(LLM).strip():
            raise BadTemplate("names nothing", key=join("nodes", index))
    return nodes


def _configurations(top: Mapping[str, object]) -> dict[str, Mapping[str, object]]:
    place = "nodeConfigurations"
    found: dict[str, Mapping[str, object]] = {}
    for node, value in mapping(top.get(place), place).items():
        found[node] = mapping(value, join(place, node))
        if node.startswith(LLM):
            _model_settings(node.removeprefix(LLM), found[node])
    return found


def _model_settings(llm: str, said: Mapping[str, object]) -> ModelSettings:
    """Also run by `parse_template` for every provider: a bad value is found before a turn."""
    place = f"nodeConfigurations.{LLM}{llm}"
    default = 256 if llm == EMBEDDED else 1024
    tokens = whole(said.get("maxTokens"), join(place, "maxTokens"), lowest=1, highest=1_000_000)
    return ModelSettings(
        model=optional_text(said.get("model"), join(place, "model")) or None,
        temperature=number(said.get("temperature"), join(place, "temperature"), highest=2),
        max_tokens=default if tokens is None else tokens,
        top_p=fraction(said.get("topP"), join(place, "topP")),
        trained_personality=yes_or_no(
            said.get("useTrainedPersonality"), join(place, "useTrainedPersonality")
        ),
        options=_model_options(said, place),
    )


def _model_options(said: Mapping[str, object], place: str) -> dict[str, object]:
    """Only what is said: a provider that doesn't know one would refuse it for nothing."""
    options: dict[str, object] = {
        "seed": whole(said.get("seed"), join(place, "seed"), lowest=0, highest=2**31 - 1),
        "stop": list(texts(said.get("stopSequences"), join(place, "stopSequences"))) or None,
        "reasoning_effort": one_of(
            said.get("reasoningEffort"), join(place, "reasoningEffort"), EFFORTS
        ),
    }
    for name, key in (
        ("frequency_penalty", "frequencyPenalty"),
        ("presence_penalty", "presencePenalty"),
    ):
        options[name] = number(said.get(key), join(place, key), lowest=-2, highest=2)
    return {name: value for name, value in options.items() if value is not None}


def _priority(top: Mapping[str, object]) -> int:
    said = whole(top.get("priority"), "priority", lowest=-1_000_000, highest=1_000_000)
    return DEFAULT_PRIORITY if said is None else said


def _max_steps(top: Mapping[str, object]) -> int:
    place = "options"
    said = mapping(top.get(place), place).get("maxSteps")
    steps = whole(said, join(place, "maxSteps"), lowest=1, highest=MOST_STEPS)
    return DEFAULT_STEPS if steps is None else steps
