"""What providers of every dialect share: one server, and the choice among its models."""

from __future__ import annotations

from chatsite.providers.base.model import Model
from chatsite.providers.base.provider import Status
from chatsite.providers.known.facts import ModelFacts
from chatsite.providers.known.models import ASSUMED_WINDOW, ModelTable
from chatsite.providers.known.servers import Server
from chatsite.wording import say


class ServerProvider:
    """`model` overrides the model of every agent, since another server has other models. `fast`
    names the small model."""

    def __init__(
        self, *, server: Server, table: ModelTable, model: str | None, fast: str | None
    ) -> None:
        self.kind = server.name
        self._server = server
        self._table = table
        self._model = model
        self._fast = fast

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.kind!r}, model={self._model!r})"

    def model(self, name: str | None) -> Model:
        return self._described(self._model or name or self._server.default_model)

    def small(self, beside: Model | None = None) -> Model | None:
        """Where the administrator chose the model, only they know a small one of the server."""
        if self._fast:
            return self._described(self._fast)
        if self._server.small_model and not self._model:
            return self._described(self._server.small_model)
        return beside or self.model(None)

    def status(self) -> Status:
        """Always ready: whether the provider answers is known only after a request."""
        return Status(state="ready")

    def _facts(self, model: str) -> ModelFacts | None:
        return self._table.facts(self.kind, model)

    def _described(self, name: str) -> Model:
        facts = self._facts(name)
        known = facts or ModelFacts(window=ASSUMED_WINDOW, assumed=True)
        return Model(
            provider=self.kind,
            name=name,
            label=name,
            window=known.window,
            note=_assumed(known, named=facts is not None),
            takes=known.takes,
            tools=known.tools,
            price=known.price,
            longest=known.longest,
        )


def _assumed(facts: ModelFacts, *, named: bool) -> str:
    """What is assumed of a model that isn't known, or not wholly; "" where nothing is."""
    if not facts.assumed:
        return ""
    if named:
        return say("Its window isn't known; {window:,} tokens are assumed.", window=facts.window)
    return say(
        "Its window isn't known; {window:,} tokens are assumed, and it is taken to use tools and "
        "to read text only.",
        window=facts.window,
    )
