"""The features: each is one folder with its tables, pages, commands and settings."""

from __future__ import annotations

from chatsite.mail.wiring import MailFeature
from chatsite.talk.wiring import TalkFeature
from chatsite.wiring.feature import Feature

FEATURES: tuple[Feature, ...] = (
    TalkFeature(),
    MailFeature(),
)
