"""What a template asks for and doesn't get here: every key without effect, in words.

`manage.py check` and the agent's card name them, so that nobody believes that an agent looks
something up, or follows its steps, because its template says so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from chatsite.agents.template import LLM, UnusedKey
from chatsite.checked_file import Node
from chatsite.history.settings.grammar import fold, near_miss
from chatsite.history.settings.sources import PLACE
from chatsite.history.settings.table import CONVERSATION_ROWS, HISTORY_ROWS
from chatsite.wording import later

# The keys that have an effect here, by the object that holds them.
FIELDS = frozenset(
    "agentId chatSettings description isEnabled name nodeConfigurations nodes notes personality "
    "priority tags version".split()
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
        # A name that is only written differently is passed over where settings are decided.
        yield from _unused_in(chat[PLACE], _CONVERSATION, but=_is_written_differently)
    yield from _unused_in(top["options"], _OPTIONS)


def _unused_in(
    node: Node, known: Collection[str], *, but: Callable[[str], bool] = lambda key: False
) -> Iterator[UnusedKey]:
    for key, unknown in node.unknown(known):
        asks_for_nothing = key in _SENTENCES and unknown.value in (False, None, [], {})
        if not asks_for_nothing and not but(key):
            yield _unused_key(unknown, key, known)


def _is_written_differently(key: str) -> bool:
    return fold(key) in {fold(known) for known in _CONVERSATION}


def _unused_key(node: Node, key: str, known: Collection[str]) -> UnusedKey:
    if key in _SENTENCES:
        return UnusedKey(node.place, _SENTENCES[key])
    if meant := near_miss(key, known):
        return UnusedKey(node.place, MISSPELLED, meant=meant)
    return UnusedKey(node.place, UNKNOWN)
