"""Reads a template: checks the document in `template.json` and returns the Template.

Keys nobody here knows are kept and reported; a wrong type is an error with its place in the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from chatsite.agents.template import LLM, ModelSettings, Template, default_max_tokens
from chatsite.checked_file import Node, storable
from chatsite.messages import Message, Role

DEFAULT_PRIORITY = 1000  # After every agent that has a priority of its own.
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
DEFAULT_STEPS, MOST_STEPS = 20, 100

# The keys that have an effect here, by the object that holds them.
_FIELDS = frozenset(
    "agentId chatSettings description name nodeConfigurations nodes personality priority tags"
    "".split()
)
_TOP = _FIELDS | set("isEnabled maxConcurrency notes options orchestration version".split())
_CHAT = frozenset(
    "cacheCleanup chatPrompts conversation history historyLength historyLowWater historyPolicy "
    "historySelector historyStep historySummaryModel historyTokens initialMessages placeholderText"
    "".split()
)
_MODEL = frozenset(
    "apiKey frequencyPenalty maxTokens model presencePenalty reasoningEffort seed stopSequences "
    "temperature topP useCustomApiKey useTrainedPersonality"
    "".split()
)
_OPTIONS = frozenset({"maxSteps", "tokenOptimization"})
_PREFILLED = frozenset({"role", "content"})


def parse_template(slug: str, document: object) -> Template:
    """Check a JSON document and return its template. Raises BadFile, and nothing else."""
    top = Node(storable(document))
    top.mapping()
    chat, configurations = top["chatSettings"], top["nodeConfigurations"]
    top.optional("version", Node.text, None)
    return Template(
        slug=slug,
        agent_id=top.optional("agentId", Node.text, "") or slug,
        name=_name(top["name"]),
        description=top.optional("description", Node.text, ""),
        personality=_personality(top["personality"]),
        nodes=_nodes(top["nodes"]),
        configurations={node: value.mapping() for node, value in configurations.items()},
        models={
            node.removeprefix(LLM): _model_settings(node.removeprefix(LLM), value)
            for node, value in configurations.items()
            if node.startswith(LLM)
        },
        chat_settings=chat.mapping(),
        greeting=_shown_texts(chat["initialMessages"]),
        prompts=_shown_texts(chat["chatPrompts"]),
        prefilled=_prefilled(chat["history"]),
        tags=top["tags"].texts(),
        priority=top.optional(
            "priority", lambda node: node.whole(-1_000_000, 1_000_000), DEFAULT_PRIORITY
        ),
        max_steps=top["options"].optional(
            "maxSteps", lambda node: node.whole(1, MOST_STEPS), DEFAULT_STEPS
        ),
        other={key: value for key, value in top.mapping().items() if key not in _FIELDS},
        unknown=tuple(node.place for node in _unknown(top)),
    )


def _name(node: Node) -> str:
    name = node.text().strip()
    if not name:
        raise node.error("is empty; people pick an agent by its name")
    return name


def _personality(node: Node) -> str:
    """Text, or lines. Blank is allowed and means: no system message."""
    lines = node.texts() if isinstance(node.value, list) else (node.text(),)
    return "\n".join(lines).strip()


def _nodes(node: Node) -> tuple[str, ...]:
    for item in node.list_of("texts") if node.value is not None else ():
        if not item.text().removeprefix(LLM).strip():
            raise item.error("names nothing")
    return node.texts()


def _model_settings(llm: str, given: Node) -> ModelSettings:
    return ModelSettings(
        model=given.optional("model", Node.text, None) or None,
        temperature=given.optional("temperature", lambda node: node.number(0, 2), None),
        max_tokens=given.optional(
            "maxTokens", lambda node: node.whole(1, 1_000_000), default_max_tokens(llm)
        ),
        top_p=given.optional("topP", lambda node: node.number(0, 1), None),
        trained_personality=given.optional("useTrainedPersonality", Node.flag, False),
        options=_model_options(given),
    )


def _model_options(given: Node) -> Mapping[str, object]:
    """Only those that are set: a provider that doesn't know one would refuse the request."""
    options: dict[str, object] = {
        "seed": given.optional("seed", lambda node: node.whole(0, 2**31 - 1), None),
        "stop": list(given["stopSequences"].texts()) or None,
        "reasoning_effort": given.optional(
            "reasoningEffort", lambda node: node.one_of(EFFORTS), None
        ),
        "frequency_penalty": given.optional("frequencyPenalty", _penalty, None),
        "presence_penalty": given.optional("presencePenalty", _penalty, None),
    }
    return {name: value for name, value in options.items() if value is not None}


def _penalty(node: Node) -> float:
    return node.number(-2, 2)


def _shown_texts(node: Node) -> tuple[str, ...]:
    """Texts that the page shows; a blank one would be an empty bubble or button."""
    return tuple(text for text in node.texts() if text.strip())


def _prefilled(node: Node) -> tuple[Message, ...]:
    """Example turns, user and assistant in turn, which stand whole before every request."""
    if node.value is None:
        return ()
    found: list[Message] = []
    for index, message in enumerate(node.list_of("messages with role and content")):
        role: Role = "assistant" if index % 2 else "user"
        if message["role"].value != role:
            raise message["role"].error(
                f'must be "{role}": user and assistant take turns, user first'
            )
        content = message["content"].text()
        if not content.strip():
            raise message["content"].error("is empty")
        found.append(Message(id=f"prefilled-{index}", role=role, content=content))
    if len(found) % 2:
        raise node.error("must end with an assistant message")
    return tuple(found)


def _unknown(top: Node) -> Iterator[Node]:
    """Keys without an effect. A tool's configuration is the tool's business and not looked into."""
    checked = [(top, _TOP)]
    checked += [
        (value, _MODEL) for name, value in top["nodeConfigurations"].items() if name.startswith(LLM)
    ]
    checked.append((top["chatSettings"], _CHAT))
    turns = top["chatSettings"]["history"]
    checked += [(turn, _PREFILLED) for turn in (turns.list_of("messages") if turns.value else ())]
    checked.append((top["options"], _OPTIONS))
    for node, known in checked:
        yield from (unknown for _, unknown in node.unknown(known))
