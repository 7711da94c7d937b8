"""Reading a template: its values, and the error for one that can't be used."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsite.agents.template import ModelSettings, Template
from chatsite.agents.template_file import parse_template
from chatsite.errors import BadFile
from tests.pseudo_language import is_said, pseudo_language

SMALLEST = {"name": "Ada", "personality": "You are Ada."}
A_SECRET = "sk-not-for-anyones-eyes"

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
KEYS = [
    "version",
    "agentId",
    "name",
    "description",
    "personality",
    "nodes",
    "nodeConfigurations",
    "chatSettings",
    "options",
    "tags",
    "priority",
    "notes",
    "isEnabled",
    "orchestration",
    "maxConcurrency",
    "surprise",
]
NODES = st.sampled_from(["llm.openai", "llm.embedded", "llm.", "search", ""])


def near(sensible: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Mostly a sensible value, sometimes any JSON."""
    return sensible | sensible | sensible | JSON


CONFIGURATION = st.fixed_dictionaries(
    {},
    optional={
        "model": near(st.text()),
        "temperature": near(st.floats(0, 2)),
        "maxTokens": near(st.integers(1, 4096)),
        "topP": near(st.floats(0, 1)),
        "useTrainedPersonality": near(st.booleans()),
        "apiKey": JSON,
    },
)
CHAT = st.fixed_dictionaries(
    {},
    optional={
        "historyPolicy": JSON,
        "historyLength": JSON,
        "initialMessages": near(st.lists(st.text(), max_size=3)),
        "chatPrompts": near(st.lists(st.text(), max_size=3)),
        "history": near(
            st.lists(
                st.fixed_dictionaries({"role": near(st.just("user")), "content": near(st.text())}),
                max_size=3,
            )
        ),
    },
)
DOCUMENTS = st.fixed_dictionaries(
    {"name": near(st.text()), "personality": near(st.text() | st.lists(st.text(), max_size=3))},
    optional={
        "nodes": near(st.lists(NODES, max_size=3)),
        "nodeConfigurations": near(st.dictionaries(NODES, near(CONFIGURATION), max_size=3)),
        "chatSettings": near(CHAT),
        "tags": near(st.lists(st.text(), max_size=3)),
        "priority": near(st.integers(0, 100)),
        "options": near(st.dictionaries(st.text(), JSON, max_size=2)),
    },
)


def a_template(**more: object) -> Template:
    return parse_template("ada", {**SMALLEST, **more})


def places(template: Template) -> tuple[str, ...]:
    return tuple(key.place for key in template.unused)


def the_error(**more: object) -> BadFile:
    with pytest.raises(BadFile) as caught:
        a_template(**more)
    return caught.value


def test_a_name_and_a_personality_are_enough() -> None:
    template = a_template()
    assert (template.slug, template.agent_id, template.name) == ("ada", "ada", "Ada")
    assert template.personality == "You are Ada."
    assert template.llms == template.greeting == template.prompts == ()
    assert template.prefilled == ()
    assert template.unused == ()


def test_a_personality_may_be_lines() -> None:
    template = parse_template("ada", {"name": "Ada", "personality": ["You are Ada.", "You count."]})
    assert template.personality == "You are Ada.\nYou count."


def test_a_blank_personality_is_allowed_and_adds_no_instructions() -> None:
    assert parse_template("ada", {"name": "Ada", "personality": ["", " "]}).personality == ""


def test_providers_are_listed_in_order_of_preference_without_tools() -> None:
    template = a_template(nodes=["search", "llm.openai", "llm.embedded", "llm.openai"])
    assert template.llms == ("openai", "embedded")
    assert template.nodes[0] == "search"


def test_every_other_node_is_a_tool_once_and_in_order() -> None:
    template = a_template(nodes=["search", "llm.openai", "mcp.files.read", "clock", "search"])
    assert template.tools == ("search", "mcp.files.read", "clock")
    assert a_template(nodes=["llm.openai"]).tools == ()


def test_steps_are_bounded_and_default_to_twenty() -> None:
    assert a_template().max_steps == 20
    assert a_template(options={"maxSteps": 5}).max_steps == 5


def test_zero_is_a_temperature() -> None:
    template = a_template(nodeConfigurations={"llm.openai": {"temperature": 0, "topP": 0}})
    settings = template.model_settings("openai")
    assert settings.temperature == 0
    assert settings.top_p == 0


def test_settings_missing_in_a_template_are_left_to_the_provider() -> None:
    template = a_template(nodeConfigurations={"llm.openai": {"temperature": None}})
    openai = ModelSettings(
        model=None, temperature=None, max_tokens=1024, top_p=None, trained_personality=False
    )
    assert template.model_settings("openai") == openai
    assert template.model_settings("embedded") == replace(openai, max_tokens=256)


