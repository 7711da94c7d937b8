"""Makes the mails that Chatsite sends: replies, which say what was remembered, and
verifications.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from email import policy
from email.message import EmailMessage
from email.utils import format_datetime
from functools import lru_cache
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from chatsite.channels.channel import Answer
from chatsite.history import show_receipt
from chatsite.mail.incoming.reading import shortened_id, subject_key
from chatsite.mail.models import Mail
from chatsite.wording import say

# The parser takes 0.9 s for the worst 30,000 characters that we know (brackets that nobody closes),
# and four times as long for twice as many. A table takes time by its columns and rows. A longer
# text and a wider table are sent as they are written.
LONGEST, MOST_CELLS = 30_000, 5_000
_ALLOWED = re.compile(r"(?:https?://|mailto:)[^\s]", re.IGNORECASE)
_ADDRESS = re.compile(r"https?://[^\s<>\"'`]{1,1000}[^\s<>\"'`.,;:!?)\]]")
_PRE = '<pre style="white-space:pre-wrap">{}</pre>'


def html_of(text: str) -> str:
    """Renders CommonMark with tables and struck words, and keeps line ends. HTML stays text, a
    picture becomes a link, and links lead only to web pages and mail addresses."""
    lines = text.splitlines()
    # The parser fills a short row up to all columns of its table.
    cells = len(lines) * max((line.count("|") for line in lines), default=0)
    if len(text) > LONGEST or cells > MOST_CELLS:
        return _PRE.format(escape(text))
    made = str(_parser().render(text)).strip()
    return made.replace("<table>", '<table border="1" cellpadding="4" cellspacing="0">')


def inline_html(line: str) -> str:
    """Escapes a line that isn't Markdown, and makes links of its addresses."""
    made, last = "", 0
    for found in _ADDRESS.finditer(line):
        address = escape(found[0])
        made += f'{escape(line[last : found.start()])}<a href="{address}">{address}</a>'
        last = found.end()
    return made + escape(line[last:])


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "breaks": True})
    parser.enable(["table", "strikethrough"])
    parser.validateLink = lambda url: bool(_ALLOWED.match(url))  # type: ignore[method-assign]
    parser.add_render_rule("image", _render_picture)
    parser.add_render_rule("text", _render_text)
    return parser


def _render_picture(
    self: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, env: Any
) -> str:
    source = str(tokens[at].attrs.get("src", ""))
    words = escape(tokens[at].content or source)
    return words if _is_in_link(tokens, at) else f'<a href="{escape(source)}">{words}</a>'


def _render_text(
    self: RendererHTML,
    tokens: Sequence[Token],
    at: int,
    options: OptionsDict,
    env: MutableMapping[str, Any],
) -> str:
    """Renders text, with links for its addresses."""
    text = tokens[at].content
    is_plain = "://" not in text or _is_in_link(tokens, at)
    return escape(text) if is_plain else inline_html(text)


def _is_in_link(tokens: Sequence[Token], at: int) -> bool:
    for before in range(at - 1, -1, -1):
        if tokens[before].type in ("link_open", "link_close"):
            return tokens[before].type == "link_open"
    return False


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
    html = [html_of(text)]
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
