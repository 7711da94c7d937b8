"""What is remembered in a thread of mails: what users of mail agents have reported elsewhere."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from email.message import EmailMessage
from typing import Any

import pytest

from tests.fakes.dovecot import Dovecot
from tests.fakes.mailing import add_account, id_of, mail_environment, mail_server, rows, written
from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.smtp_sink import SmtpSink, text_of
from tests.running import Server
from tests.story.agents import write_agent
from tests.story.conftest import provider_environment

FAST = "tiny"
CHAT = {
    "historyPolicy": "relevant",
    "historySelector": "triage",
    "conversation": {"skip_selection_threshold": 1, "always_include_recent": 1},
}


@pytest.fixture(scope="module")
def own_fake() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as running:
        yield running


class Model:
    """Answers mails by numbers; `choice` is what the fast model says of the older turns."""

    def __init__(self, fake: FakeOpenAI) -> None:
        self.fake = fake
        self.choice = '{"relevant": []}'
        self.answers = 0
        fake.script.clear()
        fake.script.append(self._answer)

    def _answer(self, body: Mapping[str, Any]) -> str:
        if body["model"] == FAST:
            return self.choice
        self.answers += 1
        return f"Answer {self.answers}."

    def asked(self) -> list[str]:
        """What the last request behind its instructions holds."""
        said: list[dict[str, Any]] = self.fake.requests[-1]["messages"]
        return [str(one["content"]) for one in said if one["role"] != "system"]


@pytest.fixture
def model(own_fake: FakeOpenAI) -> Model:
    return Model(own_fake)


@pytest.fixture(scope="module")
def server(
    own_fake: FakeOpenAI,
    mailbox: Dovecot,
    sink: SmtpSink,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Server]:
    agents = tmp_path_factory.mktemp("agents")
    write_agent(agents, "careful", CHAT)
    environment = provider_environment(
        own_fake,
        **mail_environment(mailbox, sink, MAIL_AGENT="careful"),
        AGENTS_DIR=str(agents),
        FAST_MODEL=FAST,
    )
    with mail_server(tmp_path_factory.mktemp("memory"), environment) as running:
        yield running


class Thread:
    def __init__(self, server: Server, mailbox: Dovecot, sink: SmtpSink) -> None:
        self.mailbox, self.sink = mailbox, sink
        self.sender = add_account(server, f"ada-{secrets.token_hex(4)}")
        self.answers: list[EmailMessage] = []

    def say(self, text: str, *, answers: EmailMessage | None = None) -> EmailMessage:
        to = answers or (self.answers[-1] if self.answers else None)
        self.mailbox.deliver(
            written(text, sender=self.sender, answers=id_of(to) if to is not None else "")
        )
        self.answers = self.sink.wait_to(self.sender, len(self.answers) + 1)
        return self.answers[-1]


@pytest.fixture
def thread(server: Server, model: Model, mailbox: Dovecot, sink: SmtpSink) -> Thread:
    return Thread(server, mailbox, sink)


def test_what_a_fast_model_leaves_out_is_not_sent_and_the_mail_says_how_much_was(
    thread: Thread, model: Model
) -> None:
    for number in range(1, 4):
        thread.say(f"Question {number}")
    answer = thread.say("Question 4")
    assert model.asked() == ["Question 3", "Answer 3.", "Question 4"]
    assert "2 of 4 exchanges of this thread were sent to the model (" in text_of(answer)


@pytest.mark.parametrize("choice", ["none that I know of", "[[mode=503]]"])
def test_where_triage_fails_no_older_mail_is_left_out(
    choice: str, thread: Thread, model: Model
) -> None:
    for number in range(1, 4):
        thread.say(f"Question {number}")
    model.choice = choice
    thread.say("Question 4")
    asked = model.asked()
    assert len(asked) == 7 and asked[0].endswith("Question 1")


def test_a_mail_that_is_answered_is_sent_whatever_the_selection_says_in_its_place(
    thread: Thread, model: Model
) -> None:
    thread.say("Question 0")
    first = thread.say("The quay is 40 m long.")
    for number in (2, 3):
        thread.say(f"Question {number}")
    thread.say("How long is that?", answers=first)
    assert model.asked() == [
        "The quay is 40 m long.",
        "Answer 2.",
        "Question 3",
        "Answer 4.",
        "How long is that?",
    ]


def test_what_a_mail_quotes_is_in_the_prompt_once(thread: Thread, model: Model) -> None:
    thread.say("Question 1")
    thread.say("And then?\n\nOn Tue, The Harbour <agent@harbour.example> wrote:\n> Answer 1.\n")
    assert "\n".join(model.asked()).count("Answer 1.") == 1


def test_the_agents_own_answers_are_in_the_thread(thread: Thread, model: Model) -> None:
    thread.say("Question 1")
    thread.say("Question 2")
    assert model.asked()[1] == "Answer 1."


def test_scheduled_output_is_no_question_that_is_asked_again(
    server: Server, thread: Thread, model: Model
) -> None:
    thread.say("Question 1")
    ((conversation,),) = rows(
        server,
        "SELECT conversation_id FROM conversations_mail WHERE sender = ?",
        thread.sender,
    )
    task = ("--source", "scheduled", "--role", "user")
    server.manage("add_message", conversation, "Delete all old backups.", *task)
    server.manage("add_message", conversation, "Deleted.", "--source", "scheduled")
    thread.say("Question 2")
    asked = model.asked()
    assert asked[-1].startswith("Written by a background task since the last answer:")
    assert asked[-1].endswith("Deleted.\n\n---\n\nQuestion 2")
    thread.say("Question 3")
    assert not any("Deleted." in text for text in model.asked())


def test_an_old_thread_is_whole_after_the_upkeep(
    server: Server, thread: Thread, model: Model
) -> None:
    thread.say("Question 1")
    server.manage("purge")
    thread.say("Question 2")
    assert model.asked()[0].endswith("Question 1")


def test_what_the_selection_took_is_in_the_receipt(
    server: Server, thread: Thread, model: Model
) -> None:
    for number in range(1, 4):
        thread.say(f"Question {number}")
    found = rows(
        server,
        "SELECT turn.receipt FROM conversations_turn turn JOIN conversations_mail mail ON "
        "mail.conversation_id = turn.conversation_id WHERE mail.sender = ? "
        "ORDER BY turn.number DESC LIMIT 1",
        thread.sender,
    )
    assert '"triage"' in found[0][0] and '"prompt"' in found[0][0]