def test_model_settings_belong_to_the_named_provider() -> None:
    template = a_template(
        nodeConfigurations={
            "llm.openai": {"model": "big", "maxTokens": 4096, "temperature": 1},
            "llm.embedded": {"useTrainedPersonality": True, "topP": 0.9},
        }
    )
    assert template.model_settings("openai").model == "big"
    assert template.model_settings("openai").max_tokens == 4096
    assert template.model_settings("embedded").trained_personality
    assert template.model_settings("embedded").top_p == 0.9


def test_prefilled_turns_become_messages_with_lasting_ids() -> None:
    turns = [{"role": "user", "content": "2 + 2"}, {"role": "assistant", "content": "4"}]
    template = a_template(chatSettings={"history": turns})
    assert [(m.id, m.role, m.content) for m in template.prefilled] == [
        ("prefilled-0", "user", "2 + 2"),
        ("prefilled-1", "assistant", "4"),
    ]


def test_greeting_and_prompts_leave_out_blank_texts() -> None:
    template = a_template(
        chatSettings={"initialMessages": ["Hello", " "], "chatPrompts": ["", "?"]}
    )
    assert template.greeting == ("Hello",)
    assert template.prompts == ("?",)


@pytest.mark.parametrize("length", [-1, 2.5, "20", True, None, [], 10**30])
def test_a_bad_history_setting_does_not_break_a_template(length: object) -> None:
    template = a_template(chatSettings={"historyPolicy": "lastn", "historyLength": length})
    assert template.chat_settings == {"historyPolicy": "lastn", "historyLength": length}


def test_unknown_keys_are_kept_and_reported_with_their_place() -> None:
    template = a_template(
        surprise={"a": 1},
        nodeConfigurations={"llm.openai": {"temprature": 1}, "search": {"anything": 1}},
        chatSettings={
            "colour": "red",
            "history": [
                {"role": "user", "content": "Hi", "mood": "good"},
                {"role": "assistant", "content": "Hello"},
            ],
        },
        options={"steps": 3},
    )
    assert places(template) == (
        "surprise",
        "nodeConfigurations.llm.openai.temprature",
        "chatSettings.colour",
        "chatSettings.history.0.mood",
        "options.steps",
    )
    assert template.other["surprise"] == {"a": 1}
    assert template.chat_settings["colour"] == "red"
    assert template.configurations["llm.openai"]["temprature"] == 1


def test_keys_with_an_effect_are_not_reported() -> None:
    template = a_template(
        version="1.2",
        notes=["Needs a key.", " "],
        isEnabled=False,
        options={"maxSteps": 5},
        chatSettings={
            "placeholderText": " Ask ",
            "historyRecallShare": 25,
            "conversation": {"enabled": False},
        },
        nodeConfigurations={"llm.gemini": {"seed": 1}},
    )
    assert template.unused == ()
    assert (template.version, template.notes, template.enabled) == ("1.2", ("Needs a key.",), False)
    assert template.placeholder == "Ask"
    assert a_template(notes="One.").notes == ("One.",)


def test_keys_that_ask_for_what_does_not_exist_here_are_reported_in_words() -> None:
    wanted = {"useSearchGrounding": True, "safetySettings": [{"category": "x"}], "topK": 40}
    template = a_template(
        nodeConfigurations={"llm.gemini": {**wanted, "useCustomApiKey": True, "apiKey": A_SECRET}},
        maxConcurrency=3,
        orchestration={"steps": [{"name": "One"}]},
        options={"tokenOptimization": {"compressToolOutputs": True}},
        chatSettings={"conversation": {"lookback": 3, "lookbackCount": 4}},
    )
    assert places(template) == (
        "maxConcurrency",
        "orchestration",
        *(f"nodeConfigurations.llm.gemini.{name}" for name in (*wanted, "useCustomApiKey")),
        "nodeConfigurations.llm.gemini.apiKey",
        "chatSettings.conversation.lookback",
        "options.tokenOptimization",
    )
    sentences = {key.place: key.sentence for key in template.unused}
    assert sentences["nodeConfigurations.llm.gemini.useSearchGrounding"] == (
        "Google Search grounding isn't available here: this agent looks nothing up."
    )
    assert A_SECRET not in repr(template)


def test_what_a_template_does_not_ask_for_is_not_reported() -> None:
    unwanted = {"useSearchGrounding": False, "safetySettings": [], "useCustomApiKey": False}
    template = a_template(nodeConfigurations={"llm.gemini": unwanted}, orchestration=None)
    assert template.unused == ()


