"""Settings as receipts store them: what somebody set. What is built in goes without saying.

A built-in value is part of this form: where one changes, raise the receipt's `VERSION` and keep
the old value here for receipts of before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from chatsite.history.policies.base import Policy, Terms, TriageTerms
from chatsite.history.policies.none import SWITCHED_OFF
from chatsite.history.policies.table import POLICIES
from chatsite.history.settings import claim_words
from chatsite.history.settings.choosers import KEPT, LINK, Chooser
from chatsite.history.settings.grammar import printable_json
from chatsite.history.settings.sources import TABLE, Setting, SettingRow, SourceValue, built_in
from chatsite.history.settings.triage_settings import CONVERSATION_ROWS, in_place
from chatsite.history.settings.turn_settings import (
    SOURCES,
    Settings,
    conversation_names,
    in_words,
    sources_in_words,
)
from chatsite.wording import say

Stored = Mapping[str, Any]

_NAMES = (
    *("policy", "length", "tokens", "low_water", "step", "selector", "summary_model"),
    "recall_share",
)
_CHOOSERS: Mapping[str, Chooser] = {"URL": LINK, "conversation": KEPT}


@dataclass(frozen=True)
class _Form:
    """How one setting is stored: its row, with its name in every source, the strongest first."""

    row: SettingRow[Any]
    names: Mapping[str, str]

    @classmethod
    def of(cls, row: SettingRow[Any], template: str) -> _Form:
        chosen = {"URL": row.url, "conversation": row.url} if row.url else {}
        own = {"room": template, "template": template}
        return cls(row, {"environment": row.environment[0], **chosen, **own})

    @cached_property
    def _built_in_raw(self) -> str | None:
        return built_in(self.row).said.raw

    @property
    def as_built_in(self) -> dict[str, Any]:
        """The setting that nobody set."""
        said = _claim("built in", "", self._built_in_raw, "won", claim_words.WON["built in"])
        return {"value": self.row.built_in, "source": "built in", "said": [said]}

    def store(self, setting: Setting[Any], locked_by: str) -> dict[str, Any] | None:
        """None where nobody set it."""
        said = [one for one in setting.said[:-1] if one.outcome != "absent"]
        if not said:
            return None
        claims = [self._store_claim(one, setting, locked_by) for one in said]
        if setting.source == "built in":
            return {"said": claims}
        return {"value": setting.value, "said": claims}

    def _store_claim(
        self, one: SourceValue, setting: Setting[Any], locked_by: str
    ) -> dict[str, Any] | str:
        """The source alone where it says all: it won, and nothing is unusual."""
        won = one.outcome == "won"
        winner = next(claim for claim in setting.said if claim.outcome == "won")
        found: dict[str, Any] = {"source": one.source}
        if one.name != self.names[one.source]:
            found["name"] = one.name
        if not won or one.raw != printable_json(setting.value):
            found["raw"] = one.raw
        if not won:
            found["outcome"] = one.outcome
        if one.why != _why(one.source, one.outcome, winner.source, winner.name, locked_by):
            found["why"] = one.why
        return found if len(found) > 1 else one.source

    def show(self, stored: Stored, locked_by: str) -> dict[str, Any]:
        """The value, its source, and what each source says of it, with sentences; of those that say
        nothing nothing is shown."""
        said = _claims(stored)
        winner = next((one for one in said if one.get("outcome", "won") == "won"), None)
        by = winner["source"] if winner else "built in"
        name = winner.get("name", self.names[by]) if winner else ""
        value = stored["value"] if winner else self.row.built_in
        shown: list[dict[str, Any]] = []
        for source, usual in self.names.items():
            for one in (one for one in said if one["source"] == source):
                outcome = one.get("outcome", "won")
                raw = one["raw"] if "raw" in one else printable_json(value)
                why = one.get("why") or _why(source, outcome, by, name, locked_by)
                shown.append(_claim(source, one.get("name", usual), raw, outcome, why))
        outcome = "overruled" if winner else "won"
        why = _why("built in", outcome, by, name, locked_by)
        shown.append(_claim("built in", "", self._built_in_raw, outcome, why))
        return {"value": value, "source": by, "said": shown}


def _claims(stored: Stored) -> Sequence[Stored]:
    return [{"source": one} if isinstance(one, str) else one for one in stored["said"]]


def _claim(source: str, name: str, raw: str | None, outcome: str, why: str) -> dict[str, Any]:
    shown = say(why) if why else ""
    return {"source": source, "name": name, "raw": raw, "outcome": outcome, "why": shown}


def _why(source: str, outcome: str, by: str, name: str, locked_by: str) -> str:
    """What a claim's outcome says by itself; "" for one with a sentence of its own."""
    if outcome == "won":
        return claim_words.WON[source]
    if outcome == "overruled":
        return claim_words.overruled(source, by=by, name=name)
    return _CHOOSERS[source].locked_by(locked_by) if outcome == "locked" else ""


