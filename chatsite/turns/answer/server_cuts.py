"""Finding out that a server dropped the beginning of a prompt without a word.

Some servers (Ollama with a small context, others that keep only the newest tokens) answer as if
nothing had happened. What gives them away is the prompt's size that they report: it falls short of
what was sent. Our own size is often an estimate by another tokenizer, so what is compared is the
least that an honest server could report:

- Of a tokenizer that is the model's own, counts agree within a few percent.
- An estimate is made for the tokenizer that makes most of a text. Of English prose and code the
  truth is 0.7 to 1.1 of it, by o200k_base; the estimate for new Claude models is 1.3 times as high.
  0.45 leaves room for tokenizers with larger vocabularies. Of other scripts and of digits they may
  make a sixth of what small ones make, so no more than a token for five bytes is taken for sure.
- What stood in the request before too was reported then: it takes as much again, whatever the
  tokenizer is, and whatever a template adds to it unseen. What was in that request and isn't in
  this one is taken off at the most that it can have been.
- Of some parts nobody knows what they take (`unsure`): they may have taken nothing.

A cut that stays above that bound is missed rather than guessed: a server that is accused wrongly
costs a person more. But a server that cuts fills its context to the end, which mostly is a power
of two; Ollama keeps half of it and two tokens more (2,050 of 4,096). What reports exactly that is
believed sooner.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from chatsite.history import TOKENS_PER_MESSAGE
from chatsite.messages import Basis, Message
from chatsite.providers.base.provider import Model
from chatsite.turns.context.file_forms import has_media
from chatsite.wording import later, say

# What an honest server reports at least, and usually, of a token that was sent.
_LEAST: dict[Basis, float] = {"counted": 0.92, "estimated": 0.45}
_SURE_OF_A_BYTE = 0.2
_TYPICAL: dict[Basis, float] = {"counted": 1.0, "estimated": 0.85}
# Frames and templates differ a little from turn to turn.
_SAME_CONTENT = 0.93
# A token by our count may be so many of a small vocabulary. Where a whole request was more than
# the second, it held something that isn't counted here, which may be gone.
_MOST, _BELIEVED = 3.0, 1.25
_WITH_SIGNATURE = 0.85
# Nobody runs a chat in less; and some servers report nonsense like 0 or 1.
_LEAST_SENT, _LEAST_REPORTED = 400, 128

ELSEWHERE = later(
    "{server}, not the history policy, cut this prompt without saying so: of about {sent:,} tokens "
    "{model} read {reported:,}, so about {missing:,} from the beginning never reached it. To see "
    "more, raise its context length there; to be sent no more than fits, set the model's window in "
    "MODELS_FILE."
)
IN_OLLAMA = later(
    "{server}, not the history policy, cut this prompt without saying so: of about {sent:,} tokens "
    "{model} read {reported:,}, so about {missing:,} from the beginning never reached it. To see "
    "more, raise its context length there (in Ollama: OLLAMA_CONTEXT_LENGTH, or num_ctx in a "
    "Modelfile); to be sent no more than fits, set the model's window in MODELS_FILE."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedPrompt:
    """A request that came just before: its tokens by our count, and as they were reported."""

    sent: int
    reported: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerCut:
    """Tokens as the server counts: about `sent` were sent, it read `reported`. `server` is its
    label, `model` the model's name."""

    sent: int
    reported: int
    server: str
    model: str

    @property
    def missing(self) -> int:
        """About how many never reached the model."""
        return self.sent - self.reported

    @property
    def sentence(self) -> str:
        """What happened and what to do, for people."""
        ollama = self.server == "Ollama" or _is_round(self.reported)
        return say(
            IN_OLLAMA if ollama else ELSEWHERE,
            server=self.server,
            model=self.model,
            sent=_rounded(self.sent),
            reported=self.reported,
            missing=_rounded(self.missing),
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "sent": self.sent,
            "reported": self.reported,
            "missing": self.missing,
            "sentence": self.sentence,
        }


def may_show(*, sent: int, reported: int | None) -> bool:
    """Whether so much was sent and reported that a cut could show."""
    return reported is not None and sent >= _LEAST_SENT and reported >= _LEAST_REPORTED


def server_cut(
    *,
    sent: int,
    sent_basis: Basis,
    reported: int | None,
    before: ReportedPrompt | None = None,
    leading: int = 0,
    head: int = 0,
    unsure: int = 0,
    server: str = "The server",
    model: str = "the model",
) -> ServerCut | None:
    """None where nothing shows a cut.

    `sent` is the whole request by our own count, tools included, `unsure` the part of it that may
    have taken nothing (`unsure_of`). `leading` of the tokens were the beginning of the request
    `before` too, which the same model answered and which wasn't cut; `head` of them are that of
    every conversation with this agent.
    """
    sent, leading = sent - unsure, max(min(leading, sent) - unsure, 0)
    if reported is None or not may_show(sent=sent, reported=reported):
        return None
    least, typical = _LEAST[sent_basis], _TYPICAL[sent_basis]
    bound, expected = sent * least, sent * typical
    known = _known(before, leading)
    new = sent - leading
    bound = max(bound, known * _SAME_CONTENT + new * least) if known else bound
    expected = max(expected, known + new * typical) if known else expected
    signed = _is_round(reported)
    if signed:
        bound = max(bound, expected * _WITH_SIGNATURE)
    if reported >= bound:
        return None
    if not signed and any(_only_new(reported, sent=sent, kept=kept) for kept in (leading, head)):
        return None
    return ServerCut(sent=round(expected), reported=reported, server=server, model=model)


def unsure_of(messages: Iterable[Message], model: Model) -> int:
    """Tokens of the messages of which nobody knows whether they are taken: pictures and the like
    are guessed at, thinking that goes back, or that stands in the text, is left out by many
    servers' templates once the turn is over, and of many scripts an estimate is far too high for a
    large vocabulary."""
    return sum(_unsure(message, model) for message in messages)


def _unsure(message: Message, model: Model) -> int:
    if message.tokens is None:
        return 0
    answered = message.role == "assistant"
    thought = answered and (bool(message.metadata) or "</think>" in (message.content or ""))
    if has_media([message], model) or thought:
        return message.tokens.count
    if message.tokens.basis != "estimated":
        return 0
    size = len((message.content or "").encode("utf-8", "replace"))
    return max(message.tokens.count - TOKENS_PER_MESSAGE - math.ceil(size * _SURE_OF_A_BYTE), 0)


def _known(before: ReportedPrompt | None, leading: int) -> float:
    """The least that `leading` was reported as before; 0 where that says nothing."""
    if before is None or not leading or before.reported > before.sent * _BELIEVED:
        return 0.0
    return max(before.reported - (before.sent - leading) * _MOST, 0.0)


def _is_round(reported: int) -> bool:
    """A context that is a power of two, filled to its end, or half of one as Ollama's runners
    leave it (2,050): no prompt has exactly this size by chance."""
    return any(math.log2(size).is_integer() for size in (reported, reported - 2))


def _only_new(reported: int, *, sent: int, kept: int) -> bool:
    """Whether it may be the count of what the server hadn't in its cache: older servers report
    only that. A cut to the same size by chance is missed once."""
    new = sent - kept
    return kept > 0 and new > 0 and 0.5 * new <= reported <= 1.3 * new + 50


def _rounded(tokens: int) -> int:
    """To two digits: more would be invented."""
    unit = int(10 ** max(len(str(tokens)) - 2, 0))
    return round(tokens / unit) * unit
