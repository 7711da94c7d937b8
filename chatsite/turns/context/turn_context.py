"""One record of a turn: who asks what of which agent, under which settings."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Protocol

from chatsite.agents.template import OWN_PREFIX, Template
from chatsite.conversations.owners import Owner
from chatsite.errors import NotFound
from chatsite.history import Reach, Settings, first_values, reach
from chatsite.history.settings.choosers import Choice
from chatsite.history.settings.offers import SettingSources, offers
from chatsite.messages import Message
from chatsite.tools.tool import Tool
from chatsite.turns.agents.resolved_agent import ResolvedAgent, Tuning
from chatsite.wording import TRANSLATE, say

DRAFT = "draft"
# Resolving the settings takes 2 ms, the list of what may be chosen 5 ms (every choice is tried by
# resolving all settings). Both are cached for so many addresses and agents.
CACHED = 256


class AgentResolver(Protocol):
    """Who answers for an agent; `model` is the one chosen in the page, "" for the agent's own."""

    def __call__(self, agent: str, model: str = "", *, staff: bool = False) -> ResolvedAgent: ...


# Whether the owner may use the agent of this slug, which may be somebody else's.
MayUse = Callable[[Owner, str], bool]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Room:
    """A Talk room that a conversation is held in. `settings` are its own history settings, written
    as a template's `chatSettings`. There is one object for each room: settings are cached by it."""

    name: str
    settings: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """What a page sends, before it is known who answers: who asks, and where.

    `query` is the page's query string; `url_allowed`: its history settings may apply. `model` is
    the one chosen in the page, as `provider:name`, "" for the agent's own; `staff` may choose
    models that others may not. `history` is what was chosen in the page of the policy and its
    settings, as the page knows it; `Drafts.context` puts the choice kept with a conversation that
    has begun there, or `once`, which is chosen for one answer alone and comes before the link, too.
    `room` is the Talk room that the conversation is held in. One that begins now is `temporary`.
    `tuning` was chosen in the page of the answers' temperature and length, None where the page
    doesn't say; `instructions` are what its owner tells every agent.
    """

    owner: Owner
    conversation: str
    agent: str
    query: str
    url_allowed: bool = True
    model: str = ""
    history: Choice = field(default_factory=dict)
    once: Choice | None = None
    staff: bool = False
    room: Room | None = None
    temporary: bool = False
    tuning: Tuning | None = None
    instructions: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnContext:
    """A turn, or a preview of the next one: what the page sent, the agent that answers, and the
    history settings in force.

    `Contexts` makes it. While a turn runs, `TurnProgress` holds the current one and is the only
    place that replaces it.
    """

    # Also in the request; every step of a turn asks for them.
    owner: Owner
    conversation: str
    page_request: PageRequest
    agent: ResolvedAgent
    settings: Settings

    @property
    def reach(self) -> Reach:
        """How far back the conversation is read."""
        return reach(self.settings, room=self.agent.window.room)

    @property
    def limit(self) -> int:
        """Tokens that the prompt may take."""
        room = self.agent.window.room
        return min(room, self.settings.tokens.value or room)

    @property
    def greeting(self) -> list[Message]:
        """The agent's greetings, as they will be stored with the first message."""
        texts = enumerate(self.agent.template.greeting)
        return [Message.assistant(text, id=f"{DRAFT}-greeting-{index}") for index, text in texts]

    def with_owner(self, owner: Owner) -> TurnContext:
        request = replace(self.page_request, owner=owner)
        return replace(self, owner=owner, page_request=request)

    def with_settings(self, settings: Settings) -> TurnContext:
        return replace(self, settings=settings)

    def with_agent(self, agent: ResolvedAgent) -> TurnContext:
        return replace(self, agent=agent)


@dataclass(kw_only=True, eq=False)
class Contexts:
    """Makes the context of every turn and preview; built once. `environment` are the variables
    that decide history settings; `recall` is the tool that agents get by a setting. `may_use` is
    asked for every turn and preview."""

    environment: Mapping[str, str]
    resolve_agent: AgentResolver
    recall: Tool | None = None
    may_use: MayUse = lambda owner, slug: True

    def __post_init__(self) -> None:
        self._settings: Callable[[_Page], Settings]
        self._settings = lru_cache(CACHED)(lambda page: self._sources_for(page).resolve())
        self._offers: Callable[[_Page], dict[str, Any]]
        self._offers = lru_cache(CACHED)(self._listed_offers)

    def of(self, request: PageRequest) -> TurnContext:
        """Raises NotFound for an agent that doesn't exist, ProviderError where none can answer."""
        return self.with_agent(request, self.agent_of(request, request.model))

    def agent_of(self, request: PageRequest, model: str) -> ResolvedAgent:
        """Who answers for the request with that model. Raises as `of` does: somebody else's agent
        is one that doesn't exist."""
        own = request.agent.startswith(OWN_PREFIX)
        if own and not self.may_use(request.owner, request.agent):
            raise NotFound(say("There is no agent of that name here."))
        agent = self.resolve_agent(request.agent, model, staff=request.staff)
        if request.tuning:
            agent = agent.tuned(request.tuning)
        return agent.with_own(request.instructions) if request.instructions else agent

    def with_agent(self, request: PageRequest, agent: ResolvedAgent) -> TurnContext:
        """For an agent that was resolved already."""
        settings = self._settings(_page(request, agent))
        looks_back = settings.recall_tool.value and not settings.active_policy.only_current
        if self.recall and looks_back:
            agent = agent.with_tool(self.recall)
        return TurnContext(
            owner=request.owner,
            conversation=request.conversation,
            page_request=request,
            agent=agent,
            settings=settings,
        )

    def sources(self, context: TurnContext) -> SettingSources:
        """Where the settings of this page come from."""
        return self._sources_for(_page(context.page_request, context.agent))

    def offers(self, context: TurnContext) -> dict[str, Any]:
        """What the page offers to choose from; the same dictionary every time, so read only."""
        return self._offers(_page(context.page_request, context.agent))

    def _listed_offers(self, page: _Page) -> dict[str, Any]:
        sources = self._sources_for(page)
        return offers(sources, sources.resolve()).to_dict()

    def _sources_for(self, page: _Page) -> SettingSources:
        return SettingSources(
            environment=self.environment,
            url=first_values(page.query),
            template=page.template.chat_settings,
            conversation=dict(page.history),
            room=page.room.settings if page.room else None,
            url_allowed=page.url_allowed,
            cached_price=page.cached_price,
        )


@dataclass(frozen=True, slots=True)
class _Page:
    """What decides the settings of a page besides the environment, and the language of what is said
    of them, as a key of the caches."""

    query: str
    url_allowed: bool
    history: tuple[tuple[str, str], ...]
    template: Template
    cached_price: float | None
    room: Room | None
    language: str


def _page(request: PageRequest, agent: ResolvedAgent) -> _Page:
    history = tuple(sorted(request.history.items()))
    made = (request.query, request.url_allowed, history, agent.template, agent.cached_price)
    return _Page(*made, request.room, TRANSLATE.get().language())


async def _nothing(request: PageRequest) -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnHooks:
    """What others do around turns.

    `ready`: waited for before it is known who answers. `before`: before an answer is begun;
    `after`: when the turn has ended; neither is waited for. `changed`: the active path was edited,
    not appended to; waited for.
    """

    ready: Callable[[PageRequest], Awaitable[None]] = _nothing
    before: Callable[[TurnContext], None] = lambda context: None
    after: Callable[[TurnContext], None] = lambda context: None
    changed: Callable[[PageRequest], Awaitable[None]] = _nothing


NO_HOOKS = TurnHooks()
