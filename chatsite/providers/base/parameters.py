"""The settings of an agent that go along with a request, and those that don't."""

from __future__ import annotations

from collections.abc import Sequence

from chatsite.providers.base.provider import Request
from chatsite.wording import say, say_count

# What a template calls them, by their names in chat completions.
_IN_TEMPLATES = {
    "top_p": "topP",
    "stop": "stopSequences",
    "frequency_penalty": "frequencyPenalty",
    "presence_penalty": "presencePenalty",
    "reasoning_effort": "reasoningEffort",
}


def wanted_parameters(request: Request) -> dict[str, object]:
    """What the agent sets, under the names of chat completions."""
    wanted = {"temperature": request.temperature, "top_p": request.top_p, **request.options}
    return {name: value for name, value in wanted.items() if value is not None}


def not_sent(names: Sequence[str], one: str, many: str, **values: object) -> tuple[str, ...]:
    """One sentence for all of `names`, `one` or `many`, with them in words; none where there are no
    names."""
    if not names:
        return ()
    shown = [_IN_TEMPLATES.get(name, name) for name in names]
    every = shown[0]
    if len(shown) > 1:
        every = say("{first} and {second}", first=", ".join(shown[:-1]), second=shown[-1])
    return (say_count(one, many, len(shown), names=every, **values),)
