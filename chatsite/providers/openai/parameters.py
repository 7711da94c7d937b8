"""Which settings of an agent a chat completion carries: thinking models refuse most of them."""

from __future__ import annotations

from chatsite.providers.base.parameters import not_sent, wanted_parameters
from chatsite.providers.base.provider import Request, SentParameters
from chatsite.providers.known.facts import ModelFacts
from chatsite.wording import say

EFFORT = "reasoning_effort"
_TAKEN = ("temperature", "top_p", "seed", "stop", "frequency_penalty", "presence_penalty")


def chat_parameters(request: Request, facts: ModelFacts | None) -> SentParameters:
    """A model that thinks takes an effort alone, and some take tools together with one effort only;
    a model that doesn't refuses the effort."""
    wanted = wanted_parameters(request)
    if facts is None or not facts.reasoning:
        sent = {name: wanted[name] for name in _TAKEN if name in wanted}
        others = [name for name in wanted if name not in sent]
        return SentParameters(
            sent,
            not_sent(
                others,
                "{names} is not sent: {model} isn't known to take it.",
                "{names} are not sent: {model} isn't known to take it.",
                model=request.model,
            ),
        )
    others = [name for name in wanted if name != EFFORT]
    dropped = not_sent(
        others,
        "{names} is not sent: {model} thinks, and takes no such setting then.",
        "{names} are not sent: {model} thinks, and takes no such setting then.",
        model=request.model,
    )
    effort, only = wanted.get(EFFORT), facts.effort_with_tools if request.tools else ""
    if only and effort not in (None, only):
        dropped += (
            say(
                "reasoningEffort {effort} is sent as {only}: with tools {model} takes no other.",
                effort=effort,
                only=only,
                model=request.model,
            ),
        )
    effort = only or effort
    return SentParameters({EFFORT: effort} if effort else {}, dropped)
