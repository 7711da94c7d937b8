"""The features: each is one folder with its tables, pages, commands and settings."""

from __future__ import annotations

from chatsite.mail.wiring import MailFeature
from chatsite.own_agents.wiring import OwnAgentsFeature
from chatsite.talk.wiring import TalkFeature
from chatsite.wiring.feature import Feature

FEATURES: tuple[Feature, ...] = (
    TalkFeature(),
    MailFeature(),
    OwnAgentsFeature(),
)
