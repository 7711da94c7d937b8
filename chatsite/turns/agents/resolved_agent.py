"""Who answers for an agent: the provider, the model, its settings and its tools."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

from chatsite.agents.template import EMBEDDED, LLM, OWN_PREFIX, ModelSettings, Template
from chatsite.errors import ProviderError
from chatsite.history import Head, Window, estimate
from chatsite.history.path.own_lines import RECALL
from chatsite.messages import Message
from chatsite.providers.base.files import NO_FILES, Files
from chatsite.providers.base.provider import Model, Provider, Request, ToolSpec
from chatsite.providers.known.servers import SERVERS
from chatsite.tools.tool import Tool
from chatsite.tools.toolbox import MOST_TOOLS
from chatsite.wording import say

HEADS = 64
# What the model reads of the instructions that a person gives to every agent.
OWN = "The person you talk to asks this of every assistant:\n\n{text}"
# Where nothing that a template names can be reached: the model on this machine, then no model.
FALLBACKS = ("embedded", "echo")


# What was chosen of `temperature` and `max_tokens` for a conversation.
Tuning = Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class ResolvedAgent:
    """An agent with the provider and model that answer for it now. `note` is for the page, or "".

    `own` are the instructions that the person who asks gives to every agent, "" for none. `tools`
    are the agent's tools, as far as its model can call tools. `dropped` says in sentences
    what of the template's settings doesn't apply with this model.
    """

    template: Template
    provider: Provider
    model: Model
    model_settings: ModelSettings
    system: str
    note: str
    own: str = ""
    tools: tuple[Tool, ...] = ()
    dropped: tuple[str, ...] = ()

    @property
    def slug(self) -> str:
        return self.template.slug

    @property
    def full_name(self) -> str:
        """`provider:model`, as settings and pages name it."""
        return f"{self.model.provider}:{self.model.name}"

    @cached_property
    def window(self) -> Window:
        reply = self.model_settings.max_tokens
        return Window(size=self.model.prompt_room(reply) + reply, reply=reply)

    @property
    def has_cache(self) -> bool:
        """Whether the model runs on this machine, so that its KV cache is ours to clean up."""
        return self.provider.kind == EMBEDDED

    @property
    def cached_price(self) -> float | None:
        """What a token from the model's cache costs, of one that is read anew; None where that
        isn't known. Here reading takes time alone, and nearly none for what is cached."""
        if self.has_cache:
            return 0.0
        return self.model.price.cached_share if self.model.price else None

    @cached_property
    def head(self) -> Head:
        """Personality, the person's own instructions, then the prefilled turns, and what the tools
        take."""
        head = _head(self.system, self.template.prefilled, self.own)
        if not self.tools:
            return head
        recall = any(tool.name == RECALL for tool in self.tools)
        return replace(head, tools=tool_tokens(self.tools), recall=recall)

    @property
    def asked(self) -> dict[str, object]:
        """What a request carries besides the messages, and what of the agent's settings it goes
        without, as the receipt has them."""
        parameters = self.provider.parameters(self.request("", ()))
        tools = [tool.name for tool in self.tools]
        sent = {
            "model": self.model.name,
            "max_tokens": self.model_settings.max_tokens,
            **parameters.sent,
            **({"tools": tools} if tools else {}),
        }
        return {"asked": sent, "dropped": [*self.dropped, *parameters.dropped]}

    def as_known_now(self) -> ResolvedAgent:
        """With what its server has refused meanwhile."""
        model = self.provider.model(self.model.name)
        reply = min(self.model_settings.max_tokens, model.window // 2)
        settings = replace(self.model_settings, max_tokens=reply)
        now = replace(self, model=model, model_settings=settings)
        return now if model.tools else now.without_tools()

    def with_own(self, instructions: str) -> ResolvedAgent:
        """With the instructions that a person gives to every agent."""
        return replace(self, own=instructions)

    def tuned(self, tuning: Tuning) -> ResolvedAgent:
        """With the temperature and the longest reply that were chosen for the conversation, as far
        as the model takes them."""
        settings, dropped = self.model_settings, self.dropped
        if (wanted := tuning.get("temperature")) is not None:
            settings = replace(settings, temperature=float(wanted))
        if (length := tuning.get("max_tokens")) is not None:
            model = self.model
            reply = min(int(length), model.window // 2, model.longest or int(length))
            settings = replace(settings, max_tokens=reply)
            dropped = _shortened(int(length), reply, model)
        return replace(self, model_settings=settings, dropped=dropped)

    def with_tool(self, tool: Tool) -> ResolvedAgent:
        """With one more tool, unless it has that, or its model can't use any or no more."""
        has = any(tool.name == one.name for one in self.tools)
        may = self.model.tools and len(self.tools) < MOST_TOOLS
        return self if has or not may else replace(self, tools=(*self.tools, tool))

    def without_tools(self) -> ResolvedAgent:
        """For a model that can't use tools."""
        if not (self.tools or self.template.tools):
            return self
        sentence = say("Tools are not sent: {model} can't use any.", model=self.model.label)
        return replace(self, tools=(), dropped=(*self.dropped, sentence))

    def request(
        self,
        conversation: str,
        messages: tuple[Message, ...],
        *,
        files: Files = NO_FILES,
        may_call: bool = True,
        head: int = 0,
        answer: str = "",
        after: str = "",
    ) -> Request:
        """`messages` as the model takes them (see `turns.context.file_forms.rendered`)."""
        return Request(
            conversation=conversation,
            messages=messages,
            model=self.model.name,
            max_tokens=self.model_settings.max_tokens,
            temperature=self.model_settings.temperature,
            top_p=self.model_settings.top_p,
            options=self.model_settings.options,
            tools=tuple(
                ToolSpec(name=tool.name, description=tool.description, parameters=tool.parameters)
                for tool in self.tools
            ),
            may_call=may_call,
            files=files,
            head=head,
            answer=answer,
            after=after,
        )


@lru_cache(maxsize=HEADS)
def _head(system: str, prefilled: tuple[Message, ...], own: str) -> Head:
    return Head.of(system or None, prefilled, own=OWN.format(text=own) if own else "")


def tool_tokens(tools: Sequence[Tool]) -> int:
    """Estimated tokens of their descriptions in a request: providers send them as JSON."""
    described = [[tool.name, tool.description, tool.parameters] for tool in tools]
    return estimate(json.dumps(described, ensure_ascii=False))


def missing_agent(slug: str) -> dict[str, Any]:
    """An agent that was removed, or that is somebody else's now, as the page shows it: its
    conversations are kept."""
    return {
        "slug": slug,
        "name": say("Removed agent") if slug.startswith(OWN_PREFIX) else slug,
        "mark": "",
        "description": "",
        "greeting": [],
        "prompts": [],
        "tags": [],
        "provider": {
            "kind": "",
            "model": "",
            "label": "",
            "note": say("This agent can't answer now."),
            "tools": False,
            "takes": [],
        },
        "placeholder": "",
        "notes": [],
        "version": "",
        "tools": [],
        "missing": [],
        "unused": [],
        "broken": {"file": "", "key": "", "reason": say("There is no such agent any more.")},
    }


def resolve_agent(
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
    can be reached. What can't apply is skipped, and the note says so; `refused` is why the chosen
    model is not allowed, "" where it is.

    `trained_system` is the sentence that the bundled model was trained with, empty where another
    model answers: an agent that asks for it gets it in place of its personality. The template's own
    instructions follow either.
    """
    name, asked, skipped = _wanted(providers, chat_model, chosen, refused)
    replaces = ""
    if not name:
        name = next((llm for llm in (*template.llms, *FALLBACKS) if llm in providers), "")
        replaces = _replacement_note(template, name)
    if not name:
        raise ProviderError(say("No model can be reached."), code="no_provider")
    provider = providers[name]
    settings = _settings(template, name)
    model = provider.model(asked or settings.model)
    reply = min(settings.max_tokens, model.window // 2, model.longest or settings.max_tokens)
    trained = name == EMBEDDED and trained_system and settings.trained_personality
    system = (trained_system if trained else template.personality, template.instructions)
    notes = (
        skipped and say("{why} {model} answers.", why=skipped, model=model.label),
        replaces,
        model.note,
    )
    return ResolvedAgent(
        template=template,
        provider=provider,
        model=model,
        model_settings=replace(settings, max_tokens=reply),
        system="\n\n".join(text for text in system if text),
        note=" ".join(note for note in notes if note),
        dropped=_shortened(settings.max_tokens, reply, model),
    )


def _shortened(wanted: int, reply: int, model: Model) -> tuple[str, ...]:
    if wanted <= reply:
        return ()
    if reply == model.longest:
        return (
            say(
                "maxTokens {wanted:,} is taken as {reply:,}: {model} gives no longer reply.",
                wanted=wanted,
                reply=reply,
                model=model.name,
            ),
        )
    return (
        say(
            "maxTokens {wanted:,} is taken as {reply:,}: half of the model's window is kept for "
            "the prompt.",
            wanted=wanted,
            reply=reply,
        ),
    )


def _wanted(
    providers: Mapping[str, Provider], chat_model: str, chosen: str, refused: str
) -> tuple[str, str, str]:
    """Provider and model that override the template, "" for none, and why one was skipped."""
    if chat_model:
        name, _, asked = chat_model.partition(":")
        if name in providers:
            return name, asked, refused if chosen != chat_model else ""
        return "", "", say("The administrator's model {model} can't be reached.", model=chat_model)
    if chosen:
        name, _, asked = chosen.partition(":")
        if not refused and name in providers:
            return name, asked, ""
        return (
            "",
            "",
            refused or say("{model}, which was chosen here, can't be reached now.", model=chosen),
        )
    return "", "", ""


def _settings(template: Template, llm: str) -> ModelSettings:
    """The template's settings for that provider. Where it has none, those for another provider
    apply, except for the model's name and what only the engine here can do."""
    if LLM + llm in template.configurations or llm in FALLBACKS:
        return template.model_settings(llm)
    elsewhere = [name for name in template.llms if LLM + name in template.configurations]
    like = next((name for name in elsewhere if name != EMBEDDED), llm)
    return replace(template.model_settings(like), model=None)


def _replacement_note(template: Template, name: str) -> str:
    """Why a fallback answers in place of every provider that the template names."""
    llms = template.llms
    if not llms or {name, *FALLBACKS} & {*llms}:
        return ""
    wanted = llms[0]
    server = SERVERS.get(wanted)
    label = server.label if server else wanted
    if server and server.key:
        return say("This agent is made for {server}, which has no key here.", server=label)
    return say("This agent is made for {server}, which can't be reached here.", server=label)
