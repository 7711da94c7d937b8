"""What a page did that it must not do: errors in its console, and requests nobody expects."""

from __future__ import annotations

import re

from playwright.sync_api import BrowserContext, ConsoleMessage, Request, WebError

# The console says most violations itself; a listener says them all, and which directive it was.
TELL_OF_CSP = """
addEventListener("securitypolicyviolation", (event) => {
  console.error(`CSP: ${event.effectiveDirective} refused ${event.blockedURI}`);
});
"""
# What a browser writes while a server is away, or where an answer is meant to be an error.
OFFLINE = r"WebSocket connection to|net::ERR_"


def refused(status: int) -> str:
    """The console's words for a request that was answered with this status."""
    return rf"the server responded with a status of {status}"


class Watch:
    """Follows every page of the contexts it was given; `check()` fails on what wasn't allowed."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.errors: list[str] = []
        self.allowed: list[str] = []

    def follow(self, context: BrowserContext) -> None:
        context.add_init_script(TELL_OF_CSP)
        context.on("console", self._said)
        context.on("weberror", self._failed)
        context.on("request", self._asked)

    def allow(self, *patterns: str) -> None:
        """Errors in which one of these regular expressions is found are expected in this test."""
        self.allowed += patterns

    def check(self) -> None:
        unexpected = [
            error
            for error in self.errors
            if not any(re.search(pattern, error) for pattern in self.allowed)
        ]
        assert not unexpected, "\n".join(unexpected)

    def _said(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.errors.append(f"console: {message.text} ({message.location.get('url', '')})")

    def _failed(self, error: WebError) -> None:
        self.errors.append(f"uncaught: {error.error.stack or error.error.message}")

    def _asked(self, request: Request) -> None:
        self.requests.append(f"{request.method} {request.url}")
