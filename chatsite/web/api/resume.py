"""A conversation that came from a file goes on under the settings of its last turn: by the page's
address, so that a link can't widen what the administrator limited."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import urlencode

from django.conf import settings as configured

from chatsite.conversations.files.export_format import SavedSettings
from chatsite.errors import ChatsiteError
from chatsite.history import POLICIES, Settings, may_use_url, resolve
from chatsite.history.policies.base import Terms
from chatsite.history.settings.sources import Setting
from chatsite.kv.cleanup_setting import resolve_cleanup
from chatsite.wiring import Site


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumedSettings:
    """`query` is what the page's address has to say, "" for nothing; `note` is a sentence where
    other settings apply all the same."""

    query: str = ""
    note: str = ""

    def to_dict(self) -> dict[str, str]:
        return asdict(self)


def resume_settings(
    saved: SavedSettings | None, template: Mapping[str, object], *, staff: bool
) -> ResumedSettings:
    """What of `saved` a link may bring about here, and what it can't."""
    if saved is None:
        return ResumedSettings()
    environment = configured.HISTORY_ENVIRONMENT
    allowed = may_use_url(environment, staff=staff)

    def resolve_with(url: Mapping[str, str]) -> Settings:
        return resolve(environment=environment, url=url, template=template, url_allowed=allowed)

    wanted = _saved_link(saved)
    without, linked = _link_settings(resolve_with({})), _link_settings(resolve_with(wanted))
    link = {
        name: value
        for name, value in wanted.items()
        if linked[name].source == "URL" and str(without[name].value) != value
    }
    here = resolve_with(link)
    applied = _link_settings(here)
    missed = any(str(applied[name].value) != value for name, value in wanted.items())
    if not missed and here.tokens.value == saved.tokens:
        return ResumedSettings(query=urlencode(link))
    why = f" {here.lock_reason}" if here.locked else ""
    return ResumedSettings(
        query=urlencode(link),
        note=f"Its last answer was decided under {_describe(saved)}. "
        f"Here “{here.words}” applies.{why}",
    )


def cleanup_strategy(site: Site, agent: str) -> str:
    """The cache's strategy in force for the agent, for its file; the built-in one's, or the
    environment's, where the agent is gone."""
    try:
        template: Mapping[str, object] = site.catalogue.get(agent).chat_settings
    except ChatsiteError:
        template = {}
    return resolve_cleanup(environment=configured.CACHE_CLEANUP, template=template).value


def _link_settings(settings: Settings) -> dict[str, Setting[Any]]:
    """What a link may set, by its name there."""
    return {
        "historyPolicy": settings.policy,
        "historyLength": settings.length,
        "historyTokens": settings.tokens,
        "historySelector": settings.selector,
    }


def _saved_link(saved: SavedSettings) -> dict[str, str]:
    """What a link would say; what the policy doesn't look at is left out."""
    policy = POLICIES.get(saved.policy, saved.selector)
    wanted = {"historyPolicy": saved.policy}
    if policy is not None and policy.uses_length:
        wanted["historyLength"] = str(saved.length)
    if saved.tokens is not None:
        wanted["historyTokens"] = str(saved.tokens)
    if policy is not None and policy.selector and saved.selector:
        wanted["historySelector"] = saved.selector
    return wanted


def _describe(saved: SavedSettings) -> str:
    policy = POLICIES.get(saved.policy, saved.selector)
    if policy is None:
        return f"the policy {saved.policy!r}, which isn't known here"
    words = policy.words(Terms(length=saved.length))
    return f"“{words}”" if saved.tokens is None else f"“{words}, up to {saved.tokens:,} tokens”"
