from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest
from playwright.sync_api import Browser, BrowserContext, ViewportSize, expect, sync_playwright

from tests.browser.chat import Chat
from tests.browser.watch import Watch
from tests.fakes.openai_server import FakeOpenAI
from tests.running import ROOT, Server

ARGUMENTS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()
# A window loads two pages for the suggestions under its address bar, unused here: a third of a
# visit's CPU. And Chromium keeps a process ready for a next page: an eighth. It obeys only the
# last such list, so this one repeats Playwright's.
DISABLED_FEATURES = (
    "WebUIOmniboxPopup WebUIOmniboxAimPopup SpareRendererForSitePerProcess "
    "AvoidUnnecessaryBeforeUnloadCheckSync DestroyProfileOnBrowserClose HttpsUpgrades "
    "HttpsFirstBalancedModeAutoEnable LensOverlay MediaRouter PaintHolding "
    "ThirdPartyStoragePartitioning AvoidCorsURLLoaderRestartOnRedirect OptimizationHints "
    "NetworkTimeServiceQuerying AimEnabled PreconnectToSearch"
).split()
PATIENCE = 20_000
REASON = "Short memory keeps the costs of the spring course down."
WIDE: ViewportSize = {"width": 1280, "height": 900}
# They write to the folder that `make pictures` names.
PICTURE_TESTS = [
    *("test_policy_pictures.py", "test_model_pictures.py"),
    *("test_cache_pictures.py", "test_channel_pictures.py"),
]
collect_ignore = [] if os.environ.get("PICTURES") else PICTURE_TESTS

expect.set_options(timeout=PATIENCE)


def provider_environment(fake: FakeOpenAI, **more: str) -> dict[str, Any]:
    """The environment in which the fake provider answers for every shipped agent."""
    return {"OPENAI_API_KEY": "sk-canary-7f3a", "OPENAI_BASE_URL": fake.base_url, **more}


# For the package, not the session: while Playwright runs, this thread has a running event loop, in
# which the asynchronous tests of other folders couldn't start their own.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"),
            args=[*ARGUMENTS, f"--disable-features={','.join(DISABLED_FEATURES)}"],
        )
        yield chromium
        chromium.close()


@pytest.fixture(scope="package")
def fake() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as running:
        yield running


@pytest.fixture(scope="package")
def plain(fake: FakeOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The application without history settings. Modules share it: chats are private."""
    with Server(
        tmp_path_factory.mktemp("plain"), **provider_environment(fake, SIGNUP="true")
    ) as running:
        yield running
        running.kill()


@pytest.fixture(scope="package")
def locked(fake: FakeOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The administrator decides what is sent, guests end, no chat is temporary; modules share it as
    they do `plain`.

    It is another server on the same host, too.
    """
    environment = {"HISTORY_POLICY": "lastN", "HISTORY_LENGTH": "2", "HISTORY_REASON": REASON}
    more = {"SIGNUP": "true", "GUEST_DAYS": "30", "TEMPORARY_CHATS": "off", **environment}
    with Server(tmp_path_factory.mktemp("locked"), **provider_environment(fake, **more)) as running:
        yield running
        running.kill()


@pytest.fixture(scope="module")
def server(plain: Server) -> Server:
    """The application; a module that needs other settings has a `server` of its own."""
    return plain


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pictures are written to: PICTURES, or else a folder that nobody keeps."""
    named = os.environ.get("PICTURES", "")
    folder = ROOT / named if named else tmp_path_factory.mktemp("pictures")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture
def watch() -> Watch:
    return Watch()


class Visit(Protocol):
    """`visit()` is a new person: a browser context with a page that isn't open yet."""

    def __call__(self, **options: Any) -> Chat: ...


@pytest.fixture
def visit(browser: Browser, server: Server, fake: FakeOpenAI, watch: Watch) -> Iterator[Visit]:
    contexts: list[BrowserContext] = []
    fake.script.clear()

    def visit(**options: Any) -> Chat:
        context = browser.new_context(
            **{"base_url": server.url, "viewport": WIDE, "reduced_motion": "reduce"} | options
        )
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        watch.follow(context)
        return Chat(context.new_page())

    yield visit
    for context in contexts:
        for page in context.pages:
            page.evaluate("0")  # events on their way arrive before the page's answer
        context.close()
    watch.check()


@pytest.fixture
def chat(visit: Visit) -> Chat:
    """A guest at a new chat with the demo agent."""
    return visit().open()
