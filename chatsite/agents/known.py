"""The keys of a template that have an effect here; the others are kept and named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from chatsite.agents.reading import join, mapping

LLM = "llm."

FIELDS = frozenset(
    {
        "agentId",
        "chatSettings",
        "description",
        "name",
        "nodeConfigurations",
        "nodes",
        "personality",
        "priority",
        "tags",
    }
)
_TOP = FIELDS | {"isEnabled", "maxConcurrency", "notes", "options", "orchestration", "version"}
_CHAT = frozenset(
    {
        "cacheCleanup",
        "chatPrompts",
        "conversation",
        "history",
        "historyLength",
        "historyLowWater",
        "historyPolicy",
        "historySelector",
        "historyStep",
        "historySummaryModel",
        "historyTokens",
        "initialMessages",
        "placeholderText",
    }
)
_MODEL = frozenset(
    {
        "apiKey",
        "frequencyPenalty",
        "maxTokens",
        "model",
        "presencePenalty",
        "reasoningEffort",
        "seed",
        "stopSequences",
        "temperature",
        "topP",
        "useCustomApiKey",
        "useTrainedPersonality",
    }
)
_OPTIONS = frozenset({"maxSteps", "tokenOptimization"})
_PREFILLED = frozenset({"role", "content"})


def unknown(
    top: Mapping[str, object],
    configurations: Mapping[str, Mapping[str, object]],
    chat: Mapping[str, object],
) -> Iterable[str]:
    """Configurations of tools are their tool's business and not looked into."""
    options = mapping(top.get("options"), "options")
    yield from (join("", key) for key in top if key not in _TOP)
    for node, said in configurations.items():
        if node.startswith(LLM):
            place = join("nodeConfigurations", node)
            yield from (join(place, key) for key in said if key not in _MODEL)
    yield from (join("chatSettings", key) for key in chat if key not in _CHAT)
    turns = chat.get("history")
    for index, message in enumerate(turns if isinstance(turns, list) else ()):
        place = join("chatSettings.history", index)
        yield from (join(place, key) for key in mapping(message, place) if key not in _PREFILLED)
    yield from (join("options", key) for key in options if key not in _OPTIONS)
