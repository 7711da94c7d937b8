"""The checks of agents and settings for `manage.py check`. None of them stops the server.

Identifiers: W001 a broken template, W002 an ignored history setting in a template, W003 a variable
without effect, W004 a broken or missing strategy, W005 a model in MODELS_FILE that can't be used,
I001 a template's key without effect, I002 an agentId that is not the folder's name, I003 how the
selector `lexical` searches, where an agent uses it, I004 an agent that its template switches off,
W010 a proxy that isn't named, W011 a bucket that takes no files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Info, Tags, Warning, register

from chatsite.agents.catalogue import TEMPLATE_FILE, Catalogue, describe_broken
from chatsite.agents.strategy.file import describe_strategy_fault
from chatsite.agents.template import BrokenTemplate, Template
from chatsite.conversations.files.uploads import upload_store
from chatsite.files.folder import Folder
from chatsite.history import ENVIRONMENT_NAMES, POLICIES, Settings, resolve
from chatsite.history.policies.base import Policy
from chatsite.history.policies.lexical import LEXICAL
from chatsite.history.settings.row import SettingRow
from chatsite.history.settings.table import CONVERSATION_ROWS, HISTORY_ROWS
from chatsite.kv_cache.cleanup import resolve_cleanup
from chatsite.providers.known.servers import BUILT_IN, LOCAL
from chatsite.providers.tokens.sentence_vectors import SentenceVectors, describe_vectors

LENGTHS = tuple(name for name in ENVIRONMENT_NAMES if name.endswith("HISTORY_LENGTH"))
ABOUT_LINKS = ("HISTORY_URL", "HISTORY_MAX_LENGTH", "HISTORY_MAX_TOKENS")


def register_checks() -> None:
    """Registers the checks, once Django's apps are ready."""
    register(check_templates)
    register(check_variables)
    register(check_vectors)
    register(check_bucket)
    register(check_proxies, Tags.security, deploy=True)


def check_templates(
    app_configs: Sequence[AppConfig] | None, **kwargs: object
) -> list[CheckMessage]:
    """Report templates that are broken, or have keys and values without effect."""
    found: list[CheckMessage] = []
    catalogue = Catalogue(settings.AGENTS_DIR)
    for agent in catalogue.all():
        if isinstance(agent, BrokenTemplate):
            hint = "The agent is listed as broken and can't be used until this is mended."
            found.append(Warning(f"{describe_broken(agent)}.", hint=hint, id="chatsite.W001"))
        else:
            found += _ignored_values(agent)
            found += _unused_keys(agent)
            if fault := describe_strategy_fault(agent, catalogue.strategy(agent.slug)):
                hint = f"manage.py check_strategy {agent.slug} tries it out."
                found.append(Warning(f"{agent.slug}: {fault}", hint=hint, id="chatsite.W004"))
    return found


def check_bucket(app_configs: Sequence[AppConfig] | None, **kwargs: object) -> list[CheckMessage]:
    """Report a bucket that takes no files."""
    store = upload_store()
    if isinstance(store, Folder) or not (reason := store.fault()):
        return []
    sentence = f"FILES_URL: nothing can be written there ({reason}), so no files are taken."
    hint = "Is its address right, does the bucket exist, and may AWS_ACCESS_KEY_ID write there?"
    return [Warning(sentence, hint=hint, id="chatsite.W011")]


def check_proxies(app_configs: Sequence[AppConfig] | None, **kwargs: object) -> list[CheckMessage]:
    """Report a proxy that isn't named: the limits by address then count all its visitors as one."""
    if settings.TRUSTED_PROXIES or not settings.BEHIND_TLS:
        return []
    return [
        Warning(
            "BEHIND_TLS is true and TRUSTED_PROXIES is not set: all visitors count as one address, "
            "and share its limits.",
            hint="Name the proxy in front of the server: TRUSTED_PROXIES=127.0.0.1",
            id="chatsite.W010",
        )
    ]


def check_variables(
    app_configs: Sequence[AppConfig] | None, **kwargs: object
) -> list[CheckMessage]:
    """Report history variables that are set and change nothing."""
    usable = _usable_agents()
    ineffective = [
        *without_effect(settings.HISTORY_ENVIRONMENT, usable),
        *_ineffective_models(),
        *_ineffective_keys(usable),
    ]
    found: list[CheckMessage] = [
        Warning(f"{name} is set without effect: {why}.", hint=hint, id="chatsite.W003")
        for name, why, hint in ineffective
    ]
    return found + list(_unusable_models())


