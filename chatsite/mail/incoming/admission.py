"""Decides what happens to a mail: whose words they are taken for, or why nobody answers.

A mail that a program sent gets no answer: a program would answer the answer, and so on. RFC 3834
says how to tell such a mail, and programs write other marks instead. If a person's mail is taken
for a program's, nobody answers and nobody hears of it; if a program's mail is answered, that costs
the few answers that its thread gets in an hour. So only marks count that people's mails don't have.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

from chatsite.mail.account import MailAccount
from chatsite.mail.incoming.authentication import passes
from chatsite.mail.incoming.reading import MailHead

MEGABYTE = 1024 * 1024
# The mail's words count as the account's or as a stranger's ("external"), wait until somebody
# decides ("hold"), or don't count ("refuse", "ignore"). With "explain" the sender is who they say,
# and learns how to verify the address; with "too_large" and "encrypted" the sender learns what is
# wrong.
Kind = Literal[
    "account", "external", "hold", "refuse", "ignore", "explain", "too_large", "encrypted"
]


@dataclass(frozen=True, slots=True)
class Admission:
    """What happens to a mail; `why` is a reason for the log."""

    kind: Kind
    why: str = ""


def admit(mail: MailHead, account: MailAccount, *, owned: bool, size: int) -> Admission:
    """Decides by the head and the `size` of the whole mail in bytes. `owned` says that an account
    has verified the sender's address; who wrote this mail is another question."""
    if why := why_automatic(mail, own=account.address):
        return Admission("ignore", why)
    passed = passes(mail, authserv_id=account.authserv_id)
    is_account = passed and owned
    if size > account.most_mb * MEGABYTE:
        why = f"it is larger than {account.most_mb} MB"
        return Admission("too_large" if is_account else "refuse", why)
    if is_account:
        return Admission("account")
    why = "no account has verified its address" if passed else "it may be forged"
    if not mail.sender:
        # Nobody could receive an answer.
        return Admission("refuse", "it names no single sender")
    if account.strangers == "hold":
        return Admission("hold", why)
    if account.strangers == "label":
        return Admission("external", why)
    return Admission("explain" if passed else "refuse", why)


# ---- mail of programs --------------------------------------------------------------------------
_SEP = "[-._]?"
_NO_REPLY = (
    rf"no{_SEP}repl(?:y|ies)|(?:do{_SEP}not|dont|never|not){_SEP}repl(?:y|ies)"
    rf"|no{_SEP}respond(?:er|a)?|nao{_SEP}respond[ae]r?|no{_SEP}contestar|non{_SEP}rispondere"
    rf"|ne{_SEP}pas{_SEP}repondre|nicht{_SEP}antworten|keine{_SEP}antwort|niet{_SEP}beantwoorden"
    rf"|auto{_SEP}(?:reply|responder|response|mailer|confirm)|bounces?"
)
# All that stands before the "@", with what such an address has around the word: a counter, the
# service ("jira-noreply"), the list ("harbour-bounces").
_NOBODY = re.compile(
    rf"(?:[^@]*[-._+])?(?:(?:{_NO_REPLY})(?:[-._+0-9=][^@]*)?"
    # People who write newsletters may have this word in their addresses, too.
    r"|(?:notifications?|newsletters?)(?:[-._]?[0-9][^@]*|[+=][^@]*)?)"
    r"|(?:mailer-?daemon|postmaster|listserv|majordomo|mdaemon|daemon)(?:[-._+][^@]*)?"
    r"|microsoftexchange[0-9a-f]{32}",
)
# Headers that only programs write.
_OF_PROGRAMS = re.compile(
    r"x-(?!auto-response-suppress).*(?:auto-?(?:repl|respon|generat)|machine-?generat|vacation).*"
    r"|x-failed-recipients|x-cron-env|x-ms-exchange-generated-message-source"
)
# How the programs of mail servers begin the subject of an automatic answer, or of a mail that came
# back. People write about those, too: so it is the whole subject, or a mark follows at once.
_AUTO = r"(?:autom|samod|otom|автом|αυτόμ)\w*[.]?"
_ANSWER = (
    "reply|response|answer|antwort|(?:be)?antwoord(?:ing)?|réponse|respuesta|resposta|risposta|svar|"
    "odpowiedź|odpověď|odpoveď|odgovor|vastaus|válasz|răspuns|yanıt|atsakymas|atbilde|balasan|ответ|"
    "отговор|відповідь|απάντηση"
)
_SUBJECTS = (
    rf"{_AUTO} (?:{_ANSWER})|(?:{_ANSWER}) {_AUTO}|(?:auto|авто)-?(?:odpowiedź|svar|ответ)|"
    r"auto[- ]?(?:reply|response|responder)|automaatvastus|trả lời tự động|tự động trả lời|"
    r"自動(?:応答|返信|回覆)|自动(?:回复|答复)|자동 회신|부재중|رد تلقائي|תשובה אוטומטית|ooo|"
    r"(?:i am |i'm )?out[- ]of[- ](?:the )?office(?: auto[- ]?reply)?|ตอบกลับอัตโนมัติ|"
    r"vacation reply|away from (?:the |my )?office|abwesend|"
    r"abwesenheits(?:notiz|meldung|nachricht|assistent)|"
    r"afwezig(?:heidsmelding)?|niet op kantoor|message d['’]absence|absent?(?:ce)? du bureau|"
    r"fuera de (?:la )?oficina|(?:ausente|fora) do escritório|fuori (?:sede|ufficio)|"
    r"assente dall['’]ufficio|frånvaromeddelande|fraværsbesked|poissa toimistosta|"
    r"undeliverable|undelivered mail returned to sender|unzustellbar|onbestelbaar|non remis|"
    r"delivery status notification|failure notice|returned mail|delivery failure|"
    r"mail delivery fail(?:ed|ure)|no se puede entregar"
)


