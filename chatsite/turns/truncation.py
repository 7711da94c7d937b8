"""Finding out that a server dropped the beginning of a prompt without a word.

Some servers (Ollama with a small context, others that keep only the newest tokens) answer as if
nothing had happened. What gives them away is the prompt's size that they report: it falls short of
what was sent. Our own size is often an estimate by another tokenizer, so what is compared is the
least that an honest server could report:

- Of a tokenizer that is the model's own, counts agree within a few percent.
- Of an estimate, the truth is 0.62 (Arabic) to 1.1 of it, by o200k_base over prose in fifteen
  scripts, code and data; 0.55 leaves room for tokenizers with larger vocabularies.
- What stood in the request before too is known better: the ratio that the same model reported
  then (`usual`) holds for it again, whatever the tokenizer.

A cut that stays above that bound is missed rather than guessed. But a server that cuts fills its
context to the end, which mostly is a power of two; Ollama keeps half of it and two tokens more
(2,050 of 4,096). What reports exactly that is believed sooner.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from chatsite.messages import Basis

# What an honest server reports at least, and usually, of a token that was sent.
_LEAST: dict[Basis, float] = {"counted": 0.92, "estimated": 0.55}
_TYPICAL: dict[Basis, float] = {"counted": 1.0, "estimated": 0.85}
# Frames and templates differ a little from turn to turn; other content differs more.
_SAME_CONTENT, _OTHER_CONTENT = 0.93, 0.7
_WITH_SIGNATURE = 0.85
# Nobody runs a chat in less; and some servers report nonsense like 0 or 1.
_LEAST_SENT, _LEAST_REPORTED = 400, 128


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
        raise_it = "raise its context length there"
        if self.server == "Ollama" or _is_round(self.reported):
            raise_it += " (in Ollama: OLLAMA_CONTEXT_LENGTH, or num_ctx in a Modelfile)"
        return (
            f"{self.server}, not the history policy, cut this prompt without saying so: of about "
            f"{_rounded(self.sent):,} tokens {self.model} read {self.reported:,}, so about "
            f"{_rounded(self.missing):,} from the beginning never reached it. To see more, "
            f"{raise_it}; to be sent no more than fits, set the model's window in MODELS_FILE."
        )


def server_cut(
    *,
    sent: int,
    sent_basis: Basis,
    reported: int | None,
    usual: float | None = None,
    leading: int = 0,
    files: int = 0,
    server: str = "The server",
    model: str = "the model",
) -> ServerCut | None:
    """None where nothing shows a cut.

    `sent` is the whole request by our own count, tools included; `files` is the part of it that
    attached files were estimated at: what they really take nobody knows beforehand, so it is left
    out. `usual` is reported/sent of an earlier whole answer by the same model in this conversation
    that wasn't cut. `leading` of the tokens were the beginning of that request too.
    """
    sent, leading = sent - files, max(min(leading, sent) - files, 0)
    if reported is None or sent < _LEAST_SENT or reported < _LEAST_REPORTED:
        return None
    least, typical = _LEAST[sent_basis], _TYPICAL[sent_basis]
    if usual is not None:
        least, typical = max(least, usual * _OTHER_CONTENT), usual
    known = leading if usual is not None else 0
    bound = known * typical * _SAME_CONTENT + (sent - known) * least
    signed = _is_round(reported)
    if signed:
        bound = max(bound, sent * typical * _WITH_SIGNATURE)
    if reported >= bound:
        return None
    if not signed and _only_new(reported, new=sent - leading, leading=leading):
        return None
    return ServerCut(sent=round(sent * typical), reported=reported, server=server, model=model)


def _is_round(reported: int) -> bool:
    """A context that is a power of two, filled to its end, or half of one as Ollama's runners
    leave it (2,050): no prompt has exactly this size by chance."""
    return any(math.log2(size).is_integer() for size in (reported, reported - 2))


def _only_new(reported: int, *, new: int, leading: int) -> bool:
    """Whether it may be the count of what the server hadn't in its cache: older servers report
    only that. A cut to the same size by chance is missed once."""
    return leading > new > 0 and 0.5 * new <= reported <= 1.3 * new + 50


def _rounded(tokens: int) -> int:
    """To two digits: more would be invented."""
    unit = int(10 ** max(len(str(tokens)) - 2, 0))
    return round(tokens / unit) * unit
