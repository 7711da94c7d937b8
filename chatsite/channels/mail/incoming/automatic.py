"""Mail that a program sent: an answer to it would be answered by a program, and so on."""

from __future__ import annotations

import re

from chatsite.channels.mail.incoming.reading import MailHead

_NOBODY = re.compile(
    r"(?:mailer-daemon|postmaster|no-?reply|do-?not-?reply|bounces?|listserv|majordomo)"
    r"(?:[-+._].*)?"
)
_LISTS = ("list-id", "list-unsubscribe", "list-post", "list-help", "feedback-id")


def why_automatic(mail: MailHead, *, own: str) -> str:
    """Why it is never answered, for the log; "" for a person's mail. `own` is the agent's
    address."""
    if mail.sender == own:
        return "it is from the agent's own address"
    if _NOBODY.fullmatch(mail.sender.partition("@")[0]):
        return "its sender takes no answers"
    return _by_headers(mail)


def _by_headers(mail: MailHead) -> str:
    submitted = _value(mail, "auto-submitted").partition(";")[0].strip()
    if submitted not in ("", "no"):
        return "Auto-Submitted says so"
    if _value(mail, "precedence") in ("bulk", "list", "junk", "auto_reply"):
        return "Precedence says so"
    if any(name in mail.headers for name in _LISTS):
        return "it is from a list"
    if _value(mail, "return-path") == "<>":
        return "its Return-Path is empty"
    if mail.type in ("multipart/report", "message/delivery-status"):
        return "it is a report"
    suppressed = _value(mail, "x-auto-response-suppress")
    if suppressed and suppressed != "none":
        return "X-Auto-Response-Suppress says so"
    if "x-autoreply" in mail.headers or "x-autorespond" in mail.headers:
        return "it is an automatic answer"
    return ""


def _value(mail: MailHead, name: str) -> str:
    return " ".join(mail.headers.get(name, ("",))[0].split()).lower()
