"""How long a reply may be at servers that count unseen thinking as a part of it.

Without room of its own a model that thinks would spend an agent's thousand tokens before its
first word: https://developers.openai.com/api/docs/guides/reasoning advises to leave 25,000.
"""

from __future__ import annotations

from chatsite.providers.base.provider import Request
from chatsite.providers.known.models import ModelFacts

_ROOM = {"none": 0, "minimal": 2_048, "low": 4_096, "medium": 16_384, "high": 24_576}
_UNSAID, _MOST = 16_384, 32_768
# Our count may be an estimate, and most servers refuse a reply that wouldn't fit their window.
_SURE = 0.9


def longest_reply(request: Request, facts: ModelFacts | None, *, effort: object) -> int:
    """In tokens: the agent's own and, for a model that thinks, room for that. `effort` is what
    goes along with the request."""
    if facts is None:
        return request.max_tokens
    bound = request.max_tokens
    if facts.reasoning or facts.thinks:
        room = _UNSAID if effort is None else _ROOM.get(str(effort), _MOST)
        taken = sum(message.tokens.count for message in request.messages if message.tokens)
        left = int(facts.window * _SURE) - taken - request.max_tokens
        bound += max(min(room, left), 0)
    return min(bound, facts.longest) if facts.longest else bound
