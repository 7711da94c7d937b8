"""How the values of settings are written, in text and in JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Protocol, TypeVar

from chatsite.wording import later, say

T_co = TypeVar("T_co", covariant=True)

LARGEST = 1_000_000
_WHOLE_NUMBER = re.compile(r"\+?[0-9]+", re.ASCII)
# So many digits are above any allowed number, and cost nothing to read.
_DECIMAL = re.compile(r"\+?[0-9]{1,20}(\.[0-9]{1,20})?", re.ASCII)
_SHOWN = 80
# What is read for the word "auto": a number comes in place of it where the settings are decided.
AUTO = 0


class Unreadable(ValueError):
    """A value that its setting does not allow; the text says what is allowed."""


class Grammar(Protocol[T_co]):
    """Reads one kind of value. Both methods raise Unreadable."""

    def read(self, text: str) -> T_co:
        """From an environment variable or a URL: never blank."""
        ...

    def read_json(self, value: object) -> T_co:
        """From a template, where a number is a number."""
        ...


@dataclass(frozen=True, slots=True)
class Number:
    """A whole number of ASCII digits. In text, blanks around it and one leading + are allowed.

    `or_auto`: the word auto is allowed, too, and read as AUTO.
    """

    least: int
    most: int = LARGEST
    or_auto: bool = False

    def read(self, text: str) -> int:
        digits = text.strip()
        if self.or_auto and digits == "auto":
            return AUTO
        if not _WHOLE_NUMBER.fullmatch(digits):
            raise Unreadable(self._allowed())
        # Longer than any allowed number: int() would refuse thousands of digits by itself.
        digits = digits.lstrip("+").lstrip("0") or "0"
        return self._within(int(digits) if len(digits) <= 9 else LARGEST + 1)

    def read_json(self, value: object) -> int:
        if self.or_auto and value == "auto":
            return AUTO
        if isinstance(value, bool) or not isinstance(value, int):
            raise Unreadable(
                say(
                    "allowed is a whole number from {least} to {most:,}, as a JSON integer",
                    least=self.least,
                    most=self.most,
                )
            )
        return self._within(value)

    def _within(self, number: int) -> int:
        if not self.least <= number <= self.most:
            raise Unreadable(self._allowed())
        return number

    def _allowed(self) -> str:
        text = _NUMBER_OR_AUTO if self.or_auto else _NUMBER
        return say(text, least=self.least, most=self.most)


_NUMBER = later("allowed is a whole number from {least} to {most:,}")
_NUMBER_OR_AUTO = later("allowed is a whole number from {least} to {most:,}, or auto")


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of a few words, matched exactly. In text, blanks around it are allowed."""

    words: Collection[str]

    def read(self, text: str) -> str:
        return self.read_json(text.strip())

    def read_json(self, value: object) -> str:
        if not isinstance(value, str):
            raise Unreadable(say("allowed are {words}, as text", words=", ".join(self.words)))
        if value not in self.words:
            raise Unreadable(self._allowed(value))
        return value

    def _allowed(self, text: str) -> str:
        meant = near_miss(text, self.words)
        words = ", ".join(self.words)
        if meant:
            return say("allowed are {words}; {meant} was probably meant", words=words, meant=meant)
        return say("allowed are {words}", words=words)


