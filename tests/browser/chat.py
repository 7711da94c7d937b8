"""The page as a person uses it: what they can do and what they can see."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

from playwright.sync_api import APIResponse, Locator, Page, expect

from tests.person import kind_of


def answer(text: str, **keys: object) -> str:
    """A directive for the fake provider: answer this text, whatever characters it contains."""
    more = "".join(f";{name}={value}" for name, value in keys.items())
    return f"[[b64={base64.urlsafe_b64encode(text.encode()).decode()}{more}]]"


class Chat:
    """One tab."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.draft = page.locator("#draft")
        self.send_button = page.locator("#send")
        self.banner = page.locator("#banner")
        self.notice = page.locator("#notice")
        self.chip = page.locator("#chip")
        self.meter = page.locator("#meter")
        self.panel = page.locator("#panel")
        self.horizon = page.locator(".horizon-place")
        self.messages = page.locator("#col article.m")
        self.users = page.locator("#col article.m.user")
        self.answers = page.locator("#col article.m.assistant")
        self.writing = page.locator("#col article.m.writing")
        self.endings = page.locator("#col .ending:visible")
        self.receipt_buttons = page.get_by_role("button", name="What the model saw")
        self.toasts = page.locator("#toasts")
        self.conversations = page.locator("#convs .conv-row")
        self.popover = page.locator(".pop:visible")

    # ---- opening -----------------------------------------------------------------------------
    def open(self, path: str = "/chat") -> Chat:
        """Opens the address and waits for the first preview."""
        self.page.goto(path)
        return self.ready()

    def reload(self) -> Chat:
        self.page.reload()
        return self.ready()

    def ready(self) -> Chat:
        # `wait_for` looks again after 20 ms, `expect` only after 100.
        self.page.locator("#chip-words b").wait_for()
        return self

    def tab(self) -> Chat:
        """The same address in another tab of the same person."""
        return Chat(self.page.context.new_page()).open(self.page.url)

    @property
    def id(self) -> str:
        found = re.search(r"/chat/([0-9a-f-]{36})", self.page.url)
        assert found, f"no conversation in {self.page.url}"
        return found[1]

    # ---- sending -----------------------------------------------------------------------------
    def write(self, text: str) -> None:
        """Types and presses Enter."""
        self.draft.fill(text)
        self.draft.press("Enter")

    def say(self, text: str) -> Locator:
        """Sends, waits for the end of the answer and returns the answer's element."""
        number = self.receipt_buttons.count() + 1
        self.write(text)
        self.receipt_buttons.nth(number - 1).wait_for(state="attached")
        expect(self.receipt_buttons).to_have_count(number)
        expect(self.writing).to_have_count(0)
        return self.answers.last

    def begin(self, text: str, *, shows: str) -> None:
        """Sends and waits until the answer being written contains `shows`."""
        self.write(text)
        expect(self.writing.locator(".body")).to_contain_text(shows)

    def turns(self, *texts: str) -> Chat:
        for text in texts:
            self.say(text)
        return self

    # ---- reading -----------------------------------------------------------------------------
    def transcript(self) -> list[tuple[str, str]]:
        """The messages as they can be read: role and text."""
        found: list[tuple[str, str]] = self.page.evaluate(
            """() => [...document.querySelectorAll("#col article.m")].map((one) =>
                [one.classList.contains("user") ? "user" : "assistant",
                 one.querySelector(".body").innerText.trim()])"""
        )
        return [(who, text) for who, text in found]

    def load_all(self) -> None:
        """Scrolls up until the first message is there."""
        self.page.wait_for_function(
            """() => {
              document.querySelector("#log").scrollTop = 0;
              return !document.querySelector("#col > .more");
            }"""
        )

    def above_the_line(self) -> list[str]:
        """The text of the messages above the horizon."""
        found: list[str] = self.page.evaluate(
            """() => {
              const rows = [...document.querySelector("#col").children];
              const line = rows.findIndex((one) => one.matches(".horizon-place"));
              return rows.slice(0, Math.max(line, 0)).filter((one) => one.matches("article.m"))
                .map((one) => one.querySelector(".body").innerText.trim());
            }"""
        )
        return found

    def fact(self, name: str) -> Locator:
        """A line at the top of the debug panel."""
        facts = self.panel.locator("[data-section=facts] dl")
        return facts.locator(f"dt:has-text('{name}') + dd")

    def setting(self, name: str, source: str) -> Locator:
        """A cell of the panel's table of settings."""
        column = ["environment", "URL", "conversation", "template", "built in"].index(source)
        row = self.panel.locator("[data-section=settings] tbody tr", has_text=name)
        return row.locator("td").nth(column)

    def row(self, title: str) -> Locator:
        """A conversation in the sidebar."""
        return self.conversations.filter(has_text=title)

    def menu(self, title: str) -> Locator:
        """Opens the menu of a conversation in the sidebar."""
        self.row(title).hover()
        self.row(title).locator(".conv-more").click()
        return self.row(title).locator(".pop")

    # ---- the server's HTTP API -----------------------------------------------------------------
    def ask(self, method: str, path: str, body: Any = None) -> APIResponse:
        """An HTTP request of this person, as the page would make it."""
        cookies = {kind_of(one["name"]): one["value"] for one in self.page.context.cookies()}
        return self.page.request.fetch(
            path,
            method=method,
            headers={"X-CSRFToken": cookies.get("csrf", "")},
            data=body,
        )

    def restored(self, file: Any) -> str:
        """Imports a file, also one that takes longer than an answer waits; gives the new id."""
        response = self.ask("POST", "/conversations/import", file)
        assert response.ok, response.text()
        found = response.json()
        while "conversation" not in found or not found["conversation"]:
            assert not found.get("problem"), found
            found = self.ask("GET", "/conversations/import/progress").json()["import"]
        id: str = found["conversation"]["id"]
        return id

    def stored(self) -> list[dict[str, Any]]:
        """The conversation's messages as the server would save them to a file."""
        response = self.ask("GET", f"/conversations/{self.id}/export")
        assert response.ok, response.status
        messages: list[dict[str, Any]] = json.loads(response.body())["messages"]
        return messages