def _unaccented(text: str) -> str:
    """Takes the accents away, which some programs leave out."""
    return re.sub("[\u0300-\u036f]", "", unicodedata.normalize("NFD", text))


_SUBJECT = re.compile(
    rf"\W*(?:(?:{_unaccented(_SUBJECTS)})\s*(?:[]:：\[({{|!/–—-]|re:|fwd?:|$)|automatic:\s"
    # Notes says from when to when, in brackets at the end.
    r"|auto: .*\(.*[0-9].*\)$)",
    re.IGNORECASE,
)
_PRECEDENCE = {"bulk", "list", "junk", "auto_reply", "auto-reply", "autoreply"}
# As the value of a header; a comment may stand behind it.
_NO = re.compile(r"(?:no|false|0)?\s*(?:[;(].*)?")


def why_automatic(mail: MailHead, *, own: str) -> str:
    """Says for the log why a mail is a program's; "" stands for a person's mail. `own` is the
    agent's address."""
    headers = {name: " ".join(values[0].split()).lower() for name, values in mail.headers.items()}

    def value_of(name: str) -> str:
        return headers.get(name, "")

    marks = (value for name, value in headers.items() if _OF_PROGRAMS.fullmatch(name))
    reasons = {
        "it is from the agent's own address": mail.sender == own,
        "its sender takes no answers": _NOBODY.fullmatch(mail.sender.partition("@")[0]),
        "Auto-Submitted says so": not _NO.fullmatch(value_of("auto-submitted")),
        "Precedence says so": {value_of("precedence"), value_of("x-precedence")} & _PRECEDENCE,
        "it is from a list": any(name.startswith("list-") for name in headers),
        "its Return-Path is empty": value_of("return-path") == "<>",
        "it is a report": mail.type in ("multipart/report", "message/delivery-status"),
        "it is an automatic answer": not all(map(_NO.fullmatch, marks))
        or "autoresponder" in value_of("x-post-messageclass")
        # Exchange names the mailbox whose rule sent the mail. Where a rule passed on what somebody
        # else wrote, that is another one than the sender's.
        or mail.sender in value_of("x-ms-exchange-inbox-rules-loop").split(),
        "it went in a circle": value_of("x-loop") in ("yes", "true", own),
        "its subject says so": _SUBJECT.match(_unaccented(" ".join(mail.subject.split()))),
    }
    return next((why for why, is_so in reasons.items() if is_so), "")
