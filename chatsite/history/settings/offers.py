"""What a person could choose for a page.

The page draws this list and knows no policy by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from chatsite.encoding import Record
from chatsite.history.policies.base import Policy
from chatsite.history.policies.table import POLICIES
from chatsite.history.settings.resolve import resolve, why_closed
from chatsite.history.settings.sources import LENGTH, POLICY, SELECTOR
from chatsite.history.settings.turn_settings import Settings

# What the page's address must say, by parameter; None takes a parameter out.
Address = Mapping[str, str | None]
UNCHANGED: Address = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingSources:
    """What `resolve` is given for a page."""

    environment: Mapping[str, str]
    url: Mapping[str, str]
    template: Mapping[str, object]
    url_allowed: bool = True

    def resolve(self, address: Address = UNCHANGED) -> Settings:
        """The settings with some URL parameters overridden."""
        url = {name: value for name, value in self.url.items() if name not in address}
        url |= {name: value for name, value in address.items() if value is not None}
        return resolve(
            environment=self.environment,
            url=url,
            template=self.template,
            url_allowed=self.url_allowed,
        )

    @property
    def why_closed(self) -> str:
        """Why the address decides nothing here, or ""."""
        return why_closed(self.environment, url_allowed=self.url_allowed)

    def refusal(self, address: Address) -> str:
        """Why the address can't have these parameters, or ""."""
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

    def address_of(self, policy: Policy) -> dict[str, str | None]:
        """What the page's address must say for this policy, and no more."""
        address: dict[str, str | None] = {f"{POLICY.url}": policy.name, f"{SELECTOR.url}": None}
        if policy.selector and self.resolve(address).selector.value != policy.selector:
            address[f"{SELECTOR.url}"] = policy.selector
        return address

    def shown(self, settings: Settings) -> list[Policy]:
        """The policies that are offered: one that only an agent may allow is among them where its
        template names it, or where it is in force."""
        return [p for p in POLICIES.rows if self._allows(p) or p is settings.listed_policy]

    def _allows(self, policy: Policy) -> bool:
        if not policy.needs_naming:
            return True
        if policy.selector:
            return self.template.get(SELECTOR.template) == policy.selector
        return self.template.get(POLICY.template) == policy.name


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyOffer(Record):
    """One policy to choose.

    `length`: it counts a length. `address` is what the page's address must say for it, None for a
    parameter to leave out; `why` says what speaks against it where it isn't `allowed`.
    """

    key: str
    policy: str
    title: str
    about: str
    length: bool
    in_force: bool
    allowed: bool
    why: str
    address: Address


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyOffers:
    """All there is to choose. `closed` says why the address decides nothing here, or is ""."""

    closed: str
    all: tuple[PolicyOffer, ...]

    def to_dict(self) -> dict[str, object]:
        return {"closed": self.closed, "list": [offer.to_dict() for offer in self.all]}


def offers(sources: SettingSources, settings: Settings) -> PolicyOffers:
    """What can be chosen on a page where `settings` apply now."""
    closed = sources.why_closed
    found = []
    for policy in sources.shown(settings):
        address = {} if closed else sources.address_of(policy)
        why = closed or sources.refusal(address)
        found.append(
            PolicyOffer(
                key=policy.key,
                policy=policy.name,
                title=policy.title,
                about=policy.about,
                length=policy.uses_length,
                in_force=policy is settings.listed_policy,
                allowed=not why,
                why=why,
                address=address,
            )
        )
    return PolicyOffers(closed=closed, all=tuple(found))
