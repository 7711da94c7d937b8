"""Searching titles and messages in the sidebar: where something was found, and going there."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.test_sidebar import many
from tests.running import Server

pytestmark = pytest.mark.browser


def look_for(chat: Chat, text: str) -> None:
    chat.page.locator("#find").fill(text)


def test_each_hit_shows_its_chat_its_author_and_the_words_found(chat: Chat) -> None:
    chat.turns("About whales")
    chat.page.locator("#new").click()
    chat.turns("About birds", "The albatross sleeps while it flies.")
    look_for(chat, "albatross flies")
    first = chat.page.locator(".hit").first
    expect(chat.page.locator("h3.hit-title")).to_have_text("About birds")
    expect(first.locator(".hit-place")).to_contain_text(re.compile(r"^(You|Memo) · \d\d:\d\d$"))
    expect(first.locator("mark")).to_have_text(["albatross", "flies"])
    look_for(chat, "whales")
    expect(chat.page.locator(".hit").first.locator(".hit-title mark")).to_have_text("whales")
    look_for(chat, "neither of them")
    expect(chat.page.locator("#convs")).to_contain_text("Nothing found in titles or messages.")
    chat.page.locator("#find").press("Escape")
    expect(chat.conversations).to_have_text(["About birds", "About whales"])


def restored(chat: Chat, messages: int) -> str:
    """A conversation of so many messages, each with its number; only the seventh has otters."""
    said = [
        {
            "role": "user" if number % 2 else "assistant",
            "content": f"Message {number}" + " about otters" * (number == 7),
        }
        for number in range(1, messages + 1)
    ]
    saved = {
        "format": "chatsite.conversation",
        "version": 3,
        "agent": "demo",
        "title": "A long chat",
        "messages": said,
    }
    answer = chat.ask("POST", "/conversations/import", json.dumps(saved))
    assert answer.ok, answer.text()
    return str(answer.json()["conversation"]["id"])


def marked(chat: Chat) -> list[str]:
    """The words that are marked where the hit stands."""
    found = "() => [...(CSS.highlights.get('found') ?? [])].map(String)"
    return list(chat.page.evaluate(found))


def in_the_middle(chat: Chat) -> bool:
    """Whether the first marked words stand in the middle half of the column."""
    return bool(
        chat.page.evaluate(
            """() => {
              const [words] = CSS.highlights.get("found") ?? [];
              const place = words?.getBoundingClientRect();
              const { top, height } = document.querySelector("#log").getBoundingClientRect();
              return place?.top > top + height / 4 && place.bottom < top + (height * 3) / 4;
            }"""
        )
    )


def until_marked(chat: Chat, *words: str) -> None:
    chat.page.wait_for_function("() => CSS.highlights.get('found')?.size")
    assert marked(chat) == [*words]


def test_a_click_opens_the_conversation_at_the_message_however_far_up_it_is(chat: Chat) -> None:
    restored(chat, 240)
    look_for(chat, "otters")
    chat.page.locator(".hit").click()
    expect(chat.page.locator('article[data-seq="7"]')).to_be_in_viewport()
    expect(chat.page.locator('article[data-seq="7"]')).to_be_focused()
    until_marked(chat, "otters")
    # In the same conversation again, from its end.
    chat.page.locator("#newest").click()
    assert marked(chat) == []
    expect(chat.page.locator('article[data-seq="240"]')).to_be_in_viewport()
    chat.page.locator(".hit").click()
    expect(chat.page.locator('article[data-seq="7"]')).to_be_in_viewport()


@pytest.mark.parametrize("way", ["sidebar", "palette"])
def test_a_hit_opens_at_the_words_and_marks_them_until_the_next_click(chat: Chat, way: str) -> None:
    filler = [f"Paragraph {number}. " + "Of other things. " * 40 for number in range(15)]
    told = [*filler, "The café at the **north quay** opens `at_dawn`.", *filler]
    chat.restored(
        {
            "format": "chatsite.conversation",
            "version": 3,
            "agent": "demo",
            "title": "A long answer",
            "messages": [
                {"role": "user", "content": "Tell me all."},
                {"role": "assistant", "content": "\n\n".join(told)},
            ],
        }
    )
    chat.open("/chat")
    if way == "sidebar":
        look_for(chat, "CAFE quay opens")
        chat.page.locator(".hit").click()
    else:
        chat.page.keyboard.press("Control+KeyK")
        chat.page.keyboard.type("CAFE quay opens")
        expect(chat.page.get_by_role("option").filter(has_text="north quay")).to_be_visible()
        chat.page.keyboard.press("Enter")
    until_marked(chat, "café", "quay", "opens")
    chat.page.wait_for_function("() => !document.querySelector('.unparsed')")
    assert in_the_middle(chat)
    expect(chat.page.locator("article.assistant")).to_be_focused()
    expect(chat.page.locator("article.pointed-out")).to_have_count(0)
    chat.page.keyboard.press("Tab")
    assert marked(chat), "still while somebody reads"
    chat.page.locator("#draft").click()
    assert marked(chat) == []


def test_hits_stand_below_the_title_of_their_chat_which_is_read_whole(chat: Chat) -> None:
    chat.turns("About the whales of the northern sea", "More about whales")
    look_for(chat, "whales")
    hits = chat.page.locator(".hit")
    expect(hits).to_have_count(3)
    expect(chat.page.locator(".hit-chat")).to_have_count(1)
    title = "About the whales of the northern sea"
    expect(hits.locator(".hit-title")).to_have_text(title)
    below = chat.page.get_by_role("list", name=title, exact=True)
    expect(below.locator(".hit .hit-place")).to_have_text([re.compile(r"^You · \d\d:\d\d$")] * 2)


def test_the_list_comes_back_at_the_open_chat_and_counts_what_came_meanwhile(
    chat: Chat, server: Server
) -> None:
    chat.say("About whales")
    many(server, 90, like=chat.id)
    chat.reload()
    chat.page.get_by_role("link", name="chat 0", exact=True).click()
    current = chat.page.locator("#convs a[aria-current]")
    expect(current).to_have_text("chat 0")
    look_for(chat, "whales")
    expect(chat.page.locator(".hit").first).to_be_visible()
    many(server, 2, like=chat.id, folder="Harbour")
    chat.page.evaluate("dispatchEvent(new Event('focus'))")
    expect(chat.page.locator("#me-open")).to_contain_text("93 conversations")
    expect(chat.page.locator(".hit").first).to_be_visible()
    chat.page.locator("#find").press("Escape")
    expect(current).to_be_in_viewport()
    expect(chat.page.locator("#find")).to_be_focused()


def test_a_hit_shows_no_signs_that_format_a_text(chat: Chat) -> None:
    chat.say("Which berth? [[text=It is **berth `B17`**, on __the__ jetty.]]")
    look_for(chat, "berth")
    expect(chat.page.locator(".hit-text").last).to_contain_text("It is berth B17, on the jetty.")


def test_a_hit_has_an_address_of_its_own(chat: Chat) -> None:
    conversation = restored(chat, 240)
    look_for(chat, "otters")
    address = chat.page.locator(".hit").get_attribute("href")
    assert address == f"/chat/{conversation}#message-7"
    chat.open(address)
    expect(chat.page.locator('article[data-seq="7"]')).to_be_in_viewport()
    chat.page.evaluate("location.hash = '#message-236'")
    expect(chat.page.locator('article[data-seq="236"].pointed-out')).to_be_in_viewport()
    chat.open(f"/chat/{conversation}#message-9999")
    expect(chat.toasts).to_contain_text("This message isn't in the conversation as it is now.")


def test_of_many_hits_the_newest_come_first_and_more_follow_while_scrolling(chat: Chat) -> None:
    restored(chat, 240)
    look_for(chat, "message")
    note = chat.page.locator("#convs .convs-note")
    expect(note).to_have_text("Many messages have these words. The newest come first.")
    hits = chat.page.locator(".hit")
    expect(hits.first).to_contain_text("Message 240")
    for shown in (100, 200, 240):
        expect(hits).to_have_count(shown)
        chat.page.locator("#convs").evaluate("(list) => list.scrollTo(0, list.scrollHeight)")
    expect(hits.last).to_contain_text("Message 1")


def test_the_arrow_keys_walk_through_the_hits(chat: Chat) -> None:
    chat.turns("About whales", "More about whales")
    look_for(chat, "whales")
    expect(chat.page.locator(".hit").first).to_be_visible()
    find = chat.page.locator("#find")
    find.press("ArrowDown")
    expect(chat.page.locator(".hit").first).to_be_focused()
    chat.page.keyboard.press("ArrowDown")
    expect(chat.page.locator(".hit").nth(1)).to_be_focused()
    chat.page.keyboard.press("ArrowUp")
    chat.page.keyboard.press("ArrowUp")
    expect(find).to_be_focused()
