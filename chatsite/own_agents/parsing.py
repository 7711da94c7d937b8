"""A template that a person wrote in the page: what of it is kept, and what it may say."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from chatsite.agents.template import EMBEDDED, LLM, ModelSettings, Template, default_max_tokens
from chatsite.agents.template_file import parse_template
from chatsite.checked_file import storable
from chatsite.errors import BadFile
from chatsite.wording import later, say

# Characters: of each text, and of the whole document.
LONGEST = {"name": 80, "description": 400, "personality": 20_000}
LARGEST = 48_000
MOST_LINES = 20
NO_OBJECT = later("A template is a JSON object.")
TOO_LONG = later("This has {length:,} characters; {most:,} are allowed.")
TOO_MANY = later("These are {count}; {most} are allowed.")


def own_document(given: object, *, tools: Collection[str]) -> dict[str, Any]:
    """The document as it is kept: without keys to services, without tools other than these, without
    what only a file of the server may say. Raises BadFile with the place of what is wrong.

    A tool's configuration is the administrator's business, and so is the sentence that the small
    model was trained with.
    """
    document = storable(given)
    if not isinstance(document, dict):
        raise BadFile(say(NO_OBJECT))
    if isinstance(nodes := document.get("nodes"), list):
        document["nodes"] = [node for node in nodes if _is_kept(node, tools)]
    if isinstance(configurations := document.get("nodeConfigurations"), dict):
        document["nodeConfigurations"] = {
            node: _without_server_things(value)
            for node, value in configurations.items()
            if node.startswith(LLM)
        }
    _require_size(document)
    parse_template("own", document)
    return document


def _is_kept(node: object, tools: Collection[str]) -> bool:
    """What isn't text is kept: the template's parser names its place."""
    return not isinstance(node, str) or node.startswith(LLM) or node in tools


def _without_server_things(value: object) -> object:
    if not isinstance(value, dict):
        return value
    return {name: one for name, one in value.items() if name != "useTrainedPersonality"}


def _require_size(document: Mapping[str, Any]) -> None:
    sizes = {name: _length(document.get(name)) for name in LONGEST}
    for name, length in sizes.items():
        if length > LONGEST[name]:
            raise BadFile(say(TOO_LONG, length=length, most=LONGEST[name]), key=name)
    chat = document.get("chatSettings")
    for name in ("chatPrompts", "initialMessages"):
        lines = chat.get(name) if isinstance(chat, dict) else None
        if isinstance(lines, list) and len(lines) > MOST_LINES:
            words = say(TOO_MANY, count=len(lines), most=MOST_LINES)
            raise BadFile(words, key=f"chatSettings.{name}")
    if (length := len(json.dumps(document, ensure_ascii=False))) > LARGEST:
        raise BadFile(say(TOO_LONG, length=length, most=LARGEST))


def _length(value: object) -> int:
    """The characters of a text, or of lines."""
    lines = value if isinstance(value, list) else [value]
    return sum(len(line) for line in lines if isinstance(line, str))


def named_model(template: Template) -> str:
    """The model that an own agent asks for, as `provider:model`, "" for none."""
    llm = next(iter(template.llms), "")
    model = template.model_settings(llm).model if llm else None
    return f"{llm}:{model}" if model else ""


@lru_cache(maxsize=256)
def with_models_of(template: Template, usual: Template) -> Template:
    """An own agent as the `usual` agent's models would answer for it, with its own settings of a
    model. Which model it asks for itself is a choice, as if it were made in the page: the rules for
    choices apply to it (`named_model`)."""
    own = next((template.models[llm] for llm in template.llms if llm in template.models), None)
    models = {
        llm: _settings(own, llm, usual.model_settings(llm).model)
        for llm in dict.fromkeys((*usual.llms, *template.llms, EMBEDDED))
    }
    return replace(
        template,
        nodes=(*(LLM + llm for llm in usual.llms), *template.tools),
        configurations={LLM + llm: {} for llm in models},
        models=models,
    )


def _settings(own: ModelSettings | None, llm: str, model: str | None) -> ModelSettings:
    base = own or ModelSettings(max_tokens=default_max_tokens(llm))
    return replace(base, model=model, trained_personality=False)
