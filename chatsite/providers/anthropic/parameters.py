"""Which settings of an agent go along to Anthropic, and how the model is asked to think."""

from __future__ import annotations

from chatsite.providers.anthropic.families import ThinkingParams, choose_thinking, find_family
from chatsite.providers.base.parameters import not_sent, wanted_parameters
from chatsite.providers.base.provider import Request, SentParameters
from chatsite.providers.known.facts import ModelFacts

SAMPLING = ("temperature", "top_p")
_UNKNOWN = ("seed", "frequency_penalty", "presence_penalty")
_EFFORT = "reasoning_effort"
_HOTTEST = 1.0


def thinking_of(request: Request, facts: ModelFacts | None) -> ThinkingParams:
    """How the model is asked to think; a turn that began without thinking goes on without."""
    longest = facts.longest if facts else None
    wish = request.options.get(_EFFORT)
    return choose_thinking(
        find_family(request.model), wish, reply=request.max_tokens, longest=longest
    )


def message_parameters(request: Request, facts: ModelFacts | None) -> SentParameters:
    """Temperature (0 to 1) or top_p, never both; none with thinking, or where the model refuses."""
    wanted, thinking = wanted_parameters(request), thinking_of(request, facts)
    sent: dict[str, object] = {}
    unknown = [name for name in _UNKNOWN if name in wanted]
    dropped = not_sent(unknown, "Anthropic's interface has no such setting")
    sampling = [name for name in SAMPLING if name in wanted]
    if facts is not None and facts.reasoning:
        dropped += not_sent(sampling, f"{request.model} takes no such setting")
    elif thinking.on:
        dropped += not_sent(sampling, f"{request.model} takes no such setting while it thinks")
    elif sampling:
        dropped += not_sent(sampling[1:], "the model takes one of the two, and temperature is set")
        sent[sampling[0]] = wanted[sampling[0]]
    if request.temperature is not None and "temperature" in sent and request.temperature > _HOTTEST:
        sent["temperature"] = _HOTTEST
        dropped += (f"temperature {request.temperature} is sent as 1, the highest that it takes.",)
    stops = _stops(wanted.get("stop"))
    if stops:
        sent["stop"] = stops
    elif "stop" in wanted:
        dropped += not_sent(["stop"], "Anthropic's interface takes no blank texts")
    if _EFFORT in wanted and not thinking.dropped:
        sent[_EFFORT] = wanted[_EFFORT]
    dropped += (thinking.dropped,) if thinking.dropped else ()
    return SentParameters(sent, dropped)


def _stops(wanted: object) -> list[str]:
    """Without blank ones, which the API refuses."""
    every = [wanted] if isinstance(wanted, str) else wanted if isinstance(wanted, list) else []
    return [text for text in every if text.strip()]
