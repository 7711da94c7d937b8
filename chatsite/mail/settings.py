"""The mail account of the environment."""

from __future__ import annotations

from chatsite.environment import choice, number, text
from chatsite.mail.account import STRANGERS, read_mail_account, read_site_url

SITE_URL = read_site_url(text("SITE_URL"))
# None: the channel is off.
MAIL = read_mail_account(
    {
        "MAIL_IMAP": text("MAIL_IMAP"),
        "MAIL_IMAP_PASSWORD": text("MAIL_IMAP_PASSWORD"),
        "MAIL_SMTP": text("MAIL_SMTP"),
        "MAIL_ADDRESS": text("MAIL_ADDRESS"),
        "MAIL_AGENT": text("MAIL_AGENT"),
        "MAIL_AUTHSERV_ID": text("MAIL_AUTHSERV_ID"),
    },
    smtp_password=text("MAIL_SMTP_PASSWORD"),
    strangers=choice("MAIL_STRANGERS", "refuse", STRANGERS),
    hourly=number("MAIL_THREAD_HOURLY", 10, low=1, high=1_000),
    most_mb=number("MAIL_MAX_MB", 10, low=1, high=50),
    folder=text("MAIL_FOLDER", "INBOX"),
    site=SITE_URL,
)
