"""Record a page's console errors and requests, to find those that a test doesn't expect."""

from __future__ import annotations

import re

from playwright.sync_api import BrowserContext, ConsoleMessage, Request, WebError

# The console shows most violations itself; a listener gets them all, with the directive.
REPORT_CSP_VIOLATIONS = """
addEventListener("securitypolicyviolation", (event) => {
  console.error(`CSP: ${event.effectiveDirective} refused ${event.blockedURI}`);
});
"""
# What a browser logs while the server can't be reached.
OFFLINE = r"WebSocket connection to|net::ERR_"


def failed_request(status: int) -> str:
    """What the console logs for a request that was answered with this status."""
    return rf"the server responded with a status of {status}"


# Servers of tests run on this machine: whatever else is asked for would leave a user's.
OWN = re.compile(r"[A-Z]+ (http://(127\.0\.0\.1|localhost):\d+/|(blob|data|about):)")


class Watch:
    """Follows the pages of browser contexts; `check()` fails on errors that aren't allowed, and on
    requests to any other host."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.errors: list[str] = []
        self.allowed: list[str] = []

    def follow(self, context: BrowserContext) -> None:
        context.add_init_script(REPORT_CSP_VIOLATIONS)
        context.on("console", self._on_console)
        context.on("weberror", self._on_error)
        context.on("request", self._on_request)

    def allow(self, *patterns: str) -> None:
        """Expect errors in which one of these regular expressions is found."""
        self.allowed += patterns

    def check(self) -> None:
        unexpected = [
            error
            for error in self.errors
            if not any(re.search(pattern, error) for pattern in self.allowed)
        ]
        assert not unexpected, "\n".join(unexpected)
        foreign = [request for request in self.requests if not OWN.match(request)]
        assert not foreign, "\n".join(foreign)

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.errors.append(f"console: {message.text} ({message.location.get('url', '')})")

    def _on_error(self, error: WebError) -> None:
        self.errors.append(f"uncaught: {error.error.stack or error.error.message}")

    def _on_request(self, request: Request) -> None:
        self.requests.append(f"{request.method} {request.url}")
