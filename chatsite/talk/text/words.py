"""Writes the bot's posts in a room."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from chatsite.channels.channel import Answer
from chatsite.history import Settings, show_receipt
from chatsite.history.settings.turn_settings import SOURCES
from chatsite.wording import later, say, say_count

# Talk reads this as a name, and rings for whom the name belongs to; "@all" is everybody in the
# room. The pattern finds an "@" also within a name, as Talk does in "@@all" and "@-@all".
_NAME = re.compile(r"""(?<![A-Za-z0-9_])@(?=(?P<name>"[^"\n]+"|[A-Za-z0-9_.'@-]+))""")
_NOT_A_NAME = "@\N{WORD JOINER}"
_CODE = re.compile(r"(```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]+`)", re.DOTALL)
# Where the policy comes from, and so who may change it.
_MAY_CHANGE: Mapping[str, str] = {
    "environment": later("The administrator may change it, in the server's environment."),
    "URL": later("It was chosen in the address of the page."),
    "conversation": later("It was chosen for this conversation."),
    "room": later("The administrator may change it, in the file of the rooms."),
    "template": later("Whoever writes the agent may change it; the file of the rooms comes first."),
    "built in": later(
        "Nobody has chosen it: the administrator may, in the file of the rooms, and so may whoever "
        "writes the agent."
    ),
}

_SOURCE_NAMES: Mapping[str, str] = {
    "environment": later("environment"),
    "URL": later("URL"),
    "conversation": later("conversation"),
    "room": later("room"),
    "template": later("template"),
    "built in": later("built in"),
}


def acknowledgement() -> str:
    return say("I'm working on it. Write stop to stop me.")


def answer_text(answer: Answer, *, about: Collection[str] = ()) -> str:
    """Writes the whole answer, or what became of it. For `about` see `unringing`."""
    text = unringing(answer.text, about=about)
    note = _note(answer)
    return "\n\n".join(part for part in (text, note) if part)


def unringing(text: str, *, about: Collection[str] = ()) -> str:
    """Breaks up the names in a text that would ring for somebody. The ids in `about` may ring: who
    asked, and whom the question names. Names in code stay, since people who copy the code would
    copy the break: such a post `rings`, and goes out silently."""

    def broken(found: re.Match[str]) -> str:
        return found[0] if _is_about(found, about) else _NOT_A_NAME

    def everybody(found: re.Match[str]) -> str:
        return _NOT_A_NAME if _is_everybody(found) else found[0]

    pieces = _CODE.split(text)
    pieces[::2] = [_NAME.sub(broken, piece) for piece in pieces[::2]]
    pieces[1::2] = [_NAME.sub(everybody, piece) for piece in pieces[1::2]]
    return "".join(pieces)


def rings(text: str, *, about: Collection[str]) -> bool:
    return any(not _is_about(found, about) for found in _NAME.finditer(text))


def _is_about(found: re.Match[str], about: Collection[str]) -> bool:
    """Tells whether a name is in `about`. The end of a sentence may follow a name, and "@all" is
    nobody's name."""
    name = found["name"].strip('"').casefold()
    asked = {one.casefold() for one in about}
    return not _is_everybody(found) and (name in asked or name.rstrip(".'-") in asked)


def _is_everybody(found: re.Match[str]) -> bool:
    return found["name"].strip("\"' .@-").casefold() == "all"


def _note(answer: Answer) -> str:
    if answer.state == "stopped":
        return say("Stopped.")
    if answer.state == "complete":
        return "" if answer.text else say("The answer is empty.")
    if answer.problem is not None and answer.problem.message:
        return answer.problem.said().message
    if answer.state == "interrupted":
        return say("The answer was interrupted. Ask again.")
    return say("The answer failed. Ask again.")


def file_refused(name: str, why: str) -> str:
    return unringing(say("{name}: {why}", name=name, why=why))


# ---- commands --------------------------------------------------------------------------------
def policy_words(settings: Settings) -> str:
    """Says what the bot remembers in the room, who decided that and who may change it."""
    changes = say(_MAY_CHANGE[settings.policy.source])
    return say(
        "I remember {words}. Source: {source}. {changes}",
        words=settings.words,
        source=settings.name_sources(say(SOURCES), lambda one: say(_SOURCE_NAMES[one])),
        changes=settings.lock_reason or changes,
    )


def why_words(receipt: Mapping[str, Any] | None) -> str:
    """Says what the model got for the newest answer, and what was left out for which reason; of
    its stored receipt."""
    if receipt is None:
        return say("Nothing was answered here yet.")
    shown = show_receipt(receipt)
    facts = shown["facts"]
    sent = say_count(
        "For my last answer I got {sent:,} of {count} message.",
        "For my last answer I got {sent:,} of {count} messages.",
        facts["stored"],
        sent=facts["sent"],
    )
    reasons = _left_out(shown["verdicts"])
    lines = [say("- {count:,}: {sentence}", count=n, sentence=said) for said, n in reasons.items()]
    return "\n".join([sent, *([say("Left out:"), *lines] if lines else [])])


def _left_out(verdicts: list[Mapping[str, Any]]) -> dict[str, int]:
    """Counts the messages that were left out by the sentence that says why."""
    found: dict[str, int] = {}
    for one in verdicts:
        if one["first"] > 0 and not one["sent"]:
            sentence = one["sentence"]
            found[sentence] = found.get(sentence, 0) + one["messages"]
    return found


def forgotten(begun: bool) -> str:
    if not begun:
        return say("There is nothing to forget: nothing was said here yet.")
    return say("Forgotten: I don't read what is above any more. It stays in the room.")