def check_vectors(app_configs: Sequence[AppConfig] | None, **kwargs: object) -> list[CheckMessage]:
    """Report whether agents that search older messages use sentence vectors."""
    environment: Mapping[str, str] = settings.HISTORY_ENVIRONMENT
    searching = [
        agent.slug
        for agent in _usable_agents()
        if _resolve_for(agent, environment).active_policy.evidence == LEXICAL.evidence
    ]
    if not searching:
        return []
    how = describe_vectors(SentenceVectors.find())
    sentence = f"{', '.join(searching)}: the policy relevant finds older messages {how}."
    return [Info(sentence, id="chatsite.I003")]


def _usable_agents() -> list[Template]:
    agents = Catalogue(settings.AGENTS_DIR).all()
    return [agent for agent in agents if isinstance(agent, Template)]


def _resolve_for(agent: Template, environment: Mapping[str, str]) -> Settings:
    return resolve(environment=environment, url={}, template=agent.chat_settings)


def _ineffective_models() -> Iterator[tuple[str, str, str]]:
    """Lists variables about models, and unknown history variables, that have no effect."""
    for name in ("CHAT_MODEL", "FAST_MODEL"):
        value = getattr(settings, name)
        provider = value.partition(":")[0]
        named = provider in (*settings.MODEL_SERVERS, *BUILT_IN)
        if value and not (_is_usable(provider) if named else settings.MODEL_SERVERS_READY):
            hint = "Set that provider's key or address too (.env.example), or remove it."
            yield name, "it names a model of a provider that isn't set", hint
    for name in ("CHAT_MODEL_PATH", "CACHE_CLEANUP"):
        if getattr(settings, name) and settings.CHAT_ENGINE == "off":
            yield name, "CHAT_ENGINE is off", "Remove one of the two."
    for name in settings.HISTORY_UNKNOWN:
        yield name, "there is no such history variable in this version", "Look at .env.example."


def _is_usable(provider: str) -> bool:
    """Tells whether the provider is configured, or may be found on this machine."""
    may_be_found = settings.LOCAL_SERVERS and provider in LOCAL
    return provider in (*settings.MODEL_SERVERS_READY, *BUILT_IN) or may_be_found


def _ineffective_keys(agents: Sequence[Template]) -> Iterator[tuple[str, str, str]]:
    """Lists keys of providers that no agent names and nobody can choose."""
    if settings.MODEL_CHOICE != "off" and not settings.CHAT_MODEL:
        return
    wanted = {llm for agent in agents for llm in agent.llms}
    wanted |= {getattr(settings, name).partition(":")[0] for name in ("CHAT_MODEL", "FAST_MODEL")}
    plain = any(name and ":" not in name for name in (settings.CHAT_MODEL, settings.FAST_MODEL))
    for name, server in settings.MODEL_SERVERS.items():
        if server.key in settings.API_KEYS and name not in wanted and not plain:
            why = f"no agent names llm.{name}, and nobody may choose a model"
            yield server.key, why, "Name it in a template's nodes, or remove it."


def _unusable_models() -> Iterator[CheckMessage]:
    """Lists models that MODELS_FILE describes or offers, of a provider that can't be used."""
    named = [(f"models.{name}", name) for name in settings.MODELS.facts]
    named += [(f"offered: {name}", name) for name in settings.MODELS.offered or ()]
    for place, name in named:
        provider = name.partition(":")[0]
        if not _is_usable(provider):
            server = settings.MODEL_SERVERS[provider]
            needs = server.key or server.address
            yield Warning(
                f"MODELS_FILE: {place}: no model of {server.label} can be asked.",
                hint=f"Set {needs}, or remove it.",
                id="chatsite.W005",
            )


def without_effect(
    environment: Mapping[str, str], agents: Sequence[Template]
) -> Iterator[tuple[str, str, str]]:
    """Lists history variables that have no effect: name, reason and hint of each."""
    given = {name for name, value in environment.items() if value.strip()}
    alone = resolve(environment=environment, url={}, template={})
    if "HISTORY_REASON" in given and not alone.locked:
        yield (
            "HISTORY_REASON",
            "it is read beside the lock, and no variable locks anything",
            "Set HISTORY_POLICY or HISTORY_LENGTH too, or remove it.",
        )
    yield from _ineffective_for_links(environment, given=given, locked=alone.locked)
    policies = {agent.slug: _resolve_for(agent, environment).policy.value for agent in agents}
    for name, useful, hint in _uses():
        idle = [f"{slug} ({policy})" for slug, policy in policies.items() if policy not in useful]
        if name in given and idle:
            yield name, f"the policy of {', '.join(idle)} doesn't use it", hint
    yield from _ineffective_for_selector(environment, agents, given=given)


