"""Every way a call of an OpenAI-compatible provider fails, as one sentence for a person.

The provider's own text never gets through: it may quote the key, a URL or other people's data.
"""

from __future__ import annotations

from chatsite.errors import ProviderError

_KEEPS = "What you wrote is kept."


def refused(status: int, *, code: str | None, model: str, name: str) -> ProviderError:
    """The answer was an HTTP error. `code` is the provider's own, `name` the exception's class."""
    detail = f"{name} {status}"
    if code == "context_length_exceeded":
        return ProviderError(
            f"This conversation is longer than {model} takes. Send less history, then try again. "
            f"{_KEEPS}",
            code="too_large",
            detail=detail,
        )
    if code == "insufficient_quota":
        return ProviderError(
            f"The provider's account is used up, so it didn't answer. {_KEEPS} "
            "Whoever runs this site has to top it up.",
            code="quota",
            detail=detail,
        )
    if status >= 500:
        return ProviderError(
            f"The provider has a problem of its own. {_KEEPS} Try again in a moment.",
            code="provider_down",
            retryable=True,
            detail=detail,
        )
    sentence, own_code, retryable = _BY_STATUS.get(
        status, (f"The provider refused this request. {_KEEPS}", "refused_by_provider", False)
    )
    return ProviderError(
        sentence.format(model=model), code=own_code, retryable=retryable, detail=detail
    )


_KEY_REFUSED = (
    f"The provider refused this site's key. {_KEEPS} Whoever runs this site has to check it.",
    "key_refused",
    False,
)
_TIMEOUT = (
    f"The provider took too long. {_KEEPS} Try again in a moment.",
    "timeout",
    True,
)
_BY_STATUS: dict[int, tuple[str, str, bool]] = {
    400: (
        f"The provider didn't accept this request for {{model}}. {_KEEPS} Whoever runs this site "
        "finds more in the log.",
        "bad_request",
        False,
    ),
    401: _KEY_REFUSED,
    403: _KEY_REFUSED,
    404: (
        f"The provider doesn't know the model {{model}}. {_KEEPS} Choose another agent, or have "
        "the model's name checked.",
        "model_unknown",
        False,
    ),
    408: _TIMEOUT,
    413: (
        f"This conversation is longer than {{model}} takes. Send less history, then try again. "
        f"{_KEEPS}",
        "too_large",
        False,
    ),
    429: (
        f"The provider is busy or this site has reached its limit there. {_KEEPS} "
        "Try again in a moment.",
        "rate_limited",
        True,
    ),
}


def unreachable(detail: str) -> ProviderError:
    return ProviderError(
        f"The provider can't be reached. {_KEEPS} Try again in a moment.",
        code="unreachable",
        retryable=True,
        detail=detail,
    )


def too_slow(*, started: bool, seconds: float) -> ProviderError:
    """Silence before the first token, or (`started`) in the middle of the answer."""
    what = "fell silent in the middle of its answer" if started else "didn't begin to answer"
    return ProviderError(
        f"The provider {what} for {seconds:.3g} seconds. What was said is kept. Try again.",
        code="timeout",
        retryable=True,
        detail=f"{'between tokens' if started else 'first token'} {seconds:.3g}s",
    )


def interrupted(detail: str) -> ProviderError:
    return ProviderError(
        "The answer broke off before its end. What was said is kept. Try again.",
        code="interrupted",
        retryable=True,
        detail=detail,
    )


def failed_midway(detail: str) -> ProviderError:
    return ProviderError(
        "The provider reported an error in the middle of its answer. What was said is kept. "
        "Try again.",
        code="failed_midway",
        retryable=True,
        detail=detail,
    )


def malformed(detail: str) -> ProviderError:
    return ProviderError(
        "The provider sent something that isn't an answer. What was said is kept. Try again.",
        code="malformed",
        retryable=True,
        detail=detail,
    )
