"""A calculator that reads arithmetic and nothing else: models are bad at sums."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from chatsite.tools.arithmetic import (
    CONSTANTS,
    FUNCTIONS,
    Value,
    bounded,
    in_figures,
    operate,
    wrong,
)
from chatsite.tools.base import ToolContext

LONGEST = 1_000  # Characters of an expression: with the bounds on values some 10 ms at worst.
DEEPEST = 50
LARGEST_EXPONENT = 1_000  # Of a number such as 1e9.

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[A-Za-z][A-Za-z0-9_]*)|(?P<sign>\*\*|//|[-+*/%(),]))"
)
_HINTS = {
    "^": " Write ** for powers.",
    "!": " Write factorial(5).",
    "=": " Give only what is to be worked out, without =.",
    ",": " A comma stands only between a function's arguments: write 1000, not 1,000.",
}


class Calculator:
    name = "calculator"
    description = (
        "Works out arithmetic exactly. Operators: + - * / // % **. Functions: "
        f"{' '.join(sorted(FUNCTIONS))} (angles in radians, log(x, base), round(x, places)). "
        "Constants: pi e tau. Use it for every sum that isn't trivial."
    )
    parameters: Mapping[str, object] = {
        "type": "object",
        "properties": {
            "expression": {
                "type": "string",
                "description": "Such as (19.99 * 3 + 4.5) * 1.19",
            }
        },
        "required": ["expression"],
        "additionalProperties": False,
    }

    async def run(self, arguments: Mapping[str, object], using: ToolContext) -> object:
        """`result` is text, so that no reader of JSON rounds it; `exact`: nothing was rounded."""
        result, exact = calculated(str(arguments["expression"]))
        return {"result": result, "exact": exact}


def calculated(expression: str) -> tuple[str, bool]:
    """The result in figures, and whether it is exact. Raises ToolError."""
    if len(expression) > LONGEST:
        raise wrong(f"An expression may have {LONGEST:,} characters, this one has more.")
    reader = _Reader(_tokens(expression))
    value = reader.sum()
    if reader.next is not None:
        raise wrong(f"An operator is missing before {reader.next.text}.{_hint(reader.next.text)}")
    return in_figures(value)


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str


def _tokens(expression: str) -> list[_Token]:
    found, place = [], 0
    text = expression.rstrip()
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            sign = text[place:].lstrip()[0]
            raise wrong(f"{sign} means nothing here.{_hint(sign)}")
        kind = match.lastgroup or ""
        found.append(_Token(kind, match[kind]))
        place = match.end()
    return found


def _hint(sign: str) -> str:
    return _HINTS.get(sign, "")


class _Reader:
    """Reads tokens by the usual precedence: sums, products, signs, powers (from the right)."""

    def __init__(self, tokens: Sequence[_Token]) -> None:
        self._tokens = tokens
        self._place = 0
        self._depth = 0

    @property
    def next(self) -> _Token | None:
        return self._tokens[self._place] if self._place < len(self._tokens) else None

    def sum(self) -> Value:
        return self._chain(("+", "-"), self._product)

    def _product(self) -> Value:
        return self._chain(("*", "/", "//", "%"), self._signed)

    def _chain(self, signs: tuple[str, ...], part: Callable[[], Value]) -> Value:
        value = part()
        while (sign := self._taken(*signs)) is not None:
            value = operate(sign, value, part())
        return value

    def _signed(self) -> Value:
        """A minus binds less than a power: -2 ** 2 is -4."""
        minus = False
        while (sign := self._taken("+", "-")) is not None:
            minus ^= sign == "-"
        value = self._power()
        return Value(-value.number, value.exact) if minus else value

    def _power(self) -> Value:
        base = self._single()
        if self._taken("**") is None:
            return base
        with self:
            return operate("**", base, self._signed())

    def _single(self) -> Value:
        token = self.next
        if token is None:
            raise wrong("The expression ends where a number is expected.")
        self._place += 1
        if token.kind == "number":
            return _number(token.text)
        if token.kind == "name":
            return self._named(token.text.lower())
        if token.text != "(":
            raise wrong(f"A number is expected before {token.text}.{_hint(token.text)}")
        with self:
            value = self.sum()
        self._expect(")")
        return value

    def _named(self, name: str) -> Value:
        if name in CONSTANTS:
            return CONSTANTS[name]
        if name not in FUNCTIONS:
            known = ", ".join((*sorted(FUNCTIONS), *sorted(CONSTANTS)))
            raise wrong(f"There is no function or constant {name}. There are: {known}.")
        fewest, most, function = FUNCTIONS[name]
        self._expect("(")
        with self:
            values = [self.sum()]
            while self._taken(",") is not None:
                values.append(self.sum())
        self._expect(")")
        if not fewest <= len(values) <= most:
            count = f"{fewest}" if fewest == most else f"{fewest} to {most}"
            raise wrong(f"{name} takes {count} arguments, not {len(values)}.")
        return function(*values)

    def _taken(self, *signs: str) -> str | None:
        token = self.next
        if token is None or token.kind != "sign" or token.text not in signs:
            return None
        self._place += 1
        return token.text

    def _expect(self, sign: str) -> None:
        if self._taken(sign) is None:
            found = f", not {self.next.text}" if self.next else ""
            raise wrong(f"{sign} is expected here{found}.")

    def __enter__(self) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise wrong(f"An expression may be nested {DEEPEST} levels deep, not deeper.")

    def __exit__(self, *_: object) -> None:
        self._depth -= 1


def _number(text: str) -> Value:
    _, _, exponent = text.lower().partition("e")
    if exponent and abs(int(exponent)) > LARGEST_EXPONENT:
        raise wrong(f"An exponent may be -{LARGEST_EXPONENT:,} to {LARGEST_EXPONENT:,}.")
    return bounded(Fraction(text), exact=True)
