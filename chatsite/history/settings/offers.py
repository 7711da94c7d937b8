"""What a person could choose for a page, and the policies that one turn is compared under.

The page draws these lists and knows no policy by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from chatsite.history.policies.table import LEXICAL, POLICIES, TRIAGE
from chatsite.history.settings.resolve import Settings, resolve
from chatsite.history.settings.sources import LENGTH, POLICY, SELECTOR

# A short memory to compare with, besides the length in force.
SHORT = 5

# What the page's address is to say: None takes a parameter out.
Address = Mapping[str, str | None]
AS_IT_IS: Address = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """What `resolve` is given for a page."""

    environment: Mapping[str, str]
    url: Mapping[str, str]
    template: Mapping[str, object]
    url_allowed: bool = True

    def resolve(self, address: Address = AS_IT_IS) -> Settings:
        """The settings with some parameters of the address said otherwise."""
        url = {name: value for name, value in self.url.items() if name not in address}
        url |= {name: value for name, value in address.items() if value is not None}
        return resolve(
            environment=self.environment,
            url=url,
            template=self.template,
            url_allowed=self.url_allowed,
        )

    def refusal(self, address: Address) -> str:
        """Why the address can't say this, or ""."""
        settings = self.resolve(address)
        for row, setting in (
            (POLICY, settings.policy),
            (SELECTOR, settings.selector),
            (LENGTH, settings.length),
        ):
            if row.url and address.get(row.url) is not None:
                said = next(one for one in setting.said if one.name == row.url)
                if said.outcome != "won":
                    return said.why
        return ""


@dataclass(frozen=True, slots=True)
class _Line:
    policy: str
    selector: str
    title: str
    about: str

    @property
    def key(self) -> str:
        return f"{self.policy} {self.selector}".strip()

    @property
    def label(self) -> str:
        return f"{self.policy}, triage" if self.selector == TRIAGE else self.policy

    def is_named(self, template: Mapping[str, object]) -> bool:
        """Whether the agent allows it, where that is needed."""
        if self.selector == TRIAGE:
            return template.get(SELECTOR.template) == TRIAGE
        return not POLICIES[self.policy].needs_naming or (
            template.get(POLICY.template) == self.policy
        )

    def is_in(self, settings: Settings) -> bool:
        same = settings.policy.value == self.policy
        return same and self.selector in ("", settings.selector.value)

    def address(self, sources: Sources) -> dict[str, str | None]:
        """What the page's address has to say for it, and no more."""
        said: dict[str, str | None] = {"historyPolicy": self.policy, "historySelector": None}
        if self.selector and sources.resolve(said).selector.value != self.selector:
            said["historySelector"] = self.selector
        return said


_LINES = (
    _Line("none", "", "Only the message you send", "Nothing said before is sent."),
    _Line("lastN", "", "The last messages", "Yours, and what answered them."),
    _Line("all", "", "Everything", "As far as the model has room."),
    _Line(
        "tokens", "", "The newest that fit", "Whole turns, the oldest left out when it gets full."
    ),
    _Line(
        "relevant",
        LEXICAL,
        "The newest and what matters now",
        "Older messages that your message is about come along. No model is asked.",
    ),
    _Line(
        "relevant",
        TRIAGE,
        "What a fast model picks",
        "Before each answer a small model chooses the turns that matter.",
    ),
    _Line(
        "summary",
        "",
        "The newest and a summary",
        "A running summary stands for what came before them.",
    ),
    _Line("strategy", "", "The agent's own way", "Its strategy puts together what is sent."),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One thing to choose. `address` is what the page's address must say for it, None for a
    parameter to leave out; `why` says what speaks against it where it isn't `allowed`."""

    key: str
    policy: str
    title: str
    about: str
    length: bool
    in_force: bool
    allowed: bool
    why: str
    address: Address

    def to_dict(self) -> dict[str, object]:
        return {
            "key": self.key,
            "policy": self.policy,
            "title": self.title,
            "about": self.about,
            "length": self.length,
            "in_force": self.in_force,
            "allowed": self.allowed,
            "why": self.why,
            "address": dict(self.address),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Offers:
    """All there is to choose. `closed` says why the address decides nothing here, or is ""."""

    closed: str
    all: tuple[Offer, ...]

    def to_dict(self) -> dict[str, object]:
        return {"closed": self.closed, "list": [offer.to_dict() for offer in self.all]}


def offers(sources: Sources, settings: Settings) -> Offers:
    """What can be chosen on a page where `settings` apply now.

    What only an agent may allow is offered where its template names it, or where it is in force.
    """
    closed = sources.refusal({"historyPolicy": "none"})
    found = []
    for line in _shown(sources, settings):
        address = {} if closed else line.address(sources)
        why = closed or sources.refusal(address)
        found.append(
            Offer(
                key=line.key,
                policy=line.policy,
                title=line.title,
                about=line.about,
                length=POLICIES[line.policy].uses_length,
                in_force=line.is_in(settings),
                allowed=not why,
                why=why,
                address=address,
            )
        )
    return Offers(closed=closed, all=tuple(found))


def _shown(sources: Sources, settings: Settings) -> list[_Line]:
    return [line for line in _LINES if line.is_named(sources.template) or line.is_in(settings)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """One policy to compare a turn under, and whether the page's address could choose it.

    All other settings are those in force. `asks_model`: what it sends is known on sending only.
    """

    key: str
    label: str
    settings: Settings = field(repr=False)
    in_force: bool
    why: str
    address: Address
    asks_model: bool


def alternatives(sources: Sources, settings: Settings) -> tuple[Alternative, ...]:
    """Every policy there is here, whether it may be chosen or not; `lastN` in two lengths."""
    closed = sources.refusal({"historyPolicy": "none"})
    return tuple(
        _alternative(sources, settings, line, length, closed)
        for line in _shown(sources, settings)
        for length in _lengths(line, settings)
    )


def _lengths(line: _Line, settings: Settings) -> Sequence[int | None]:
    if not POLICIES[line.policy].uses_length:
        return [None]
    return sorted({SHORT, settings.length.value})


def _alternative(
    sources: Sources, settings: Settings, line: _Line, length: int | None, closed: str
) -> Alternative:
    address: dict[str, str | None] = {} if closed else line.address(sources)
    if length is not None and not closed:
        address["historyLength"] = str(length)
    return Alternative(
        key=line.key if length is None else f"{line.key} {length}",
        label=line.label if length is None else f"{line.label} {length:,}",
        settings=under(
            settings,
            policy=line.policy,
            selector=line.selector or settings.selector.value,
            length=settings.length.value if length is None else length,
        ),
        in_force=line.is_in(settings) and length in (None, settings.length.value),
        why=closed or sources.refusal(address),
        address=address,
        asks_model=line.selector == TRIAGE and settings.conversation.enabled.value,
    )


def under(settings: Settings, **values: str | int | None) -> Settings:
    """The same settings with other values by name, whoever decided them: what a comparison may
    show and a link may not say."""
    changed = {name: replace(getattr(settings, name), value=v) for name, v in values.items()}
    return replace(settings, **changed)


def as_then(settings: Settings, receipt: Mapping[str, Any]) -> Settings:
    """The settings with the values that an answered turn had; what its receipt doesn't say, as
    it is now."""
    said = receipt.get("settings", {})
    names = ("policy", "length", "tokens", "low_water", "step", "selector")
    return under(settings, **{name: said[name]["value"] for name in names if name in said})
