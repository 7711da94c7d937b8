"""Says for the administrator what a Nextcloud refuses, and what the refusal concerns."""

from __future__ import annotations

from typing import Literal

import aiohttp

from chatsite.channels.channel import Trouble

# The seconds for a server that asks for patience and doesn't say how long, and the most it may ask.
PATIENCE, MOST_PATIENCE = 30.0, 3600.0

# What a server may say of one file while all else works: it is gone, locked, may only be looked at,
# or isn't given to this account.
OF_A_FILE = tuple(status for status in range(400, 500) if status not in (401, 408, 425, 429))

# What the trouble concerns: the server, which isn't reached or has no time; the bot's account; one
# room; one request.
Concern = Literal["server", "busy", "account", "room", "request"]


class TalkTrouble(Trouble):
    """Nextcloud refused a request, or didn't answer."""

    def __init__(self, message: str, *, concern: Concern, seconds: float = 0.0) -> None:
        super().__init__(message, seconds=seconds)
        self.concern = concern


class AnswerTooLong(TalkTrouble):
    """The answer is too long to read. `last_given` is a message of the page, the last one if the
    server says which; 0 if the answer doesn't look like Talk's."""

    def __init__(self, *, last_given: int) -> None:
        super().__init__("the server's answer is too long", concern="server")
        self.last_given = last_given


def no_talk() -> TalkTrouble:
    return TalkTrouble("the server's answer isn't Talk's", concern="server")


# What OCS says in its version 1, where the status above the answer is always one of success.
_VERSION_1 = {100: 200, 996: 500, 997: 401, 998: 404}


def require_success(response: aiohttp.ClientResponse, *, content_status: int = 0) -> None:
    """Raises TalkTrouble if a request didn't succeed. `content_status` is the status in the
    answer's content, 0 for none."""
    status = _VERSION_1.get(content_status, content_status) or response.status
    method = response.method
    if status == 304 or 200 <= status < 300:
        return
    if status == 401 or (status == 403 and method == "GET"):
        raise TalkTrouble("the user name or the app password isn't accepted", concern="account")
    if status == 403:
        raise TalkTrouble("the bot may not write in the room", concern="room")
    if status == 404:
        raise TalkTrouble("there is no such room for the bot", concern="room")
    if status == 412:
        raise TalkTrouble("the room's lobby is closed for the bot", concern="room")
    if 300 <= status < 400:
        raise TalkTrouble(
            "the server sends to another address; `server` must be the final one", concern="server"
        )
    raise TalkTrouble(
        f"the server answers with {status}",
        concern="busy" if status in (408, 425, 429) or status >= 500 else "request",
        seconds=_patience(response.headers.get("Retry-After", ""), status),
    )


def require_file(response: aiohttp.ClientResponse) -> None:
    """Raises TalkTrouble if the server refuses only this file."""
    if response.status in OF_A_FILE:
        raise TalkTrouble(f"the server answers with {response.status}", concern="request")


def _patience(seconds: str, status: int) -> float:
    if seconds.isascii() and seconds.isdigit() and len(seconds) < 9:
        return min(float(seconds), MOST_PATIENCE)
    return PATIENCE if status == 429 else 0.0


def broken(error: Exception) -> str:
    """Says what broke, without the library's own words, which hold the address."""
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "there is no server of this name"
    if isinstance(error, aiohttp.ClientConnectorCertificateError | aiohttp.ClientSSLError):
        return "its certificate isn't valid"
    if isinstance(error, aiohttp.ClientConnectorError):
        return "nothing listens there"
    return "the connection broke"
