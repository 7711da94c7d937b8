"""Reads a template: checks the document in `template.json` and returns the Template.

A wrong type is an error with its place in the file. Keys without effect are kept and reported:
`manage.py check` and the agent's card name them, so that nobody believes that an agent looks
something up, or follows its steps, because its template says so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import takewhile

from chatsite.agents.template import LLM, ModelSettings, Template, UnusedKey, default_max_tokens
from chatsite.checked_file import Node, storable
from chatsite.history.settings.grammar import fold, near_miss
from chatsite.history.settings.sources import PLACE
from chatsite.history.settings.table import CONVERSATION_ROWS, HISTORY_ROWS
from chatsite.messages import Message, Role
from chatsite.wording import later

# The keys that have an effect here, by the object that holds them.
FIELDS = frozenset(
    "agentId chatSettings description isEnabled mark name nodeConfigurations nodes notes "
    "personality priority tags version".split()
)
_CHAT = frozenset(
    "cacheCleanup chatPrompts conversation history initialMessages placeholderText".split()
) | {row.template for row in HISTORY_ROWS.values()}
_CONVERSATION = frozenset(CONVERSATION_ROWS)
_MODEL = frozenset(
    "frequencyPenalty maxTokens model presencePenalty reasoningEffort seed stopSequences "
    "temperature topP useTrainedPersonality".split()
)
_OPTIONS = frozenset({"maxSteps"})
_PREFILLED = frozenset({"role", "content"})

# What AgentDock's templates ask for besides, by the key's name.
_SENTENCES = {
    "orchestration": later(
        "Its steps aren't followed here (orchestration): the model may use every tool at any time."
    ),
    "maxConcurrency": later(
        "It has no limit of its own on answers at the same time (maxConcurrency): those of the "
        "server apply."
    ),
    "tokenOptimization": later(
        "Results of tools aren't shortened to save tokens (tokenOptimization): the history policy "
        "decides what is sent."
    ),
    "useSearchGrounding": later(
        "Google Search grounding isn't available here: this agent looks nothing up."
    ),
    "topK": later("Its topK isn't sent: it is no setting of chat completions."),
    "safetySettings": later("Its safety settings aren't sent: the provider's own apply."),
    "provider": later(
        "The node's name decides who answers; what its settings say of a provider isn't read."
    ),
    "useCustomApiKey": later(
        "Nobody can enter a key of their own here (useCustomApiKey): keys come from the server's "
        "environment."
    ),
    "apiKey": later(
        "What its template says of a key isn't read (apiKey): keys come from the server's "
        "environment."
    ),
}

UNKNOWN = later("{place} has no effect here.")
MISSPELLED = later("{place} has no effect here; {meant} was probably meant.")


def unused_keys(top: Node) -> Iterator[UnusedKey]:
    """In the order in which the document has its objects. A tool's configuration is the tool's
    business and not looked into."""
    yield from _unused_in(top, FIELDS | {"options"})
    for name, configuration in top["nodeConfigurations"].items():
        if name.startswith(LLM):
            yield from _unused_in(configuration, _MODEL)
    chat = top["chatSettings"]
    yield from _unused_in(chat, _CHAT)
    turns = chat["history"]
    for turn in turns.list_of("messages") if turns.value else ():
        yield from _unused_in(turn, _PREFILLED)
    if isinstance(chat[PLACE].value, dict):
        yield from _unused_in(chat[PLACE], _CONVERSATION, in_any_writing=True)
    yield from _unused_in(top["options"], _OPTIONS)


def _unused_in(
    node: Node, known: Collection[str], *, in_any_writing: bool = False
) -> Iterator[UnusedKey]:
    """With `in_any_writing`, a key that is only written otherwise than a known one has its effect
    where settings are decided."""
    passed_over = {fold(name) for name in known} if in_any_writing else set()
    for key, unknown in node.unknown(known):
        if fold(key) in passed_over:
            continue
        if key in _SENTENCES:
            if unknown.value not in (False, None, [], {}):
                yield UnusedKey(unknown.place, _SENTENCES[key])
        elif meant := near_miss(key, known):
            yield UnusedKey(unknown.place, MISSPELLED, meant=meant)
        else:
            yield UnusedKey(unknown.place, UNKNOWN)


DEFAULT_PRIORITY = 1000  # After every agent that has a priority of its own.
LONGEST_MARK = 16  # An emoji of a family has eleven characters.
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
DEFAULT_STEPS, MOST_STEPS = 20, 100
_ROLES = ("system", "user", "assistant")

UNANSWERED = later("{place} is a user message without an answer: it is not sent.")
OUT_OF_TURN = later(
    "From {place} on the example turns are not sent: after instructions, user and assistant take "
    "turns, user first."
)


def parse_template(slug: str, document: object) -> Template:
    """Check a JSON document and return its template. Raises BadFile, and nothing else."""
    top = Node(storable(document))
    top.mapping()
    chat, configurations = top["chatSettings"], top["nodeConfigurations"]
    instructions, prefilled, unsent = _read_prefilled(chat["history"])
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
        placeholder=chat.optional("placeholderText", Node.text, "").strip(),
        instructions=instructions,
        prefilled=prefilled,
        notes=_notes(top["notes"]),
        version=top.optional("version", Node.text, ""),
        enabled=top.optional("isEnabled", Node.flag, True),
        tags=top["tags"].texts(),
        priority=top.optional(
            "priority", lambda node: node.whole(-1_000_000, 1_000_000), DEFAULT_PRIORITY
        ),
        max_steps=top["options"].optional(
            "maxSteps", lambda node: node.whole(1, MOST_STEPS), DEFAULT_STEPS
        ),
        mark=top.optional("mark", lambda node: node.text(longest=LONGEST_MARK), "").strip(),
        other={key: value for key, value in top.mapping().items() if key not in FIELDS},
        unused=(*unused_keys(Node(document)), *unsent),
    )


def _name(node: Node) -> str:
    name = node.text().strip()
    if not name:
        raise node.error(later("is empty; people pick an agent by its name"))
    return name


def _personality(node: Node) -> str:
    """Text, or lines. Blank is allowed and means: no system message."""
    lines = node.texts() if isinstance(node.value, list) else (node.text(),)
    return "\n".join(lines).strip()


def _nodes(node: Node) -> tuple[str, ...]:
    for item in node.list_of("texts") if node.value is not None else ():
        if not item.text().removeprefix(LLM).strip():
            raise item.error(later("names nothing"))
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


def _notes(node: Node) -> tuple[str, ...]:
    """A text, or a list of them."""
    texts = (node.text(),) if isinstance(node.value, str) else node.texts()
    return tuple(text for text in texts if text.strip())


def _read_prefilled(given: Node) -> tuple[str, tuple[Message, ...], tuple[UnusedKey, ...]]:
    """The conversation that a template puts before every other (`chatSettings.history`): the
    instructions with which it begins, whole turns of a user message and its answer each, and what
    isn't sent of it. Raises BadFile for an entry that is no message."""
    entries = given.list_of(later("messages")) if given.value is not None else []
    for entry in entries:
        entry["role"].one_of(_ROLES)
        if not entry["content"].text().strip():
            raise entry["content"].error(later("is empty"))
    first = len(list(takewhile(lambda entry: entry["role"].value == "system", entries)))
    turns = []
    for number, entry in enumerate(entries[first:]):
        role: Role = "assistant" if number % 2 else "user"
        if entry["role"].value != role:
            break
        content = entry["content"].text()
        turns.append(Message(id=f"prefilled-{number}", role=role, content=content))
    instructions = "\n\n".join(entry["content"].text() for entry in entries[:first])
    whole = len(turns) // 2 * 2
    rest = entries[first + whole :]
    why = UNANSWERED if first + len(turns) == len(entries) else OUT_OF_TURN
    unsent = tuple(UnusedKey(entry.place, why, mistake=True) for entry in rest[:1])
    return instructions, tuple(turns[:whole]), unsent