@dataclass(frozen=True, slots=True)
class Decimal:
    """A number of ASCII digits, with a point and digits after it where it isn't whole.

    From 0 up; `above_zero`: 0 itself is not allowed.
    """

    above_zero: bool = False

    def read(self, text: str) -> float:
        digits = text.strip()
        if not _DECIMAL.fullmatch(digits):
            raise Unreadable(self._allowed())
        return self._within(float(digits))

    def read_json(self, value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            text = _ABOVE_ZERO_JSON if self.above_zero else _FROM_ZERO_JSON
            raise Unreadable(say(text, most=LARGEST))
        return self._within(value)

    def _within(self, number: float) -> float:
        # Before float(): a JSON integer may be too large for one. NaN is never inside.
        if not 0 <= number <= LARGEST or (self.above_zero and not number):
            raise Unreadable(self._allowed())
        return float(number)

    def _allowed(self) -> str:
        return say(_ABOVE_ZERO if self.above_zero else _FROM_ZERO, most=LARGEST)


_FROM_ZERO = later("allowed is a number from 0 up to {most:,}")
_ABOVE_ZERO = later("allowed is a number above 0 up to {most:,}")
_FROM_ZERO_JSON = later("allowed is a number from 0 up to {most:,}, as a JSON number")
_ABOVE_ZERO_JSON = later("allowed is a number above 0 up to {most:,}, as a JSON number")


@dataclass(frozen=True, slots=True)
class Flag:
    """true or false, matched exactly, blanks around them allowed; in a template JSON's own."""

    def read(self, text: str) -> bool:
        return _FLAGS.read(text) == "true"

    def read_json(self, value: object) -> bool:
        if not isinstance(value, bool):
            raise Unreadable(say("allowed are true, false, as JSON"))
        return value


_FLAGS = OneOf(("true", "false"))


@dataclass(frozen=True, slots=True)
class Name:
    """A name that isn't ours, as a model's: any text without blanks, up to 80 characters."""

    def read(self, text: str) -> str:
        name = text.strip()
        if not name or len(name) > _SHOWN or any(c.isspace() or not c.isprintable() for c in name):
            raise Unreadable(
                say("allowed is a name of up to {most} characters, without blanks", most=_SHOWN)
            )
        return name

    def read_json(self, value: object) -> str:
        if not isinstance(value, str):
            raise Unreadable(say("allowed is a name, as text"))
        return self.read(value)


@dataclass(frozen=True, slots=True)
class Text:
    """A text of a few paragraphs, up to `most` characters; in a template it may be empty."""

    most: int

    def read(self, text: str) -> str:
        clean = text.strip()
        if len(clean) > self.most or not all(c.isprintable() or c in "\n\t" for c in clean):
            raise Unreadable(say("allowed is a text of up to {most:,} characters", most=self.most))
        return clean

    def read_json(self, value: object) -> str:
        if not isinstance(value, str):
            raise Unreadable(say("allowed is a text of up to {most:,} characters", most=self.most))
        return self.read(value)


@dataclass(frozen=True, slots=True)
class ShareOrTokens:
    """A share of the limit, as `75%`, or a number of tokens that remain of it."""

    def read(self, text: str) -> int | str:
        share = text.strip().removesuffix("%")
        try:
            if share != text.strip():
                return f"{_SHARE.read(share)}%"
            return _TOKENS.read(text)
        except Unreadable:
            raise Unreadable(
                say("allowed is a share from 1% to 100%, or a whole number of tokens from 1 on")
            ) from None

    def read_json(self, value: object) -> int | str:
        return self.read(str(value) if isinstance(value, (int, str)) else "")


_SHARE, _TOKENS = Number(1, 100), Number(1)


def near_miss(text: str, words: Iterable[str]) -> str | None:
    """The word that was probably meant by `text`, or None."""
    folded = {fold(word): word for word in words}
    found = get_close_matches(fold(text[:_SHOWN]), folded, n=1, cutoff=0.75)
    return folded[found[0]] if found else None


def fold(name: str) -> str:
    """A name without case, blanks, dashes and underscores: two that agree are near misses."""
    return re.sub(r"[\s_-]", "", name).lower()


def is_blank(text: str | None) -> bool:
    return text is None or not text.strip()


def printable(text: str) -> str:
    """A value as it may be stored and printed: short, and without control characters.

    PostgreSQL refuses a NUL in text and in JSON, and a link can hold one.
    """
    printable = "".join(
        c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text[:_SHOWN]
    )
    return printable + "…" if len(text) > _SHOWN else printable


def printable_json(value: object) -> str:
    """A template's value as its author wrote it; text that is a word stays without quotes."""
    if isinstance(value, str) and fold(value).isalpha():
        return printable(value)
    return printable(json.dumps(value, ensure_ascii=False, default=str))
