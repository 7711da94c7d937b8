"""Who answers for an agent: the provider, the model and what stands before the conversation."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from chatsite.agents.template import EMBEDDED, LLM, ModelSettings, Template
from chatsite.errors import ProviderError
from chatsite.history import Head, Window, estimate
from chatsite.messages import Message
from chatsite.providers.base.files import NO_FILES, Files
from chatsite.providers.base.model import Model
from chatsite.providers.base.provider import Provider, Request, ToolSpec
from chatsite.providers.known.servers import SERVERS
from chatsite.tools.tool import Tool

HEADS = 64
# Where nothing that a template names can be reached: the model on this machine, then no model.
FALLBACKS = ("embedded", "echo")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedAgent:
    """An agent with the provider that answers for it now. `note` is for the page, or empty.

    `tools` are those that the agent has and its model can call.
    """

    agent: str
    template: Template
    provider: Provider
    model: Model
    settings: ModelSettings
    system: str
    note: str
    tools: tuple[Tool, ...] = ()

    @property
    def full_name(self) -> str:
        """`provider:model`, as settings and pages name it."""
        return f"{self.model.provider}:{self.model.name}"

    @property
    def window(self) -> Window:
        return Window(size=self.model.window, reply=self.settings.max_tokens)

    @property
    def head(self) -> Head:
        """Personality, then the prefilled turns, and what the tools take."""
        head = _head(self.system, self.template.prefilled)
        return replace(head, tools=tool_tokens(self.tools)) if self.tools else head

    @property
    def parameters(self) -> dict[str, object]:
        """What is asked of the model besides the messages, for the receipt."""
        asked = {
            "model": self.model.name,
            "max_tokens": self.settings.max_tokens,
            "temperature": self.settings.temperature if self.model.samples else None,
            "top_p": self.settings.top_p if self.model.samples else None,
            **self.settings.options,
            "tools": [tool.name for tool in self.tools] or None,
        }
        return {name: value for name, value in asked.items() if value is not None}

    def request(
        self,
        conversation: str,
        messages: tuple[Message, ...],
        *,
        files: Files = NO_FILES,
        may_call: bool = True,
        head: int = 0,
        answer: str = "",
    ) -> Request:
        """`messages` as the model takes them (see `turns.context.file_forms.rendered`)."""
        return Request(
            conversation=conversation,
            messages=messages,
            model=self.model.name,
            max_tokens=self.settings.max_tokens,
            temperature=self.settings.temperature,
            top_p=self.settings.top_p,
            options=self.settings.options,
            tools=tuple(spec_of(tool) for tool in self.tools),
            may_call=may_call,
            files=files,
            head=head,
            answer=answer,
        )


@lru_cache(maxsize=HEADS)
def _head(system: str, prefilled: tuple[Message, ...]) -> Head:
    """A turn asks four times."""
    return Head.of(system or None, prefilled)


def spec_of(tool: Tool) -> ToolSpec:
    return ToolSpec(name=tool.name, description=tool.description, parameters=tool.parameters)


def tool_tokens(tools: Sequence[Tool]) -> int:
    """What their descriptions take in a request, estimated: providers write them out as JSON."""
    said = [[tool.name, tool.description, tool.parameters] for tool in tools]
    return estimate(json.dumps(said, ensure_ascii=False))


def missing_agent(slug: str) -> dict[str, Any]:
    """An agent that isn't there any more, as the page shows it: its conversations are kept."""
    return {
        "slug": slug,
        "name": slug,
        "description": "",
        "greeting": [],
        "prompts": [],
        "tags": [],
        "provider": {
            "kind": "",
            "model": "",
            "label": "",
            "note": "This agent can't answer now.",
            "tools": False,
            "takes": [],
        },
        "tools": [],
        "missing": [],
        "broken": {"file": "", "key": "", "reason": "There is no such agent any more."},
    }


def answering(
    template: Template,
    providers: Mapping[str, Provider],
    *,
    chat_model: str = "",
    chosen: str = "",
    refused: str = "",
    trained_system: str = "",
) -> ResolvedAgent:
    """Who answers: the administrator's `chat_model`, else the model `chosen` in the page, else the
    template's order of preference. The first two are `provider:model`; `providers` holds those that
    can be reached. What can't apply is passed over, and the note says so; `refused` is why the
    chosen one may not be taken, "" where it may.

    `trained_system` is the sentence that the bundled model was trained with, empty where another
    model answers: an agent that asks for it gets it in place of its personality.
    """
    name, asked, passed_over = _wanted(providers, chat_model, chosen, refused)
    made_for = ""
    if not name:
        name = next((llm for llm in (*template.llms, *FALLBACKS) if llm in providers), "")
        made_for = _made_for(template, name)
    if not name:
        raise ProviderError("No model can be reached.", code="no_provider")
    provider = providers[name]
    settings = _settings(template, name)
    model = provider.model(asked or settings.model)
    trained = name == EMBEDDED and trained_system and settings.trained_personality
    notes = (passed_over and f"{passed_over} {model.label} answers.", made_for, model.note)
    return ResolvedAgent(
        agent=template.slug,
        template=template,
        provider=provider,
        model=model,
        settings=replace(settings, max_tokens=min(settings.max_tokens, model.window // 2)),
        system=trained_system if trained else template.personality,
        note=" ".join(note for note in notes if note),
    )


def _wanted(
    providers: Mapping[str, Provider], chat_model: str, chosen: str, refused: str
) -> tuple[str, str, str]:
    """Provider and model that stand above the template, "" for none, and what was passed over."""
    if chat_model:
        name, _, asked = chat_model.partition(":")
        if name in providers:
            return name, asked, refused if chosen != chat_model else ""
        return "", "", f"The administrator's model {chat_model} can't be reached."
    if chosen:
        name, _, asked = chosen.partition(":")
        if not refused and name in providers:
            return name, asked, ""
        return "", "", refused or f"{chosen}, which was chosen here, can't be reached now."
    return "", "", ""


def _settings(template: Template, llm: str) -> ModelSettings:
    """The template's for that provider. Where it says nothing of it, how the agent wants to be
    asked elsewhere holds too, but for the name of a model and what the engine here is bound to."""
    elsewhere = [name for name in template.llms if LLM + name in template.configurations]
    if LLM + llm in template.configurations or llm in FALLBACKS:
        return template.model_settings(llm)
    like = next((name for name in elsewhere if name != EMBEDDED), llm)
    return replace(template.model_settings(like), model=None)


def _made_for(template: Template, name: str) -> str:
    """Why something else stands in for all that the template names."""
    if not template.llms or {name, *FALLBACKS} & {*template.llms}:
        return ""
    wanted = template.llms[0]
    server = SERVERS.get(wanted)
    label = server.label if server else wanted
    why = "which has no key here" if server and server.key else "which can't be reached here"
    return f"This agent is made for {label}, {why}."
