"""Every way in which a call of a provider fails, as one sentence for a person; for all dialects.

The provider's own text is only matched against known phrases and never shown: it may quote the
key, a URL or other people's data.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Collection, Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from chatsite.errors import ProviderError
from chatsite.providers.http.error_events import find_status
from chatsite.providers.http.refusals import is_of_a_time, is_too_long, refuses
from chatsite.wording import later, say

_TRY_AGAIN = later("Try again.")
_KEEPS = later("What you wrote is kept.")
_SAID = later("The part received is kept.")
_SOON = later("Try again in a moment.")
# Google states the wait only in the body: {"@type": ".../RetryInfo", "retryDelay": "34s"}; in a
# stream nobody has a header for it.
_IN_BODY = re.compile(r"(?:retryDelay|try again in)\W+(\d+(?:\.\d+)?) ?s")

# Phrases of providers for cases of ours for which they have no code.
# Gemini answers 400; others with a sentence in the stream.
_BAD_KEY = re.compile(r"api key not valid|api_key_invalid|(?:invalid|incorrect)[ _]api[ _]key")
_NO_QUOTA = (
    "insufficient_quota",
    "insufficient balance",  # DeepSeek
    "credit balance",  # Anthropic, and the next two
    "billing_error",
    "spend_limit",
)


def refused(
    status: int,
    *,
    model: str,
    name: str,
    words: str = "",
    headers: Mapping[str, str] | None = None,
    fields: Collection[str] = (),
) -> ProviderError:
    """The answer was an HTTP error. `words` is the provider's text with its own code for the error,
    `name` the class of the exception, `fields` are those of the request that it names."""
    case = _case(status, words.lower(), fields)
    sentence, retryable = _CASES[case]
    # A refusal that time doesn't heal isn't retried, whatever its headers ask for.
    wait = retry_after(headers or {}, words) if retryable else None
    parts = [say(sentence, model=model), say(_KEEPS)]
    if retryable and not wait:  # the page counts the seconds of a known wait down
        parts.append(say(_SOON))
    elif case in _TODO:
        parts.append(say(_TODO[case]))
    return ProviderError(
        " ".join(parts),
        code=case,
        retryable=retryable,
        retry_after=wait,
        detail=f"{name} {status}",
    )


def _case(status: int, words: str, fields: Collection[str]) -> str:
    if status < 400:
        return "moved"
    if status == 402 or any(phrase in words for phrase in _NO_QUOTA):
        return "quota"
    if status not in _OF_A_CALLER and is_too_long(words):
        return "too_large"
    if fields:
        return "no_tools" if "tools" in fields else "bad_request"
    if status == 413 and is_of_a_time(words):
        return "rate_limited"
    if _BAD_KEY.search(words):
        return "key_refused"
    if status >= 500:
        return "overloaded" if status == 529 or "overloaded" in words else "provider_down"
    return _BY_STATUS.get(status, "refused_by_provider")


# Whatever their words are.
_OF_A_CALLER = frozenset({401, 403, 429})
_BY_STATUS = {
    400: "bad_request",
    401: "key_refused",
    403: "key_refused",
    404: "model_unknown",
    408: "timeout",
    413: "too_large",
    422: "bad_request",
    429: "rate_limited",
}
# The sentence, and whether the same request may work later.
_CASES: dict[str, tuple[str, bool]] = {
    "moved": (later("The provider's address leads elsewhere."), False),
    "quota": (later("This site's credit with the provider has run out."), False),
    "no_tools": (later("{model} can't use tools."), False),
    "too_large": (later("This conversation is too long for {model}."), False),
    "key_refused": (later("The provider rejected this site's API key."), False),
    "model_unknown": (later("The provider doesn't know the model {model}."), False),
    "bad_request": (later("The provider didn't accept this request for {model}."), False),
    "refused_by_provider": (later("The provider refused this request."), False),
    "timeout": (later("The provider took too long."), True),
    "rate_limited": (later("The provider is busy or this site has reached its limit there."), True),
    "overloaded": (later("The provider has too much to do right now."), True),
    "provider_down": (later("The provider reported an internal error."), True),
}
# What to do about those that time doesn't heal.
_TELL = later("Please tell the administrator.")
_TODO = {
    "moved": _TELL,
    "quota": _TELL,
    "no_tools": later("Choose another model, or an agent without tools."),
    "too_large": later("Choose a shorter memory at the top right, then try again."),
    "key_refused": _TELL,
    "model_unknown": later("Choose another agent, or tell the administrator."),
    "bad_request": later("The server's log has more for the administrator."),
}


class RefusedInStream(ProviderError):
    """What a server says in its stream, after the status 200, before anything of an answer: as a
    value of JSON, or a text."""

    def __init__(self, error: Any, *, model: str) -> None:
        self.status, self.words = find_status(error), json.dumps(error, ensure_ascii=False)
        failure = refused(self.status, model=model, name="error event", words=self.words)
        super().__init__(
            failure.message,
            code=failure.code,
            retryable=failure.retryable,
            retry_after=failure.retry_after,
            detail=failure.detail,
        )

    @property
    def has_reason(self) -> bool:
        """Whether a text is one about a failure."""
        says_so = self.words.lower().startswith('"error')
        return says_so or self.code != "provider_down" or refuses(self.words)


def unreachable(detail: str) -> ProviderError:
    """`detail` is the class of the error, as the transport names it."""
    sentence, retryable = say("The provider can't be reached."), True
    if "DNS" in detail:
        sentence = say("The provider's address can't be found.")
    elif "Certificate" in detail or "SSL" in detail:
        sentence = say("No secure connection to the provider could be made.")
        retryable = False
    return ProviderError(
        " ".join((sentence, say(_KEEPS), say(_SOON if retryable else _TELL))),
        code="unreachable",
        retryable=retryable,
        detail=detail,
    )


def too_slow(*, started: bool, seconds: float) -> ProviderError:
    """Silence before the first token, or (`started`) in the middle of the answer."""
    if started:
        sentence = say(
            "The provider fell silent in the middle of its answer for {seconds:.3g} seconds.",
            seconds=seconds,
        )
    else:
        sentence = say(
            "The provider didn't begin to answer for {seconds:.3g} seconds.", seconds=seconds
        )
    detail = f"{'between tokens' if started else 'first token'} {seconds:.3g}s"
    return _broken(sentence, "timeout", detail, started)


def interrupted(detail: str, *, received: bool = True) -> ProviderError:
    """`received`: something of the answer has come, here and below."""
    sentence = say("The connection broke before the answer was complete.")
    return _broken(sentence, "interrupted", detail, received)


def failed_midway(detail: str) -> ProviderError:
    sentence = say("The provider reported an error in the middle of its answer.")
    return _broken(sentence, "failed_midway", detail, received=True)


def malformed(detail: str, *, received: bool = True) -> ProviderError:
    sentence = say("The provider sent something that isn't an answer.")
    return _broken(sentence, "malformed", detail, received)


def _broken(sentence: str, code: str, detail: str, received: bool) -> ProviderError:
    kept = say(_SAID) if received else f"{say(_KEEPS)} {say(_TRY_AGAIN)}"
    return ProviderError(f"{sentence} {kept}", code=code, retryable=True, detail=detail)


def retry_after(headers: Mapping[str, str], words: str) -> float | None:
    """Return how long the provider asks us to wait, in seconds: from the header `retry-after-ms` or
    `retry-after` (a number or a date), or from the body `words`. None where nothing can be read."""
    found = _number(headers.get("retry-after-ms"), 0.001)
    if found is None and (stated := headers.get("retry-after")):
        found = _number(stated, 1.0)
        found = _until(stated) if found is None else found
    if found is None and (match := _IN_BODY.search(words)):
        return float(match[1])
    return found


def _number(stated: str | None, unit: float) -> float | None:
    try:
        seconds = float(stated or "") * unit
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _until(date: str) -> float | None:
    try:
        return max(parsedate_to_datetime(date).timestamp() - time.time(), 0.0)
    except (ValueError, OverflowError):
        return None