_FORMS: Mapping[str, _Form] = {
    name: _Form.of(row, row.template) for name, row in zip(_NAMES, TABLE, strict=True)
}
_CONVERSATION: Mapping[str, _Form] = {
    name: _Form.of(row, in_place(row.template)) for name, row in CONVERSATION_ROWS.items()
}


# ---- all of them -----------------------------------------------------------------------------
def store_settings(settings: Settings) -> dict[str, Any]:
    """Those that somebody set, those of `conversation` under that name."""
    own = {name: getattr(settings, name) for name in _FORMS}
    locked_by = next(
        (one.name for setting in own.values() for one in setting.said[:1] if _locks(one)), ""
    )
    found = _store_all(own, _FORMS, locked_by)
    conversation = _store_all(settings.conversation_in_force, _CONVERSATION, locked_by)
    if settings.in_room:
        found["in_room"] = True
    return found | {"conversation": conversation} if conversation else found


def _store_all(
    settings: Mapping[str, Setting[Any]], forms: Mapping[str, _Form], locked_by: str
) -> dict[str, Any]:
    stored = {name: forms[name].store(setting, locked_by) for name, setting in settings.items()}
    return {name: setting for name, setting in stored.items() if setting is not None}


def _locks(one: SourceValue) -> bool:
    return one.source == "environment" and one.outcome != "absent"


@dataclass(frozen=True, slots=True)
class ShownSettings:
    """`all` is what a page shows; `active` is the policy that acts, None where this version has
    no such policy any more; `terms` are what its words depend on."""

    all: Mapping[str, Any]
    active: Policy | None
    terms: Terms

    def value(self, name: str) -> Any:
        return self.all[name]["value"]

    @property
    def words(self) -> str:
        words = self.active.words(self.terms) if self.active else str(self.value("policy"))
        return in_words(words, self.value("tokens"))

    @property
    def scope(self) -> str:
        return self.active.scope(self.terms) if self.active else say("what the policy sends")

    @property
    def sources_in_words(self) -> str:
        policy, length = self.all["policy"]["source"], self.all["length"]["source"]
        return sources_in_words(policy, length, self.active, both=say(SOURCES))


def show_settings(stored: Stored) -> ShownSettings:
    """All settings of a stored receipt."""
    locked_by = next((name for name in map(_locking, _FORMS, map(stored.get, _FORMS)) if name), "")
    shown = {
        name: form.show(stored[name], locked_by) if name in stored else form.as_built_in
        for name, form in _FORMS.items()
    }
    policy = POLICIES.get(shown["policy"]["value"], shown["selector"]["value"])
    own: Stored = stored.get("conversation", {})
    in_room = bool(stored.get("in_room"))
    conversation = {
        name: form.show(own[name], locked_by) if name in own else form.as_built_in
        for name in conversation_names(policy, in_room=in_room)
        for form in (_CONVERSATION[name],)
    }
    values = {name: setting["value"] for name, setting in conversation.items()}
    triage = {name: value for name, value in values.items() if name in TriageTerms.__slots__}
    terms = Terms(
        length=shown["length"]["value"],
        step=shown["step"]["value"],
        triage=TriageTerms(**triage),
        talk_limit=values.get("talk_context_limit"),
    )
    active = policy if values.get("enabled", True) else SWITCHED_OFF
    return ShownSettings(shown | {"conversation": conversation}, active, terms)


def _locking(name: str, setting: Stored | None) -> str:
    """The variable of the environment that sets it, "" for none."""
    for one in _claims(setting) if setting else ():
        if one["source"] == "environment":
            return str(one.get("name", _FORMS[name].names["environment"]))
    return ""
