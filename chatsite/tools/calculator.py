"""A calculator that reads arithmetic and nothing else: models are bad at sums.

An exact number is a fraction of whole numbers, so 0.1 + 0.2 is 0.3. Roots, logarithms and angles
have no exact value: from there on a number is a float. The size of a result is bounded before it is
worked out, and an expression in length and depth: some 10 ms at worst.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from decimal import Context, Decimal, Inexact
from fractions import Fraction

from chatsite.tools.tool import ToolContext, ToolError

LONGEST, DEEPEST = 1_000, 50  # Characters of an expression, and levels of nesting.
MOST_BITS = 4_000  # 1,200 decimal digits; an operation on two such numbers takes some 20 us.
LARGEST_EXPONENT = 1_000  # Of a number such as 1e9.
MOST_FACTORIAL, MOST_PLACES, SHOWN_DIGITS = 450, 400, 15

Number = Fraction | float

_TOKEN = re.compile(
    r"\s*((?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
    r"|[A-Za-z][A-Za-z0-9_]*|\*\*|//|[-+*/%(),])"
)
_HINTS = {
    "^": " Write ** for powers.",
    "!": " Write factorial(5).",
    "=": " Give only what is to be worked out, without =.",
    ",": " A comma stands only between a function's arguments: write 1000, not 1,000.",
}


def _wrong(message: str, sign: str = "") -> ToolError:
    return ToolError(message + _HINTS.get(sign, ""), name="BadExpression")


def _too_large(why: str = ": results may have about 1,200 digits") -> ToolError:
    return ToolError(f"The number becomes too large{why}.", name="TooLarge")


def _bounded(number: Number | int) -> Number:
    if isinstance(number, float):
        if not math.isfinite(number):
            raise _too_large()
        return number + 0.0  # -0.0 becomes 0.0.
    if max(number.numerator.bit_length(), number.denominator.bit_length()) > MOST_BITS:
        raise _too_large()
    return Fraction(number)


def _float(number: Number) -> float:
    try:
        return float(number)
    except OverflowError:
        raise _too_large(" for this function") from None


# ---- operators and functions -----------------------------------------------------------------
# How tightly each operator binds, and what it does. A sign binds tighter, a power tightest.
_OPERATORS: Mapping[str, tuple[int, Callable[[Fraction, Fraction], Fraction | int]]] = {
    "+": (1, operator.add),
    "-": (1, operator.sub),
    "*": (2, operator.mul),
    "/": (2, operator.truediv),
    "//": (2, operator.floordiv),
    "%": (2, operator.mod),
}


def _operate(sign: str, left: Number, right: Number) -> Number:
    a, b = Fraction(left), Fraction(right)
    exact = isinstance(left, Fraction) and isinstance(right, Fraction)
    if (not b and sign in ("/", "//", "%")) or (sign == "**" and not a and b < 0):
        raise ToolError("Nothing can be divided by zero.", name="DivisionByZero")
    if sign != "**":
        result = Fraction(_OPERATORS[sign][1](a, b))
        return _bounded(result if exact else _float(result))
    if exact and b.denominator == 1:
        if abs(a) in (0, 1):
            return a if b % 2 else Fraction(a * a if b else 1)
        if max(a.numerator.bit_length(), a.denominator.bit_length()) * abs(b) > 2 * MOST_BITS:
            raise _too_large()
        return _bounded(a ** int(b))
    if a < 0 and b.denominator != 1:
        raise _wrong("A negative number has no real power with such an exponent.")
    try:
        return _bounded(math.pow(_float(a), _float(b)))
    except (OverflowError, ValueError):
        raise _too_large() from None


def _whole(number: Number, what: str) -> int:
    if Fraction(number).denominator != 1:
        raise _wrong(f"{what} needs a whole number.")
    return int(number)


def _sqrt(x: Number) -> Number:
    if x < 0:
        raise _wrong("A negative number has no real square root.")
    root = Fraction(math.isqrt(Fraction(x).numerator), math.isqrt(Fraction(x).denominator))
    return root if isinstance(x, Fraction) and root * root == x else math.sqrt(_float(x))


def _round(x: Number, places: Number = 0.0) -> Number:
    """Halves go away from zero, as on paper."""
    digits = _whole(places, "round's second argument")
    if abs(digits) > MOST_PLACES:
        raise _wrong(f"round takes -{MOST_PLACES} to {MOST_PLACES} places.")
    shift = Fraction(10) ** digits
    nearest = math.floor(abs(Fraction(x)) * shift + Fraction(1, 2)) / shift * (-1 if x < 0 else 1)
    return nearest if isinstance(x, Fraction) else _float(nearest)


def _log(x: Number, base: Number = math.e) -> Number:
    """For base 2 and 10 Python's own logarithms hit whole numbers; a quotient of two doesn't."""
    if x <= 0:
        raise _wrong("A logarithm needs a number above zero.")
    log = math.log2 if base == 2 else math.log10 if base == 10 else math.log
    found = log(Fraction(x).numerator) - log(Fraction(x).denominator)
    return found if base in (2, 10, math.e) else _operate("/", found, _log(base))


def _factorial(x: Number) -> Number:
    if not 0 <= _whole(x, "factorial") <= MOST_FACTORIAL:
        raise _wrong(f"factorial takes 0 to {MOST_FACTORIAL}.")
    return Fraction(math.factorial(int(x)))


def _of_float(function: Callable[[float], float]) -> Callable[[Number], float]:
    return lambda x: function(_float(x))


_OF_FLOATS = ("acos", "asin", "atan", "cos", "degrees", "exp", "radians", "sin", "tan")
# Name: the fewest and the most arguments, and the function.
FUNCTIONS: Mapping[str, tuple[int, int, Callable[..., Number]]] = {
    "abs": (1, 1, abs),
    "ceil": (1, 1, lambda x: Fraction(math.ceil(x))),
    "factorial": (1, 1, _factorial),
    "floor": (1, 1, lambda x: Fraction(math.floor(x))),
    "gcd": (2, 20, lambda *xs: Fraction(math.gcd(*(_whole(x, "gcd") for x in xs)))),
    "ln": (1, 1, _log),
    "log": (1, 2, _log),
    "log10": (1, 1, lambda x: _log(x, 10)),
    "log2": (1, 1, lambda x: _log(x, 2)),
    "max": (1, 100, lambda *xs: max(xs)),
    "min": (1, 100, lambda *xs: min(xs)),
    "round": (1, 2, _round),
    "sqrt": (1, 1, _sqrt),
    **{name: (1, 1, _of_float(getattr(math, name))) for name in _OF_FLOATS},
}
CONSTANTS: Mapping[str, float] = {"e": math.e, "pi": math.pi, "tau": math.tau}


# ---- expressions -----------------------------------------------------------------------------
class _Reader:
    """Evaluates tokens by the usual precedence: sums, products, signs, powers (from the right)."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens[::-1]
        self._depth = 0

    @property
    def next(self) -> str:
        return self._tokens[-1] if self._tokens else ""

    def value(self, binds: int = 0) -> Number:
        """The value up to an operator that binds no tighter than `binds`."""
        left = self._operand()
        while _OPERATORS.get(self.next, (0,))[0] > binds:
            sign = self._tokens.pop()
            left = _operate(sign, left, self.value(_OPERATORS[sign][0]))
        return left

    def _operand(self) -> Number:
        """A minus binds less than a power: -2 ** 2 is -4."""
        minus = False
        while self.next in ("+", "-"):
            minus ^= self._tokens.pop() == "-"
        value = self._single()
        if self._take("**"):
            value = _operate("**", value, self._nested(self._operand))
        return _bounded(-value) if minus else value

    def _single(self) -> Number:
        token = self.next.lower()
        if not token:
            raise _wrong("The expression ends where a number is expected.")
        if token[0].isalpha() or token[0] in ".0123456789":
            self._tokens.pop()
            return self._named(token) if token[0].isalpha() else _number(token)
        if not self._take("("):
            raise _wrong(f"A number is expected before {token}.", token)
        value = self._nested(self.value)
        self._expect(")")
        return value

    def _named(self, name: str) -> Number:
        if name in CONSTANTS:
            return CONSTANTS[name]
        if name not in FUNCTIONS:
            known = ", ".join((*sorted(FUNCTIONS), *sorted(CONSTANTS)))
            raise _wrong(f"There is no function or constant {name}. There are: {known}.")
        fewest, most, function = FUNCTIONS[name]
        self._expect("(")
        values = [self._nested(self.value)]
        while self._take(","):
            values.append(self._nested(self.value))
        self._expect(")")
        if not fewest <= len(values) <= most:
            count = f"{fewest}" if fewest == most else f"{fewest} to {most}"
            raise _wrong(f"{name} takes {count} arguments, not {len(values)}.")
        try:
            return _bounded(function(*values))
        except OverflowError:
            raise _too_large() from None
        except ValueError:
            raise _wrong(f"{name} has no value for this number.") from None

    def _nested(self, part: Callable[[], Number]) -> Number:
        self._depth += 1
        if self._depth > DEEPEST:
            raise _wrong(f"An expression may be nested {DEEPEST} levels deep, not deeper.")
        value = part()
        self._depth -= 1
        return value

    def _take(self, sign: str) -> bool:
        return self.next == sign and bool(self._tokens.pop())

    def _expect(self, sign: str) -> None:
        if not self._take(sign):
            raise _wrong(f"{sign} is expected here{self.next and f', not {self.next}'}.")


