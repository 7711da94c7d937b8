"""A restored conversation continues under the settings of its last turn: through the page's
address, so that it can't exceed the administrator's limits for links."""

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
    """`query` is the query string for the page's address, or ""; `note` is a sentence where other
    settings apply nevertheless."""

    query: str = ""
    note: str = ""

    def to_dict(self) -> dict[str, str]:
        return asdict(self)


def resume_settings(
    saved: SavedSettings | None, template: Mapping[str, object], *, staff: bool
) -> ResumedSettings:
    """The part of `saved` that a link may set here, and a note about the rest."""
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
    """The cache's cleanup strategy that applies to the agent, for an exported file. Where the agent
    is gone: the environment's or the built-in one."""
    try:
        template: Mapping[str, object] = site.catalogue.get(agent).chat_settings
    except ChatsiteError:
        template = {}
    return resolve_cleanup(environment=configured.CACHE_CLEANUP, template=template).value


def _link_settings(settings: Settings) -> dict[str, Setting[Any]]:
    """The settings that a link may set, by parameter."""
    return {
        "historyPolicy": settings.policy,
        "historyLength": settings.length,
        "historyTokens": settings.tokens,
        "historySelector": settings.selector,
    }


def _saved_link(saved: SavedSettings) -> dict[str, str]:
    """The parameters of a link for `saved`, without those that its policy ignores."""
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
