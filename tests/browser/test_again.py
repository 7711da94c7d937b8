"""Try again, Continue and versions: the commands that the page sends, and what it shows."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from chatsite.events import Delta, PathChanged, Refusal, TurnEnded, TurnStarted
from chatsite.messages import Message
from chatsite.views import Problem, Version
from tests.browser.conftest import Visit
from tests.browser.scripted_page import CONVERSATION, ScriptedPage, snapshot, view

pytestmark = pytest.mark.browser
QUESTION = view(Message.user("How high is it?", id="u"), 1)
BUSY = Problem(code="refused", message="Not now. Nothing was changed.")


VERSIONS = (
    Version(id="a1", at="2026-01-31T12:00:00+00:00"),
    Version(id="a2", at="2026-01-31T12:05:00+00:00"),
)


def test_an_answer_is_continued_tried_again_and_shown_in_another_version(visit: Visit) -> None:
    stopped = view(Message.assistant("It is **twelve", id="a1"), 2, "stopped")
    scripted = ScriptedPage(visit(), snapshot(QUESTION, stopped))
    chat, words = scripted.chat, scripted.chat.answers.locator(".md")

    chat.endings.get_by_role("button", name="Continue").dblclick()
    refused = scripted.commands("continue")
    assert [one["message"] for one in refused] == ["a1"], "a double click sends one command"
    scripted.send(Refusal(ref=refused[0]["ref"], problem=BUSY))
    expect(chat.notice).to_have_text(BUSY.message)
    chat.endings.get_by_role("button", name="Continue").click()
    scripted.send(
        TurnStarted(
            conversation=CONVERSATION,
            turn="t2",
            client_id=scripted.commands("continue")[1]["client_id"],
            messages=(QUESTION,),
            gone_from=2,
            text="It is **twelve",
        ),
        Delta(turn="t2", offset=14, text=" metres** high."),
    )
    expect(words).to_have_text("It is twelve metres high.")
    expect(chat.writing).to_have_count(1)
    whole = view(Message.assistant("It is **twelve metres** high.", id="a1"), 2)
    scripted.send(
        TurnEnded(turn="t2", state="complete", message=whole, reported=None, problem=None)
    )
    expect(chat.endings).to_have_count(0)

    again = chat.answers.get_by_role("button", name="Try again")
    again.click()
    scripted.send(
        TurnStarted(
            conversation=CONVERSATION, turn="t3", client_id="x", messages=(QUESTION,), gone_from=2
        )
    )
    expect(words).to_have_text("")
    assert scripted.commands("again")[0]["message"] == "a1"
    other = view(Message.assistant("Ten.", id="a2"), 3, versions=VERSIONS)
    scripted.send(
        TurnEnded(turn="t3", state="complete", message=other, reported=None, problem=None)
    )
    expect(words).to_have_text("Ten.")

    versions = chat.page.get_by_role("group", name="Versions of this message")
    expect(versions).to_contain_text("2 / 2")
    chat.page.route("**/messages/a1/show", lambda route: route.fulfill(json={"seq": 2}))
    versions.get_by_role("button", name="Earlier version").click()
    expect(chat.page.locator("#status")).to_have_text("Another version is shown.")
    first = view(whole.message, 2, versions=VERSIONS)
    scripted.snapshot = snapshot(QUESTION, first)
    scripted.send(PathChanged(below=1))
    expect(words).to_have_text("It is twelve metres high.")
    expect(versions).to_contain_text("1 / 2")
    expect(versions.get_by_role("button", name="Later version")).to_be_focused()

    failed = view(QUESTION.message, 1, problem=Problem(code="timeout", message="It took too long."))
    scripted.send(snapshot(failed))
    expect(chat.endings).to_contain_text("It took too long.")
    chat.endings.get_by_role("button", name="Try again").click()
    expect(chat.endings.get_by_role("button", name="Edit and resend")).to_be_visible()
    assert scripted.commands("again")[-1]["message"] == "u"