def _number(text: str) -> Number:
    _, _, exponent = text.partition("e")
    if exponent and abs(int(exponent)) > LARGEST_EXPONENT:
        raise _wrong(f"An exponent may be -{LARGEST_EXPONENT:,} to {LARGEST_EXPONENT:,}.")
    return _bounded(Fraction(text))


def calculate(expression: str) -> tuple[str, bool]:
    """The result in figures, and whether these are all of its digits. Raises ToolError."""
    if len(expression) > LONGEST:
        raise _wrong(f"An expression may have {LONGEST:,} characters, this one has more.")
    if rest := _TOKEN.sub("", expression).strip():
        raise _wrong(f"{rest[0]} means nothing here.", rest[0])
    reader = _Reader(_TOKEN.findall(expression))
    number = reader.value()
    if reader.next:
        raise _wrong(f"An operator is missing before {reader.next}.", reader.next)
    return _in_figures(number)


def _in_figures(number: Number) -> tuple[str, bool]:
    """A float's noise of 1e-17 beside 1 isn't shown, nor the point of a whole number."""
    if isinstance(number, float):
        return f"{number:.{SHOWN_DIGITS}g}", False
    above, below = Decimal(number.numerator), Decimal(number.denominator)
    with suppress(Inexact):
        quotient = Context(prec=MOST_BITS, traps=[Inexact]).divide(above, below)
        if int(quotient.as_tuple().exponent) >= -MOST_PLACES:
            return f"{quotient:f}", True
    return str(Context(prec=SHOWN_DIGITS).divide(above, below)).lower(), False


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
            "expression": {"type": "string", "description": "Such as (19.99 * 3 + 4.5) * 1.19"}
        },
        "required": ["expression"],
        "additionalProperties": False,
    }

    async def run(self, arguments: Mapping[str, object], using: ToolContext) -> object:
        """`result` is text, so that no reader of JSON rounds it; `exact`: nothing was rounded."""
        result, exact = calculate(str(arguments["expression"]))
        return {"result": result, "exact": exact}
