"""No text of a model, a person or a title runs as code or makes a request."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser import payloads
from tests.browser.chat import Chat, answer
from tests.browser.watch import Watch

pytestmark = pytest.mark.browser
OWN = re.compile(
    r"^(GET /(chat|static|conversations|turns)\b|POST /(conversations/(import|changes)|session)$)"
)
TOGETHER = 9


def check(page: Page, watch: Watch) -> None:
    """Nothing ran, nothing was fetched, nothing but text and harmless links is there."""
    assert page.evaluate("typeof window.__xss") == "undefined"
    base = page.evaluate("location.origin")
    requests = [one.replace(base, "", 1) for one in watch.requests]
    assert [one for one in requests if not OWN.match(one)] == []
    loading = (
        "img, picture, svg image, video, audio, source, iframe, object, embed, link, meta, base"
    )
    active = "script, style, form, input, template, math, portal, frameset, [style], [id], [name]"
    for place in ("#col .body", "#convs a.conv", ".toast", "#title"):
        for kind in (loading, active):
            inside = ", ".join(f"{place} {one.strip()}" for one in kind.split(","))
            assert page.locator(inside).evaluate_all("(all) => all.map((x) => x.outerHTML)") == []
    links = page.locator("#col .body a[href]").evaluate_all(
        "(all) => all.map((one) => [one.getAttribute('href'), one.rel, one.target])"
    )
    for href, rel, target in links:
        assert re.match(r"https?://|mailto:", href), href
        assert (rel, target) == ("noopener noreferrer nofollow", "_blank")
    handlers = page.evaluate(
        """() => [...document.querySelectorAll("#app *")].flatMap((one) => one.getAttributeNames())
             .filter((name) => name.startsWith("on") || /href|src/.test(name) && name.length > 4)"""
    )
    assert handlers == []


def move_over(chat: Chat) -> None:
    """Hover over some of the messages: no handler may react to that."""
    for body in chat.page.locator("#col .body").all()[:: TOGETHER * 2]:
        body.hover(force=True)


def saved(title: str, *texts: str) -> dict[str, object]:
    messages = [{"role": role, "content": text} for text in texts for role in ("user", "assistant")]
    return {
        "format": "chatsite.conversation", "version": 1, "agent": "demo", "title": title,
        "messages": messages,
    }  # fmt: skip


def test_there_are_enough_payloads() -> None:
    assert len(set(payloads.ALL)) >= 60


def test_stored_messages_of_both_roles_stay_text(chat: Chat, watch: Watch) -> None:
    for start in range(0, len(payloads.ALL), 20):
        response = chat.ask(
            "POST", "/conversations/import", saved("Stored", *payloads.ALL[start : start + 20])
        )
        assert response.ok, response.text()
        chat.open(f"/chat/{response.json()['conversation']['id']}")
        expect(chat.users.last).to_be_visible()
        assert chat.users.count() == len(payloads.ALL[start : start + 20])
        move_over(chat)
        check(chat.page, watch)


@pytest.mark.parametrize("pace", [{}, {"rate": 150}], ids=["at once", "piece by piece"])
def test_an_answer_stays_text_while_it_is_written(
    pace: dict[str, int], chat: Chat, watch: Watch
) -> None:
    for start in range(0, len(payloads.ALL), TOGETHER):
        chat.say(answer("\n\n".join(payloads.ALL[start : start + TOGETHER]), **pace))
        assert chat.page.evaluate("typeof window.__xss") == "undefined"
    move_over(chat)
    check(chat.page, watch)


def test_what_a_person_types_is_shown_as_it_was_typed(chat: Chat, watch: Watch) -> None:
    text = "\n".join(payloads.ALL)
    chat.say(text)
    shown = chat.users.first.locator(".body").evaluate("(one) => one.textContent")
    assert shown == chat.stored()[1]["content"]
    chat.reload()
    expect(chat.users).to_have_count(1)
    check(chat.page, watch)


def test_titles_stay_text_wherever_they_are_shown(chat: Chat, watch: Watch) -> None:
    for payload in payloads.ALL:
        response = chat.ask("POST", "/conversations/import", saved(payload, "Hello."))
        assert response.ok, response.text()
    chat.reload()
    expect(chat.conversations.first).to_be_visible()
    titles = chat.page.locator("#convs a.conv").evaluate_all(
        "(all) => all.map((one) => one.textContent)"
    )
    assert len(titles) == len(payloads.ALL)
    chat.conversations.first.locator("a").click()
    expect(chat.page).to_have_title(re.compile(r" · Chatsite$"))
    chat.conversations.first.hover()
    chat.conversations.first.locator(".conv-more").click()
    chat.popover.get_by_role("button", name="Delete").click()
    expect(chat.toasts).to_contain_text("Deleted")
    watch.requests = [one for one in watch.requests if not one.startswith("DELETE ")]
    check(chat.page, watch)