def _uses() -> Iterator[tuple[str, list[str], str]]:
    """Lists the variables that only some policies use: name, those policies, and a hint."""
    lengthy = [policy.name for policy in POLICIES.rows if policy.uses_length]
    for name in LENGTHS:
        hint = f"Set HISTORY_POLICY={lengthy[0]} to hold every agent to this length."
        yield name, lengthy, hint
    cutting = [policy.name for policy in POLICIES.rows if not policy.only_current]
    hint = "A single turn is sent whole or not at all, so there is nothing to cut down."
    yield "HISTORY_LOW_WATER", cutting, hint
    for row in HISTORY_ROWS.values():
        if owners := [policy.name for policy in _owners(row)]:
            hint = f"Set HISTORY_POLICY={owners[0]} too, or remove it."
            yield row.environment[0], owners, hint


def _owners(row: SettingRow[Any]) -> list[Policy]:
    """Lists the policies that alone use a setting; none if every policy may use it."""
    return [policy for policy in POLICIES.rows if row.name in policy.own_settings]


def _ineffective_for_selector(
    environment: Mapping[str, str], agents: Sequence[Template], *, given: set[str]
) -> Iterator[tuple[str, str, str]]:
    """Lists settings of one selector, if no agent has it."""
    selectors = {_resolve_for(agent, environment).selector.value for agent in agents}
    rows = {row.environment[0]: row for row in CONVERSATION_ROWS.values()}
    for name in sorted(given & set(rows)) if selectors else ():
        owners = _owners(rows[name])
        if owners and selectors.isdisjoint(policy.selector for policy in owners):
            policy, selector = owners[0].name, owners[0].selector
            hint = f"Set HISTORY_POLICY={policy} and HISTORY_SELECTOR={selector}, or remove it."
            yield name, f"it is about {selector}, and no agent's selector is {selector}", hint


def _ineffective_for_links(
    environment: Mapping[str, str], *, given: set[str], locked: bool
) -> Iterator[tuple[str, str, str]]:
    off = environment.get("HISTORY_URL", "").strip() == "off"
    for name in ABOUT_LINKS:
        if name not in given:
            continue
        if locked:
            why = "it is about links, and the environment lets no link choose"
            yield name, why, "Remove it, or the variable that locks."
        elif off and name != "HISTORY_URL":
            yield name, "it is about links, and HISTORY_URL is off", "Remove one of the two."


def _ignored_values(agent: Template) -> Iterator[CheckMessage]:
    decided = _resolve_for(agent, {})
    for setting in decided.all.values():
        applies = "the model's window" if setting.value is None else setting.value
        for said in setting.said:
            if said.source == "template" and said.outcome == "bad":
                yield Warning(
                    f"{agent.slug}/{TEMPLATE_FILE}: chatSettings.{said.name}: "
                    f"passed over: {said.why}.",
                    hint=f"What applies instead: {applies} ({setting.source}).",
                    id="chatsite.W002",
                )
    cleanup = resolve_cleanup(environment="", template=agent.chat_settings)
    for sentence in cleanup.passed_over:
        yield Warning(
            f"{agent.slug}/{TEMPLATE_FILE}: {sentence}",
            hint=f"What applies instead: {cleanup.value} ({cleanup.source}).",
            id="chatsite.W002",
        )


def _unused_keys(agent: Template) -> Iterator[CheckMessage]:
    for key in agent.unused:
        said = f"{agent.slug}/{TEMPLATE_FILE}: {key.place}: {key.sentence}"
        if key.mistake:
            yield Warning(said, hint="The agent answers without it.", id="chatsite.W002")
        else:
            yield Info(said, id="chatsite.I001")
    if not agent.enabled:
        yield Info(
            f"{agent.slug}/{TEMPLATE_FILE}: isEnabled: is false, so nobody is offered the agent.",
            id="chatsite.I004",
        )
    if agent.agent_id != agent.slug:
        yield Info(
            f"{agent.slug}/{TEMPLATE_FILE}: agentId: differs from the folder's name; "
            "the folder's counts.",
            id="chatsite.I002",
        )
