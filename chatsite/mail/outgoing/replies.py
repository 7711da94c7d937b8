"""Makes the mails that Chatsite sends: replies, which say what was remembered, and
verifications.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from email import policy
from email.message import EmailMessage
from email.utils import format_datetime
from html import escape
from typing import Any

from chatsite.channels.channel import Answer
from chatsite.history import show_receipt
from chatsite.mail.incoming.reading import shortened_id, subject_key
from chatsite.mail.models import Mail
from chatsite.markdown import AS_WRITTEN, html_of, inline_html
from chatsite.wording import say

_TABLE = '<table border="1" cellpadding="4" cellspacing="0">'


def mailed_html(text: str) -> str:
    """Renders an answer with what mail programs, which read no style sheet, need for its looks."""
    made = html_of(text).replace("<table>", _TABLE)
    return made.replace(AS_WRITTEN, '<pre style="white-space:pre-wrap">')


# A reply's References hold the first Message-ID and this many of the newest.
LONGEST_CHAIN = 20
# A reply quotes this much of the question.
QUOTED_LINES = 6
QUOTED_CHARACTERS = 400
# Subjects that an earlier version stored may hold these.
_UNSAFE = re.compile(r"[\x00-\x1f\x7f]")
# Python before 3.11.10 and 3.12.5 decodes an encoded word while it folds a header, and writes the
# line ends that it holds as they are (CVE-2024-6923). A blank ends every "=?", also a nested one.
_ENCODED_WORD = re.compile(r"=(?=\?)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A mail to send; `id` is its Message-ID without brackets."""

    id: str
    data: bytes


def answer_reply(
    mail: Mail, answer: Answer, *, words: str, own: str, site: str, now: datetime
) -> Reply:
    """Makes the reply that carries an answer to these words of the sender. The same turn always
    gets the same Message-ID."""
    problem = answer.problem.message if answer.problem else ""
    parts = [*mail.refused, answer.text, problem if answer.state != "complete" else ""]
    text = "\n\n".join(part for part in parts if part)
    receipt = f"#receipt-{answer.turn}" if answer.turn else ""
    link = f"{site}/chat/{mail.thread}?debug=true{receipt}"
    below = [line] if answer.receipt and (line := remembered(answer.receipt)) else []
    # An external sender can't open the conversation.
    below += [] if mail.external else [say("What the model was sent: {link}", link=link)]
    return _reply(
        mail,
        text=text or say("There is no answer."),
        words=words,
        below=below,
        id=f"{answer.turn or f'refused.{mail.id}'}@{own.rpartition('@')[2]}",
        own=own,
        now=now,
    )


def notice(mail: Mail, text: str, *, own: str, now: datetime) -> Reply:
    """Makes a reply with a fixed text, to a mail that no agent reads."""
    id = f"notice.{mail.id}@{own.rpartition('@')[2]}"
    return _reply(mail, text=text, words="", below=(), id=id, own=own, now=now)


def verification(address: str, *, account: str, link: str, own: str, now: datetime) -> bytes:
    """Makes the mail with the link that verifies an account's address."""
    text = say(
        "The account {account} wants to use this address for mail to the agent. If that is you, "
        "sign in and open this address within two days:\n\n{link}\n\nOtherwise nothing is to be "
        "done.",
        account=account,
        link=link,
    )
    made = _head(own, address, say("Your address in Chatsite"), now)
    made.set_content(text)
    return made.as_bytes()


def remembered(receipt: Mapping[str, Any]) -> str:
    """Says in one line what was remembered, and counts as the page does; "" if an old receipt has
    no such counts."""
    shown = show_receipt(receipt)
    counted = dict(shown.get("exchanges", {}))
    stored = counted.pop("stored", 0)
    sent = say("{sent} of {stored} exchanges", sent=sum(counted.values()), stored=stored)
    return _receipt_line(sent, str(shown.get("in_words", ""))) if stored else ""


def remembered_words() -> str:
    """Gives the words that all lines of `remembered` have."""
    return max(_receipt_line("\n", "\n").split("\n"), key=len)


def _receipt_line(sent: str, policy: str) -> str:
    return say("{sent} of this thread were sent to the model ({policy}).", sent=sent, policy=policy)


def _reply(
    mail: Mail,
    *,
    text: str,
    words: str,
    below: Sequence[str],
    id: str,
    own: str,
    now: datetime,
) -> Reply:
    subject = mail.subject if subject_key(mail.subject) != mail.subject.casefold() else ""
    made = _head(own, mail.sender, subject or f"Re: {mail.subject}".strip(), now)
    made["Message-ID"] = f"<{id}>"
    quote = _quoted(words)
    # Below this mark mail programs cut a quote.
    signature = "\n".join(("-- ", *below)) if below else ""
    made.set_content("\n\n".join(part for part in (text, quote, signature) if part))
    html = [mailed_html(text)]
    if quote:
        lines = "<br>".join(escape(line.removeprefix("> ")) for line in quote.split("\n"))
        html.append(f"<blockquote>{lines}</blockquote>")
    if below:
        html.append(f"<hr><p>{'<br>'.join(inline_html(one) for one in below)}</p>")
    made.add_alternative("<html><body>\n" + "\n".join(html) + "\n</body></html>", subtype="html")
    return Reply(id=id, data=_thread_headers(mail) + made.as_bytes())


def _thread_headers(mail: Mail) -> bytes:
    """Writes In-Reply-To and References with an id on each line. The standard library would make an
    encoded word of an id that is longer than a line, as Outlook's are; no mail program reads that.
    """
    # An earlier version stored ids as strangers wrote them.
    own_id = shortened_id(mail.message_id)
    chain = [one for id in mail.chain if (one := shortened_id(id)) != own_id]
    kept = [*chain[:1], *chain[1:][-LONGEST_CHAIN:], own_id]
    references = "\r\n ".join(f"<{one}>" for one in kept)
    return f"In-Reply-To: <{own_id}>\r\nReferences: {references}\r\n".encode("ascii")


def _head(own: str, to: str, subject: str, now: datetime) -> EmailMessage:
    """Writes the headers of a mail. By RFC 3834 an automatic answer says that it is one, so that no
    program answers."""
    made = EmailMessage(policy=policy.SMTP)
    made["From"] = own
    made["To"] = to
    made["Subject"] = _ENCODED_WORD.sub("= ", _UNSAFE.sub(" ", subject))
    made["Date"] = format_datetime(now)
    made["Auto-Submitted"] = "auto-replied"
    made["X-Auto-Response-Suppress"] = "All"
    return made


def _quoted(words: str) -> str:
    words = " \n".join(words.splitlines())[:QUOTED_CHARACTERS]
    lines = [line.rstrip() for line in words.split("\n")]
    return "\n".join(f"> {line}".rstrip() for line in lines[:QUOTED_LINES]) if words else ""
