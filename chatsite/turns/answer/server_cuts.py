"""After a request: whether its server dropped the beginning of the prompt without a word."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chatsite.history import Decision, tokens_of
from chatsite.history.values.tokens import weakest
from chatsite.providers.base.model import Model
from chatsite.providers.known.servers import SERVERS
from chatsite.turns.agents.resolved_agent import FALLBACKS
from chatsite.turns.answer.progress import TurnProgress, reported_before
from chatsite.turns.answer.truncation import ReportedPrompt, has_media, server_cut, unsure_of


def look_for_cut(
    progress: TurnProgress, decision: Decision, model: Model, *, last: Mapping[str, Any] | None
) -> None:
    """Note it in `progress`, once a turn; `last` is the receipt of the turn before."""
    server = SERVERS.get(model.provider)
    if model.provider in FALLBACKS or progress.cut is not None:
        return
    progress.cut = server_cut(
        sent=decision.tokens,
        sent_basis=weakest(part.basis for part in decision.parts),
        reported=progress.rounds[-1].usage.prompt,
        before=_before(progress, decision, model, last),
        leading=decision.leading,
        head=sum(tokens_of(message) for message in decision.request[: decision.head_messages]),
        # Some servers get no descriptions of tools where none may be called, and some ignore them.
        unsure=unsure_of(decision.request, model)
        + sum(part.tokens for part in decision.parts if part.name == "tools"),
        server=server.label if server and server.local else "The server",
        model=model.label,
    )


def _before(
    progress: TurnProgress, decision: Decision, model: Model, last: Mapping[str, Any] | None
) -> ReportedPrompt | None:
    """The request before this one, as far as it was reported."""
    if len(progress.rounds) == 1:
        return reported_before(last, model)
    reported = progress.rounds[-2].usage.prompt
    if not reported or has_media(decision.request, model):
        return None
    return ReportedPrompt(sent=progress.rounds[-2].sent, reported=reported)
