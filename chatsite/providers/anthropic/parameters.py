"""Which settings of an agent go along to Anthropic, and how the model is asked to think."""

from __future__ import annotations

from chatsite.providers.anthropic.families import ThinkingParams, choose_thinking, find_family
from chatsite.providers.base.provider import Request, SentParameters, not_sent, wanted_parameters
from chatsite.providers.known.facts import ModelFacts
from chatsite.wording import say

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
    wanted, thinking = wanted_parameters(request), thinking_of(request, facts)
    unknown = [name for name in _UNKNOWN if name in wanted]
    parts = (
        SentParameters(
            {},
            not_sent(
                unknown,
                "{names} is not sent: Anthropic's interface has no such setting.",
                "{names} are not sent: Anthropic's interface has no such setting.",
            ),
        ),
        _sampling(request, facts, thinks=thinking.on),
        _stops(wanted.get("stop")),
        _effort(wanted.get(_EFFORT), thinking),
    )
    return SentParameters(
        {name: value for part in parts for name, value in part.sent.items()},
        tuple(sentence for part in parts for sentence in part.dropped),
    )


def _sampling(request: Request, facts: ModelFacts | None, *, thinks: bool) -> SentParameters:
    """Temperature (0 to 1) or top_p, never both; none with thinking, or where the model refuses."""
    wanted = wanted_parameters(request)
    names = [name for name in SAMPLING if name in wanted]
    if facts is not None and facts.reasoning:
        return SentParameters(
            {},
            not_sent(
                names,
                "{names} is not sent: {model} takes no such setting.",
                "{names} are not sent: {model} takes no such setting.",
                model=request.model,
            ),
        )
    if thinks:
        return SentParameters(
            {},
            not_sent(
                names,
                "{names} is not sent: {model} takes no such setting while it thinks.",
                "{names} are not sent: {model} takes no such setting while it thinks.",
                model=request.model,
            ),
        )
    sent = {name: wanted[name] for name in names[:1]}
    dropped = not_sent(
        names[1:],
        "{names} is not sent: the model takes one of the two, and temperature is set.",
        "{names} are not sent: the model takes one of the two, and temperature is set.",
    )
    if request.temperature is not None and request.temperature > _HOTTEST:
        sent["temperature"] = _HOTTEST
        dropped += (
            say(
                "temperature {temperature} is sent as 1, the highest that it takes.",
                temperature=request.temperature,
            ),
        )
    return SentParameters(sent, dropped)


def _stops(wanted: object) -> SentParameters:
    """Without blank ones, which the API refuses."""
    every = [wanted] if isinstance(wanted, str) else wanted if isinstance(wanted, list) else []
    kept = [text for text in every if text.strip()]
    dropped = (say("Blank stopSequences are not sent: Anthropic's interface refuses them."),)
    return SentParameters({"stop": kept} if kept else {}, dropped if kept != every else ())


def _effort(wanted: object, thinking: ThinkingParams) -> SentParameters:
    """The effort that acts, which may be the nearest that the model has."""
    acting = thinking.params.get("output_config", {}).get("effort")
    if acting is None and not thinking.dropped:
        acting = wanted
    sent = {_EFFORT: acting} if acting is not None and wanted is not None else {}
    return SentParameters(sent, (thinking.dropped,) if thinking.dropped else ())
