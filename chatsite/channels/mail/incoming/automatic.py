"""Mail that a program sent: an answer to it would be answered by a program, and so on.

RFC 3834, and what programs write instead of what it asks for. A person's mail that is taken for a
program's gets no answer, and nobody hears of it; a program's that is answered costs the few answers
that its thread gets in an hour. So only what people's mails don't have counts.
"""

from __future__ import annotations

import re
import unicodedata

from chatsite.channels.mail.incoming.reading import MailHead

_SEP = "[-._]?"
_NO_REPLY = (
    rf"no{_SEP}repl(?:y|ies)|(?:do{_SEP}not|dont|never|not){_SEP}repl(?:y|ies)"
    rf"|no{_SEP}respond(?:er|a)?|nao{_SEP}respond[ae]r?|no{_SEP}contestar|non{_SEP}rispondere"
    rf"|ne{_SEP}pas{_SEP}repondre|nicht{_SEP}antworten|keine{_SEP}antwort|niet{_SEP}beantwoorden"
    rf"|auto{_SEP}(?:reply|responder|response|mailer|confirm)|bounces?"
)
# The whole of what stands before the "@", with what such an address has around it: a counter, the
# service ("jira-noreply"), the list ("harbour-bounces").
_NOBODY = re.compile(
    rf"(?:[^@]*[-._+])?(?:(?:{_NO_REPLY})(?:[-._+0-9=][^@]*)?"
    # Whoever writes or sends one may have an address with this word, too.
    r"|(?:notifications?|newsletters?)(?:[-._]?[0-9][^@]*|[+=][^@]*)?)"
    r"|(?:mailer-?daemon|postmaster|listserv|majordomo|mdaemon|daemon)(?:[-._+][^@]*)?"
    r"|microsoftexchange[0-9a-f]{32}",
)
# Headers that only programs write. "no" in one of them means what it says.
_OWN = re.compile(
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
    """Some programs leave the accents out."""
    return re.sub("[\u0300-\u036f]", "", unicodedata.normalize("NFD", text))


_SUBJECT = re.compile(
    rf"\W*(?:(?:{_unaccented(_SUBJECTS)})\s*(?:[]:：\[({{|!/–—-]|re:|fwd?:|$)|automatic:\s"
    # Notes says from when to when, in brackets at the end.
    r"|auto: .*\(.*[0-9].*\)$)",
    re.IGNORECASE,
)
_PRECEDENCE = ("bulk", "list", "junk", "auto_reply", "auto-reply", "autoreply")


def why_automatic(mail: MailHead, *, own: str) -> str:
    """Why it is never answered, for the log; "" for a person's mail. `own` is the agent's
    address."""
    if mail.sender == own:
        return "it is from the agent's own address"
    if _NOBODY.fullmatch(mail.sender.partition("@")[0]):
        return "its sender takes no answers"
    return _by_headers(mail, own) or _by_subject(mail)


def _by_headers(mail: MailHead, own: str) -> str:
    submitted = re.split("[;(]", _value(mail, "auto-submitted"))[0].strip()
    if submitted not in ("", "no"):
        return "Auto-Submitted says so"
    if any(_value(mail, name) in _PRECEDENCE for name in ("precedence", "x-precedence")):
        return "Precedence says so"
    if any(name.startswith("list-") for name in mail.headers):
        return "it is from a list"
    if _value(mail, "return-path") == "<>":
        return "its Return-Path is empty"
    if mail.type in ("multipart/report", "message/delivery-status"):
        return "it is a report"
    own_names = filter(_OWN.fullmatch, mail.headers)
    if any(_value(mail, name) not in ("", "no", "false", "0") for name in own_names):
        return "it is an automatic answer"
    if "autoresponder" in _value(mail, "x-post-messageclass") or _by_rule(mail):
        return "it is an automatic answer"
    return "it went in a circle" if _value(mail, "x-loop") in ("yes", "true", own) else ""


def _by_rule(mail: MailHead) -> bool:
    """Exchange names the mailbox whose rule sent the mail. Where a rule passed on what somebody
    else wrote, that is another one than the sender's."""
    return (
        mail.sender in mail.headers.get("x-ms-exchange-inbox-rules-loop", ("",))[0].lower().split()
    )


def _by_subject(mail: MailHead) -> str:
    subject = _unaccented(" ".join(mail.subject.split()))
    return "its subject says so" if _SUBJECT.match(subject) else ""


def _value(mail: MailHead, name: str) -> str:
    return " ".join(mail.headers.get(name, ("",))[0].split()).lower()
