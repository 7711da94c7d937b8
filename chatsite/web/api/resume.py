"""A restored conversation keeps its choice and goes on under the settings of its last turn: both
are kept with it as a choice, so that it can't exceed the administrator's limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings as configured

from chatsite.conversations.files.export_format import SavedSettings
from chatsite.errors import ChatsiteError
from chatsite.history import POLICIES, URL_NAMES, Settings, may_use_url, resolve
from chatsite.history.policies.base import Terms
from chatsite.history.settings.choosers import Choice
from chatsite.history.settings.offers import TOKENS, choosable
from chatsite.history.settings.row import Setting
from chatsite.kv_cache.cleanup_setting import resolve_cleanup
from chatsite.wiring.site import Site
from chatsite.wording import say


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumedSettings:
    """`history` is the choice to keep with the conversation; `note` is a sentence where other
    settings apply nevertheless, or ""."""

    history: Choice
    note: str = ""


def resume_settings(
    saved: SavedSettings | None,
    kept: Choice,
    template: Mapping[str, object],
    *,
    staff: bool,
) -> ResumedSettings:
    """What was `kept`, the part of `saved` that a person may choose here where that says nothing,
    and a note about the rest."""
    kept = {name: value for name, value in kept.items() if name in URL_NAMES}
    if saved is None:
        return ResumedSettings(history=kept)
    environment = configured.HISTORY_ENVIRONMENT
    allowed = may_use_url(environment, staff=staff)

    def resolve_with(choice: Choice) -> Settings:
        return resolve(
            environment=environment,
            url={},
            conversation=choice,
            template=template,
            url_allowed=allowed,
        )

    wanted = {**_saved_choice(saved), **kept}
    without, chosen = _choosable(resolve_with({})), _choosable(resolve_with(wanted))
    choice = kept | {
        name: value
        for name, value in wanted.items()
        if chosen[name].source == "conversation" and str(without[name].value) != value
    }
    here = resolve_with(choice)
    applied = _choosable(here)
    missed = any(str(applied[name].value) != value for name, value in wanted.items())
    if not missed and (TOKENS in wanted or here.tokens.value is None):
        return ResumedSettings(history=choice)
    said = say(
        "Its last answer was decided under {policy}. Here “{words}” applies.",
        policy=_describe(saved),
        words=here.words,
    )
    return ResumedSettings(
        history=choice,
        note=" ".join([said, say(here.lock_reason)] if here.lock_reason else [said]),
    )


def cleanup_strategy(site: Site, agent: str) -> str:
    """The cache's cleanup strategy that applies to the agent, for an exported file. Where the agent
    is gone: the environment's or the built-in one."""
    try:
        template: Mapping[str, object] = site.catalogue.get(agent).chat_settings
    except ChatsiteError:
        template = {}
    return resolve_cleanup(environment=configured.CACHE_CLEANUP, template=template).value


def _choosable(settings: Settings) -> dict[str, Setting[Any]]:
    """The settings that a person may choose, by name."""
    return {row.url: setting for row, setting in choosable(settings) if row.url}


def _saved_choice(saved: SavedSettings) -> dict[str, str]:
    """The choice that makes `saved` apply, without what its policy ignores."""
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
        return say("the policy '{policy}', which isn't known here", policy=saved.policy)
    words = policy.words(Terms(length=saved.length))
    if saved.tokens is None:
        return say("“{words}”", words=words)
    return say("“{words}, up to {tokens:,} tokens”", words=words, tokens=saved.tokens)
