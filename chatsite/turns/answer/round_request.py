"""The request of one round: decided, rendered for the model, and written down."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from chatsite.conversations.path.cache_places import mark_turns
from chatsite.conversations.path.loading import load_path
from chatsite.conversations.records import LoadedPath
from chatsite.errors import PromptTooLarge
from chatsite.events import CacheChanged, Decided
from chatsite.history import AddedMessage, Decision, Entry, Head, StoredRun
from chatsite.history.path.added_messages import continue_message
from chatsite.messages import Message
from chatsite.providers.base.provider import Model, Request
from chatsite.turns.answer.progress import Round, TurnProgress, TurnServices
from chatsite.turns.answer.sent_requests import fingerprint_in_thread
from chatsite.turns.context.decider import RoundDecision
from chatsite.turns.context.file_forms import RenderedRequest, file_notes, has_media
from chatsite.wording import later, say

logger = logging.getLogger("chatsite.history")
TOO_MUCH = later(
    "What the tools brought, with this message, is more than the model can be sent. What was done "
    "so far is kept. Ask for less at a time, or choose a model with a larger window."
)


@dataclass(frozen=True, slots=True)
class RoundRequest:
    """A decision, and its messages as the model gets them."""

    decided: RoundDecision
    rendered: RenderedRequest

    @property
    def decision(self) -> Decision:
        return self.decided.decision

    def for_provider(
        self, turn: TurnProgress, services: TurnServices, *, may_call: bool
    ) -> Request:
        agent = turn.context.agent
        return agent.request(
            turn.context.conversation,
            self.rendered.messages,
            files=services.decider.counter(turn.context).files,
            may_call=may_call,
            head=_leading(agent.head, self.decision),
            answer=turn.answer,
            after=turn.response_before(self.decided.last),
        )


def _leading(head: Head, decision: Decision) -> int:
    """How many messages the request begins with are the agent's own. Stored instructions come
    before its prefilled turns, and these are no longer at the beginning then."""
    own = {message.id for message in head.messages}
    return sum(1 for _ in takewhile(lambda message: message.id in own, decision.request))


# ---- deciding --------------------------------------------------------------------------------
async def decide_round(
    turn: TurnProgress, services: TurnServices, number: int, before: RoundRequest | None
) -> RoundRequest:
    """The request of the round `number`, counted from 1. Raises PromptTooLarge."""
    decided = await _decide(turn, services, number, before.decided if before else None)
    if number == 1 and turn.started.text:
        decision = continued(decided.decision, place=turn.started.place, above=decided.above)
        decided = replace(decided, decision=decision)
    if decided.decision.unloads:
        # What the cleanup left out stays out of later requests, too.
        conversation, turns = turn.context.conversation, decided.decision.unloads
        changed = await mark_turns(conversation=conversation, turns=turns)
        turn.feed.publish(CacheChanged(status=changed))
    turn.rounds.append(Round(number, decided.decision.tokens, decided.decision.leading))
    rendered = await services.decider.counter(turn.context).as_sent(decided.decision.request)
    return RoundRequest(decided, rendered)


async def _decide(
    turn: TurnProgress, services: TurnServices, number: int, before: RoundDecision | None
) -> RoundDecision:
    try:
        return await services.decider.decide_round(
            turn.context,
            await _path(turn, services, number),
            before=before,
            written=_written(turn) if number == 1 else None,
        )
    except PromptTooLarge:
        if number == 1:
            raise
        raise PromptTooLarge(say(TOO_MUCH)) from None


async def _path(turn: TurnProgress, services: TurnServices, number: int) -> LoadedPath:
    """The path as it was read when the turn began; for a later round it is read again, with the
    results of the tools."""
    if number == 1 and turn.started.loaded is not None:
        return turn.started.loaded
    return await load_path(
        owner=turn.context.owner,
        conversation=turn.context.conversation,
        reach=turn.context.reach,
        reply_to=turn.started.reply_to,
    )


def _written(turn: TurnProgress) -> Entry | None:
    """The answer that is to be continued: the last message that the model is sent."""
    if not turn.started.text:
        return None
    message = Message.assistant(turn.started.text, id=turn.started.answer)
    return Entry(message=message, seq=turn.started.place, quoted=turn.started.quoted)


def continued(decision: Decision, *, place: int, above: int) -> Decision:
    """The request of an answer that is continued: a wish to go on is added at the end.

    `decision` was made of a path that ends with the answer so far, at the seq `place`; `above` is
    the seq of the message before it. The whole answer is stored later, so the layout keeps how
    much of it there was.
    """
    wish, answer = continue_message(), decision.request[-1]
    last = decision.layout[-1]
    assert isinstance(last, StoredRun) and last.last == place
    stored = [StoredRun(last.first, above)] if last.first < place else []
    so_far = AddedMessage.of(answer, "continue", id=str(len(answer.content or "")), sources=[place])
    return replace(
        decision,
        request=(*decision.request, wish),
        layout=(*decision.layout[:-1], *stored, so_far, AddedMessage.of(wish, "continue")),
    )


# ---- writing it down -------------------------------------------------------------------------
async def publish_decision(turn: TurnProgress, request: RoundRequest) -> None:
    """Write the decision down, for the page, the log and the stored receipt."""
    await asyncio.sleep(0)  # until the request is on its way
    decision, model = request.decision, turn.context.agent.model
    if len(turn.rounds) == 1:
        log_decision(decision)
    receipt = decision.to_stored() | {
        "provider": {"kind": model.provider, "model": model.name}
        | ({"label": model.label} if model.label != model.name else {}),
        **turn.context.agent.asked,
        "fingerprint": await fingerprint_in_thread(decision.request),
    }
    if any(message.attachments for message in decision.request):
        receipt |= _files_in(request, model)
    turn.receipt = receipt
    turn.feed.publish(Decided(turn=turn.id, receipt=receipt | turn.names))


def _files_in(request: RoundRequest, model: Model) -> dict[str, Any]:
    """What the receipt says of the files that went along."""
    found: dict[str, Any] = {}
    if files := file_notes(request.decision.request, model):
        found["files"] = list(files)
    if request.rendered.given:
        found["given"] = [file.to_dict() for file in request.rendered.given]
    if has_media(request.decision.request, model):
        found["media"] = True
    return found


def log_decision(decision: Decision) -> None:
    """Ids, counts and settings, never a word of a message."""
    settings = decision.settings
    logger.info(
        '[History] Agent %s history settings: {policy: "%s", length: %d, messageCount: %d, '
        'source: "%s", tokens: %d}',
        decision.agent,
        settings.policy.value,
        settings.length.value,
        decision.stored,
        settings.sources_in_words,
        decision.tokens,
    )
    left_out = (v for v in decision.verdicts if not v.sent and v.reason != "greeting")
    if any(left_out):
        logger.info("[History] Trimmed messages from %d to %d", decision.stored, decision.sent)