def test_a_misspelt_key_says_what_was_probably_meant() -> None:
    (key,) = a_template(nodeConfigurations={"llm.openai": {"temprature": 1}}).unused
    place = "nodeConfigurations.llm.openai.temprature"
    assert key.sentence == f"{place} has no effect here; temperature was probably meant."


def test_further_parameters_are_sent_to_the_provider_under_its_names() -> None:
    wishes = {
        "seed": 7,
        "stopSequences": ["END"],
        "frequencyPenalty": -0.5,
        "reasoningEffort": "low",
    }
    template = a_template(nodeConfigurations={"llm.openai": wishes})
    assert template.model_settings("openai").options == {
        "seed": 7,
        "stop": ["END"],
        "frequency_penalty": -0.5,
        "reasoning_effort": "low",
    }
    assert template.unused == ()


@pytest.mark.parametrize("name", ["apiKey", "api_key", "APIKEY", "openaiApiKey", "x-api-key"])
def test_an_api_key_is_dropped_from_a_template(name: str) -> None:
    template = a_template(
        nodeConfigurations={"llm.openai": {name: A_SECRET}, "tool": {"deep": [{name: A_SECRET}]}},
        chatSettings={name: A_SECRET},
        options={name: A_SECRET},
        **{name: A_SECRET},
    )
    assert A_SECRET not in repr(template)


def test_the_switch_for_custom_keys_is_not_an_api_key() -> None:
    template = a_template(nodeConfigurations={"llm.openai": {"useCustomApiKey": True}})
    assert template.configurations["llm.openai"] == {"useCustomApiKey": True}


def test_a_later_change_of_the_document_does_not_change_the_template() -> None:
    document: dict[str, Any] = {**SMALLEST, "chatSettings": {"historyLength": 3}}
    template = parse_template("ada", document)
    document["chatSettings"]["historyLength"] = 5
    assert template.chat_settings["historyLength"] == 3


BRACKETS = dict.fromkeys(map(ord, "⟦⟧"))
BAD: list[tuple[dict[str, object], str, str]] = [
    ({"name": None}, "name", "is missing"),
    ({"name": "  "}, "name", "is empty"),
    ({"name": 3}, "name", "must be text, not a number"),
    ({"personality": None}, "personality", "is missing"),
    ({"personality": ["a", 1]}, "personality.1", "must be text, not a number"),
    ({"description": ["x"]}, "description", "must be text, not a list"),
    ({"version": 1.5}, "version", "must be text, not a number with a point"),
    ({"nodes": "llm.openai"}, "nodes", "must be a list of texts, not text"),
    ({"nodes": ["llm."]}, "nodes.0", "names nothing"),
    ({"nodeConfigurations": []}, "nodeConfigurations", "must be an object, not a list"),
    ({"nodeConfigurations": {"x": 1}}, "nodeConfigurations.x", "must be an object"),
    ({"chatSettings": "all"}, "chatSettings", "must be an object, not text"),
    ({"chatSettings": {"initialMessages": "Hi"}}, "chatSettings.initialMessages", "list of texts"),
    ({"chatSettings": {"history": {}}}, "chatSettings.history", "must be a list of messages"),
    ({"tags": [None]}, "tags.0", "is missing"),
    ({"priority": True}, "priority", "must be a whole number, not true or false"),
    ({"priority": 1.0}, "priority", "must be a whole number"),
    ({"priority": 10**9}, "priority", "must be from"),
    ({"options": 5}, "options", "must be an object"),
    ({"options": {"maxSteps": 0}}, "options.maxSteps", "must be from 1 to 100"),
    ({"options": {"maxSteps": "9"}}, "options.maxSteps", "must be a whole number, not text"),
    ({"description": "a\0b"}, "description", "NUL"),
    ({"description": "\ud83d"}, "description", "half a surrogate pair"),
    ({"notes": {1: 2}}, "notes", "a key that is not text"),
    ({"notes": (1, 2)}, "notes", "is not JSON data"),
]


@pytest.mark.parametrize(("more", "key", "reason"), BAD, ids=lambda value: str(value)[:30])
def test_a_wrong_value_is_named_with_its_place(
    more: dict[str, object], key: str, reason: str
) -> None:
    error = the_error(**more)
    assert error.key == key
    assert reason in error.message
    with pseudo_language():  # where it is a person's own file, all of it is in their language
        assert is_said(error.said()) and error.message in error.said().translate(BRACKETS)


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"temperature": "0.2"}, "temperature"),
        ({"temperature": 2.1}, "temperature"),
        ({"temperature": float("nan")}, "temperature"),
        ({"temperature": False}, "temperature"),
        ({"maxTokens": 0}, "maxTokens"),
        ({"maxTokens": 256.0}, "maxTokens"),
        ({"topP": 1.01}, "topP"),
        ({"topP": -1}, "topP"),
        ({"model": 4}, "model"),
        ({"useTrainedPersonality": "yes"}, "useTrainedPersonality"),
        ({"reasoningEffort": "much"}, "reasoningEffort"),
    ],
)
def test_model_settings_are_checked_when_a_template_is_read(
    settings: dict[str, object], key: str
) -> None:
    error = the_error(nodeConfigurations={"llm.openai": settings})
    assert error.key == f"nodeConfigurations.llm.openai.{key}"


