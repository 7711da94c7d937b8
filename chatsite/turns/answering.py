"""Who answers for an agent: the provider, the model and what stands before the conversation."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from chatsite.agents.template import ModelSettings, Template
from chatsite.errors import ProviderError
from chatsite.history import Head, Window, estimate
from chatsite.messages import Message
from chatsite.providers.base import NO_FILES, Files, Model, Provider, Request, ToolSpec
from chatsite.tools.base import Tool

NAMES = {
    "openai": "OpenAI",
    "anthropic": "Anthropic",
    "gemini": "Gemini",
    "groq": "Groq",
    "deepseek": "DeepSeek",
    "cerebras": "Cerebras",
}
# Where nothing that a template names can be reached: the model on this machine, then no model.
FALLBACKS = ("embedded", "echo")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answering:
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
    def window(self) -> Window:
        return Window(size=self.model.window, reply=self.settings.max_tokens)

    @property
    def head(self) -> Head:
        """Personality, then the prefilled turns, and what the tools take."""
        head = Head.of(self.system or None, self.template.prefilled)
        return replace(head, tools=tool_tokens(self.tools)) if self.tools else head

    @property
    def parameters(self) -> dict[str, object]:
        """What is asked of the model besides the messages, for the receipt."""
        asked = {
            "model": self.model.name,
            "max_tokens": self.settings.max_tokens,
            "temperature": self.settings.temperature,
            "top_p": self.settings.top_p,
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
    ) -> Request:
        """`messages` as the model takes them (see `turns.files.for_model`)."""
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
        )


def spec_of(tool: Tool) -> ToolSpec:
    return ToolSpec(name=tool.name, description=tool.description, parameters=tool.parameters)


def tool_tokens(tools: Sequence[Tool]) -> int:
    """What their descriptions take in a request, estimated: providers write them out as JSON."""
    said = [[tool.name, tool.description, tool.parameters] for tool in tools]
    return estimate(json.dumps(said, ensure_ascii=False))


def nobody(slug: str) -> dict[str, Any]:
    """An agent that isn't there any more, as the page shows it: its conversations are kept."""
    return {
        "slug": slug,
        "name": slug,
        "description": "",
        "greeting": [],
        "prompts": [],
        "tags": [],
        "provider": {"kind": "", "label": "", "note": "This agent can't answer now."},
        "broken": {"file": "", "key": "", "reason": "There is no such agent any more."},
    }


def answering(
    template: Template, providers: Mapping[str, Provider], *, trained_system: str = ""
) -> Answering:
    """Choose by the template's order of preference; `providers` holds those that can be reached.

    `trained_system` is the sentence that the bundled model was trained with, empty where another
    model answers: an agent that asks for it gets it in place of its personality.
    """
    wanted = template.llms or FALLBACKS
    name = next((llm for llm in (*wanted, *FALLBACKS) if llm in providers), None)
    if name is None:
        raise ProviderError("No model can be reached.", code="no_provider")
    provider = providers[name]
    settings = template.model_settings(name)
    model = provider.model(settings.model)
    trained = name == "embedded" and trained_system and settings.trained_personality
    return Answering(
        agent=template.slug,
        template=template,
        provider=provider,
        model=model,
        settings=replace(settings, max_tokens=min(settings.max_tokens, model.window // 2)),
        system=trained_system if trained else template.personality,
        note=_note(template, name, model),
    )


def _note(template: Template, name: str, model: Model) -> str:
    notes = []
    if template.llms and not {name, *FALLBACKS} & {*template.llms}:
        made_for = NAMES.get(template.llms[0], template.llms[0])
        notes.append(f"This agent is made for {made_for}, which has no key here.")
    if model.note:
        notes.append(model.note)
    return " ".join(notes)
