"""Whatever is in a message is shown, and the conversation goes on."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.chat import Chat, answer
from tests.browser.conftest import Visit, provider_environment
from tests.browser.hostile_texts import CODE, DEEP, FORMATTED, LONG, MANY, PLAIN, SLOW, table
from tests.browser.watch import Watch
from tests.fakes.openai_server import FakeOpenAI
from tests.running import ROOT, Server

pytestmark = pytest.mark.browser
DEEP_TEXT = "> " * 3_000 + "x"
DEEP_JSON = "[" * 20_000 + "]" * 20_000
GREETINGS = [DEEP_TEXT, "*a_" * 20_000, table(250, 490), "x" * 250_000, "**Hello.**"]


@pytest.fixture(scope="module")
def server(fake: FakeOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("hostile")
    template = json.loads((ROOT / "agents" / "demo" / "template.json").read_text())
    template["nodeConfigurations"]["llm.openai"]["maxTokens"] = 100_000
    for slug, greetings in (("demo", []), ("greeter", GREETINGS)):
        (folder / "agents" / slug).mkdir(parents=True)
        template |= {"agentId": slug, "chatSettings": {"initialMessages": greetings}}
        (folder / "agents" / slug / "template.json").write_text(json.dumps(template))
    agents = str(folder / "agents")
    with Server(folder / "var", **provider_environment(fake, AGENTS_DIR=agents)) as running:
        yield running
        running.kill()


def open_restored(chat: Chat, messages: list[dict[str, Any]]) -> None:
    """Restores a conversation from a file and opens it."""
    file = {
        "format": "chatsite.conversation", "version": 2, "agent": "demo", "title": "*a_" * 60,
        "messages": messages,
    }  # fmt: skip
    chat.open(f"/chat/{chat.restored(file)}")


def spoken(*answers: str) -> list[dict[str, Any]]:
    pairs = [("user", "What is this?", "assistant", text) for text in answers]
    return [
        {"role": role, "content": text}
        for asker, question, answerer, text in pairs
        for role, text in ((asker, question), (answerer, text))
    ]


def expect_plain(message: Locator, text: str, why: str) -> None:
    """The message is shown as it was written, with the reason; on a busy machine the worker's
    second may be over before it finds another one."""
    reason = re.compile(f"^Shown as plain text: ({re.escape(why)}|{re.escape(SLOW)})$")
    expect(message.locator(".plain-note")).to_have_text(reason, timeout=60_000)
    assert message.locator(".plain").evaluate("(one) => one.textContent") == text


def expect_formatted(chat: Chat) -> None:
    """Everything has been formatted that is going to be."""
    expect(chat.page.locator(".unparsed")).to_have_count(0)


def test_what_cannot_be_formatted_is_shown_as_it_was_written(chat: Chat) -> None:
    open_restored(chat, spoken(*[text for text, _ in PLAIN], "The **last** answer."))
    chat.load_all()
    expect(chat.answers).to_have_count(len(PLAIN) + 1)
    expect(chat.answers.last.locator("strong")).to_have_text("last")
    for number, (text, why) in enumerate(PLAIN):
        expect_plain(chat.answers.nth(number), text, why)
    assert "Fine." in chat.say(answer("Fine.")).inner_text()
    assert chat.users.count() == len(PLAIN) + 2


def test_what_other_parsers_stumbled_over_is_formatted(chat: Chat) -> None:
    open_restored(chat, spoken(*FORMATTED, "The **last** answer."))
    expect(chat.answers.last.locator("strong")).to_have_text("last")
    expect_formatted(chat)
    for number in range(len(FORMATTED)):
        expect(chat.answers.nth(number).locator(".plain-note")).to_have_count(0)
    assert "Fine." in chat.say(answer("Fine.")).inner_text()


def test_code_that_takes_too_long_to_colour_stays_in_one_colour(chat: Chat) -> None:
    blocks = [f"```{language}\n{code}\n```" for language, code in CODE]
    open_restored(chat, spoken(*blocks, "```python\nlast = None\n```"))
    expect(chat.answers.last.locator("pre .hljs-literal")).to_have_text("None")
    for number, (_, code) in enumerate(CODE):
        shown = chat.answers.nth(number).locator("pre").evaluate("(one) => one.textContent")
        assert shown == f"{code}\n"
    assert "Fine." in chat.say(answer("Fine.")).inner_text()


def test_tool_calls_and_questions_are_shown_whatever_they_hold(chat: Chat) -> None:
    messages: list[dict[str, Any]] = []
    for number, result in enumerate((DEEP_JSON, f'{{"result": {DEEP_JSON}}}', "*a_" * 20_000)):
        call = {"id": f"k{number}", "name": "clock", "arguments": {"x": DEEP_TEXT}}
        messages += [
            {"role": "user", "content": DEEP_TEXT},
            {"role": "assistant", "content": "", "calls": [call]},
            {"role": "tool", "call_id": call["id"], "content": result},
            {"role": "assistant", "content": "It is noon."},
        ]
    open_restored(chat, messages)
    expect(chat.page.locator("#col .call")).to_have_count(3)
    for line in chat.page.locator("#col .call").all():
        line.locator("summary").click()
        expect(line.locator("pre")).to_have_count(2)
    assert chat.page.locator("#col .call pre").nth(1).evaluate("(x) => x.textContent") == DEEP_JSON
    assert "Fine." in chat.say(answer("Fine.")).inner_text()


STREAMED = [
    (DEEP_TEXT, DEEP),
    ("*a_" * 7_000, SLOW),
    (table(250, 490) + "a", MANY),
    ("x " * 101_000 + "x", LONG),
]


@pytest.mark.parametrize(
    "pace",
    [pytest.param({}, marks=pytest.mark.thorough), {"rate": 20_000}],
    ids=["at once", "piece by piece"],
)
def test_streamed_answers_keep_to_the_same_bounds(
    pace: dict[str, int], visit: Visit, fake: FakeOpenAI
) -> None:
    chat = visit().open("/chat?historyPolicy=none")
    for text, why in STREAMED:
        fake.script.append(answer(text, **pace))
        expect_plain(chat.say("Go on."), text, why)
        assert "Fine." in chat.say(answer("Fine.")).inner_text()
    chat.reload()
    chat.load_all()
    expect(chat.answers).to_have_count(2 * len(STREAMED))
    for number, (text, why) in enumerate(STREAMED):
        expect_plain(chat.answers.nth(2 * number), text, why)


def test_greetings_are_shown_whatever_they_hold(visit: Visit) -> None:
    chat = visit().open("/chat?agent=greeter")
    expect(chat.answers).to_have_count(len(GREETINGS))
    for number, why in enumerate((DEEP, SLOW, MANY, LONG)):
        expect_plain(chat.answers.nth(number), GREETINGS[number], why)
    expect(chat.answers.last.locator("strong")).to_have_text("Hello.")
    chat.write(answer("Fine."))
    expect(chat.answers.last).to_contain_text("Fine.")


# The browser refuses to make a `time` element from the second message on.
BREAK = """
const make = Document.prototype.createElement;
let times = 0;
Document.prototype.createElement = function (name) {
  if (name === "time" && (times += 1) === 2) throw new Error("no more time");
  return make.call(this, name);
};
"""


def test_a_message_that_cannot_be_drawn_hides_no_other(visit: Visit, watch: Watch) -> None:
    watch.allow("no more time")
    chat = visit()
    chat.page.add_init_script(BREAK)
    chat.open()
    open_restored(chat, spoken("The **first** answer.", "The **last** answer."))
    expect(chat.messages).to_have_count(4)
    note = "Shown as plain text: this message couldn't be drawn."
    expect(chat.messages.nth(1).locator(".plain-note")).to_have_text(note)
    expect(chat.messages.nth(1).locator(".plain")).to_have_text("The **first** answer.")
    expect(chat.answers.last.locator("strong")).to_have_text("last")
    assert "Fine." in chat.say(answer("Fine.")).inner_text()