@pytest.mark.parametrize(
    ("turns", "key", "reason"),
    [
        ([{"role": "tool", "content": "Hi"}], "0.role", "must be one of: system, user, assistant"),
        ([{"role": "user", "content": " "}], "0.content", "is empty"),
        ([{"role": "user"}], "0.content", "is missing"),
        (["Hi"], "0", "must be an object"),
    ],
)
def test_a_prefilled_entry_must_be_a_message(turns: object, key: str, reason: str) -> None:
    error = the_error(chatSettings={"history": turns})
    assert error.key == f"chatSettings.history.{key}"
    assert reason in error.message


@pytest.mark.parametrize(
    ("roles", "kept", "place", "words"),
    [
        ("ua", 2, "", ""),
        ("sua", 2, "", ""),
        ("ss", 0, "", ""),
        ("uau", 2, "2", "is a user message without an answer"),
        ("su", 0, "1", "is a user message without an answer"),
        ("a", 0, "0", "user and assistant take turns"),
        ("uauu", 2, "2", "From chatSettings.history.2 on"),
        ("uasua", 2, "2", "From chatSettings.history.2 on"),
    ],
)
def test_what_forms_no_whole_turn_is_passed_over_in_words(
    roles: str, kept: int, place: str, words: str
) -> None:
    names = {"s": "system", "u": "user", "a": "assistant"}
    entries = [{"role": names[role], "content": f"{role}{n}"} for n, role in enumerate(roles)]
    template = a_template(chatSettings={"history": entries})
    assert [m.role for m in template.prefilled] == ["user", "assistant"] * (kept // 2)
    first = len(roles) - len(roles.lstrip("s"))
    assert template.instructions == "\n\n".join(f"s{n}" for n in range(first))
    assert places(template) == ((f"chatSettings.history.{place}",) if place else ())
    assert all(words in key.sentence and key.mistake for key in template.unused)


@pytest.mark.parametrize("document", [None, [], "text", 3, True])
def test_a_document_that_is_not_an_object_is_refused(document: object) -> None:
    with pytest.raises(BadFile, match="must be an object") as caught:
        parse_template("ada", document)
    assert caught.value.key == ""


def test_very_deep_nesting_is_refused() -> None:
    document: dict[str, object] = dict(SMALLEST)
    document["notes"] = document
    with pytest.raises(BadFile, match="nested deeper"):
        parse_template("ada", document)


def test_an_odd_key_is_shortened_and_shown_printably() -> None:
    unknown = places(a_template(**{"\x1b[31m": 1, "x" * 5000: 1}))
    assert unknown[0] == "\\x1b[31m"
    assert len(unknown[1]) == 80


@pytest.mark.slow
@given(document=JSON | DOCUMENTS | st.dictionaries(st.sampled_from(KEYS), JSON))
def test_any_json_gives_a_template_or_a_named_error(document: object) -> None:
    try:
        template = parse_template("ada", document)
    except BadFile as error:
        assert error.message
        return
    for llm in (*template.llms, "embedded", "other"):
        assert template.model_settings(llm).max_tokens >= 1
    assert len(template.prefilled) % 2 == 0
    json.dumps([template.name, template.personality, template.greeting]).encode()
    hash(template)


@pytest.mark.slow
@given(document=DOCUMENTS)
def test_no_message_quotes_a_value(document: dict[str, object]) -> None:
    try:
        parse_template("ada", {**document, "apiKey": A_SECRET, "priority": A_SECRET})
    except BadFile as error:
        assert A_SECRET not in error.message + error.key
    else:
        raise AssertionError("a text was taken for a priority")


def test_what_has_no_effect_is_said_in_the_language_of_whoever_reads_it() -> None:
    """A template is read once for all people."""
    template = a_template(
        maxConcurrency=3,
        chatSettings={"histroy": 1},
        nodeConfigurations={"llm.openai": {"temprature": 1, "shape": "round"}},
    )
    assert len(template.unused) == 4
    english = [key.sentence for key in template.unused]
    with pseudo_language():
        assert all(is_said(key.sentence) for key in template.unused)
    assert [key.sentence for key in template.unused] == english
