"""Settings as receipts store them: what somebody set. What is built in goes without saying.

A built-in value is part of this form: where one changes, raise the receipt's `VERSION` and keep
the old value here for receipts of before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from chatsite.history.settings import claim_words
from chatsite.history.settings.choosers import CHOOSERS
from chatsite.history.settings.claim_words import ClaimOutcome, Origin
from chatsite.history.settings.grammar import printable_json
from chatsite.history.settings.row import Setting, SettingRow, SourceValue
from chatsite.history.settings.sources import built_in
from chatsite.history.settings.table import HISTORY_ROWS, ROWS
from chatsite.history.settings.turn_settings import Settings
from chatsite.wording import say

Stored = Mapping[str, Any]
# The strongest first.
_ORIGINS: Sequence[Origin] = get_args(Origin)


# ---- storing ---------------------------------------------------------------------------------
def store_settings(settings: Settings) -> dict[str, Any]:
    """Store the settings that somebody set, for a receipt."""
    found = _store_all({name: settings.all[name] for name in HISTORY_ROWS}, settings.locked_by)
    conversation = _store_all(settings.conversation_in_force, settings.locked_by)
    if settings.in_room:
        found["in_room"] = True
    return found | {"conversation": conversation} if conversation else found


def _store_all(settings: Mapping[str, Setting[Any]], locked_by: str) -> dict[str, Any]:
    stored: dict[str, Any] = {}
    for name, setting in settings.items():
        claims = [one for one in setting.said[:-1] if one.outcome != "absent"]
        if claims:
            value = {} if setting.source == "built in" else {"value": setting.value}
            said = [_store_claim(ROWS[name], one, setting, locked_by) for one in claims]
            stored[name] = {**value, "said": said}
    return stored


def _store_claim(
    row: SettingRow[Any], one: SourceValue, setting: Setting[Any], locked_by: str
) -> dict[str, Any] | str:
    """Store a source's claim: the source alone where it won and nothing is unusual."""
    winner = next(claim for claim in setting.said if claim.outcome == "won")
    found: dict[str, Any] = {"source": one.source}
    if one.name != row.name_in(one.source):
        found["name"] = one.name
    if one.outcome != "won" or one.raw != printable_json(setting.value):
        found["raw"] = one.raw
    if one.outcome != "won":
        found["outcome"] = one.outcome
    if one.why != _why(one.source, one.outcome, winner.source, winner.name, locked_by):
        found["why"] = one.why
    return found if len(found) > 1 else one.source


def _why(source: Origin, outcome: ClaimOutcome, by: Origin, name: str, locked_by: str) -> str:
    """Say what an outcome means; "" for an outcome with a sentence of its own."""
    if outcome == "won":
        return claim_words.WON[source]
    if outcome == "overruled":
        return claim_words.overruled(source, by=by, name=name)
    if outcome == "locked":
        return say(CHOOSERS[source].when_locked, name=locked_by)
    return ""


# ---- showing ---------------------------------------------------------------------------------
def read_settings(stored: Stored) -> Settings:
    """Read the settings of a stored receipt, without the sources that say nothing."""
    given = {**stored, **stored.get("conversation", {})}
    set_by_environment = (
        one.get("name", ROWS[name].environment[0])
        for name in HISTORY_ROWS
        if name in stored
        for one in _read_claims(stored[name])
        if one["source"] == "environment"
    )
    locked_by = next(set_by_environment, "")
    settings = {name: _show(row, given.get(name), locked_by) for name, row in ROWS.items()}
    return Settings(all=settings, locked_by=locked_by, in_room=bool(stored.get("in_room")))


def show_settings(settings: Settings) -> dict[str, Any]:
    """Give what a page shows of the settings, by name."""
    conversation = {name: one.to_dict() for name, one in settings.conversation_in_force.items()}
    history = {name: settings.all[name].to_dict() for name in HISTORY_ROWS}
    return {**history, "conversation": conversation}


def _show(row: SettingRow[Any], stored: Stored | None, locked_by: str) -> Setting[Any]:
    """A stored setting with the sentences of all that is said of it; None: nobody set it."""
    claims = _read_claims(stored) if stored else []
    winner = next((one for one in claims if one.get("outcome", "won") == "won"), None)
    by: Origin = winner["source"] if winner else "built in"
    name = winner.get("name", row.name_in(by)) if winner else ""
    value = stored["value"] if stored and winner else row.built_in

    def show(source: Origin, outcome: ClaimOutcome, one: Stored) -> SourceValue:
        why = one.get("why") or _why(source, outcome, by, name, locked_by)
        return SourceValue(
            source=source,
            name=one.get("name", row.name_in(source)),
            raw=one["raw"] if "raw" in one else printable_json(value),
            outcome=outcome,
            why=say(why) if why else "",
        )

    shown = [show(one["source"], one.get("outcome", "won"), one) for one in claims]
    outcome: ClaimOutcome = "overruled" if winner else "won"
    shown.append(show("built in", outcome, {"raw": built_in(row).raw}))
    return Setting(value=value, source=by, said=tuple(shown))


def _read_claims(setting: Stored) -> Sequence[Stored]:
    """Read what the sources say, the strongest first."""
    claims = [{"source": one} if isinstance(one, str) else one for one in setting["said"]]
    return sorted(claims, key=lambda one: _ORIGINS.index(one["source"]))
