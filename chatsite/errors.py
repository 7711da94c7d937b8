"""All errors, as one tree. The person who caused an error may read its message.

ChatsiteError
    BadSetting            an environment variable; stops the start
    BadFile               an administrator's file; its reader turns this into what applies
    BadCommand            a frame or a form with a wrong or missing value
    NotFound              it doesn't exist, or isn't this owner's: the same answer for both
    Refused               a valid request that is not possible now; the draft is kept
        TurnRunning       one answer at a time in a conversation
        TooMany           over a limit: answers at once, requests in a minute
        CostsMore         it costs so much that the person is asked first
    PromptTooLarge        head and current message alone don't fit the window
    BadRestore            a saved conversation that can't be taken as it is
    ProviderError         the model couldn't be reached or didn't answer properly
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chatsite.wording import say


class ChatsiteError(Exception):
    """An error with a stable `code` and a sentence for a person; never holds a secret."""

    code = "error"

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code


class BadSetting(ChatsiteError):
    code = "bad_setting"


class BadFile(ChatsiteError):
    """`key` is the place in the file ("chatSettings.historyPolicy"), "" for the file itself.

    The message is in English, for an administrator, and fills `text` with the `values`."""

    code = "bad_file"

    def __init__(self, text: str, *, key: str = "", **values: object) -> None:
        super().__init__(text.format(**values) if values else text)
        self.key, self.text, self.values = key, text, values

    def said(self) -> str:
        """The same in the reader's language, for a person whose own file it is."""
        told = {
            name: say(one) if isinstance(one, str) else one for name, one in self.values.items()
        }
        return say(self.text, **told)


class BadCommand(ChatsiteError):
    code = "bad_command"


class NotFound(ChatsiteError):
    code = "not_found"


class Refused(ChatsiteError):
    code = "refused"


class TurnRunning(Refused):
    code = "turn_running"


class TooMany(Refused):
    """`seconds` is how long to wait before it may work, 0 where nobody knows."""

    code = "too_many"

    def __init__(self, message: str, *, seconds: int = 0) -> None:
        super().__init__(message)
        self.seconds = seconds


class CostsMore(Refused):
    """`costs` is what the page asks with, as JSON; see `turns.what_if.cost_question`."""

    code = "costs_more"

    def __init__(self, message: str, costs: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.costs = costs


class PromptTooLarge(ChatsiteError):
    """The head and the current message alone are larger than the limit, so nothing was sent.

    `beforehand` says it to who hasn't tried yet, and sees the numbers beside it.
    """

    code = "prompt_too_large"

    def __init__(self, message: str, *, beforehand: str = "") -> None:
        super().__init__(message)
        self.beforehand = beforehand or message


class BadRestore(ChatsiteError):
    code = "bad_restore"


class ProviderError(ChatsiteError):
    """`retryable` says whether the same request may work a little later; `retry_after` is how many
    seconds later, where the provider says so. `again` says what was learned from a refusal, so that
    the same may be asked again at once and will be asked otherwise; "" where nothing was.

    `detail` is for the log only: it may name a host or an exception class, never a key.
    """

    code = "provider_error"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        retryable: bool = False,
        retry_after: float | None = None,
        again: str = "",
        detail: str = "",
    ) -> None:
        super().__init__(message, code=code)
        self.again = again
        self.retryable = retryable
        self.retry_after = retry_after
        self.detail = detail
