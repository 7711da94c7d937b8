"""Arithmetic on exact numbers: what each operator and function of the calculator does.

A value is a fraction of whole numbers, so 0.1 + 0.2 is 0.3. Roots, logarithms and angles have no
exact value; from there on a value is kept to what a float holds. Every result is bounded before it
is worked out: no operand can make one call take more than a few milliseconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction

from chatsite.tools.base import ToolError

# 1,200 decimal digits; an operation on two such numbers takes some 20 microseconds.
MOST_BITS = 4_000
MOST_FACTORIAL = 450
LARGEST_DIGITS = 400  # `round` to more places than any value here has.


@dataclass(frozen=True, slots=True)
class Value:
    """`exact`: no digit was lost on the way here."""

    number: Fraction
    exact: bool = True


def wrong(message: str) -> ToolError:
    return ToolError(message, name="BadExpression")


def bounded(number: Fraction | int, *, exact: bool) -> Value:
    """Raises ToolError for what is too large; what isn't exact becomes what a float holds."""
    number = Fraction(number)
    if not exact:
        return _inexact(_float(number))
    if max(number.numerator.bit_length(), number.denominator.bit_length()) > MOST_BITS:
        raise _too_large()
    return Value(number)


def _too_large() -> ToolError:
    return ToolError(
        "The number becomes too large: results may have about 1,200 digits.", name="TooLarge"
    )


def _float(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        raise ToolError(
            "The number becomes too large for this function.", name="TooLarge"
        ) from None


def _inexact(number: float) -> Value:
    if not math.isfinite(number):
        raise _too_large()
    return Value(Fraction(number), exact=False)


# ---- operators -------------------------------------------------------------------------------
def operate(sign: str, left: Value, right: Value) -> Value:
    """`+ - * / // % **` as Python has them for whole numbers. Raises ToolError."""
    a, b = left.number, right.number
    exact = left.exact and right.exact
    if sign == "**":
        return _power(left, right)
    if sign in ("/", "//", "%") and not b:
        raise ToolError("Nothing can be divided by zero.", name="DivisionByZero")
    results: Mapping[str, Callable[[], Fraction | int]] = {
        "+": lambda: a + b,
        "-": lambda: a - b,
        "*": lambda: a * b,
        "/": lambda: a / b,
        "//": lambda: a // b,
        "%": lambda: a % b,
    }
    return bounded(results[sign](), exact=exact)


def _power(base: Value, exponent: Value) -> Value:
    a, b = base.number, exponent.number
    if not a and b < 0:
        raise ToolError("Nothing can be divided by zero.", name="DivisionByZero")
    if base.exact and exponent.exact and b.denominator == 1:
        if a in (-1, 0, 1):
            return Value(a if b % 2 else Fraction(1) if not b else abs(a))
        bits = max(a.numerator.bit_length(), a.denominator.bit_length())
        if bits * abs(b) > 2 * MOST_BITS:
            raise _too_large()
        return bounded(a ** int(b), exact=True)
    if a < 0 and b.denominator != 1:
        raise wrong("A negative number has no real power with such an exponent.")
    try:
        return _inexact(math.pow(_float(a), _float(b)))
    except (OverflowError, ValueError):
        raise _too_large() from None


# ---- functions -------------------------------------------------------------------------------
def _whole(value: Value, what: str) -> int:
    if value.number.denominator != 1:
        raise wrong(f"{what} needs a whole number.")
    return int(value.number)


def _sqrt(x: Value) -> Value:
    if x.number < 0:
        raise wrong("A negative number has no real square root.")
    if x.exact:
        above, below = math.isqrt(x.number.numerator), math.isqrt(x.number.denominator)
        if Fraction(above * above, below * below) == x.number:
            return Value(Fraction(above, below))
    return _inexact(math.sqrt(_float(x.number)))


def _round(x: Value, places: Value | None = None) -> Value:
    """Halves go away from zero, as on paper."""
    digits = 0 if places is None else _whole(places, "round's second argument")
    if abs(digits) > LARGEST_DIGITS:
        raise wrong(f"round takes -{LARGEST_DIGITS} to {LARGEST_DIGITS} places.")
    shift = Fraction(10) ** digits
    nearest = Fraction(math.floor(abs(x.number) * shift + Fraction(1, 2))) / shift
    return bounded(nearest if x.number >= 0 else -nearest, exact=x.exact)


def _logarithm(of: Callable[[int], float]) -> Callable[[Value], Value]:
    def logarithm(x: Value) -> Value:
        if x.number <= 0:
            raise wrong("A logarithm needs a number above zero.")
        return _inexact(of(x.number.numerator) - of(x.number.denominator))

    return logarithm


_ln, _log2, _log10 = _logarithm(math.log), _logarithm(math.log2), _logarithm(math.log10)


def _log(x: Value, base: Value | None = None) -> Value:
    """Of base 2 and 10 a float's own logarithms hit whole numbers; a quotient of two doesn't."""
    if base is None:
        return _ln(x)
    if base.number in (2, 10):
        return (_log2 if base.number == 2 else _log10)(x)
    return operate("/", _ln(x), _ln(base))


def _by_float(function: Callable[[float], float], name: str) -> Callable[[Value], Value]:
    def by_float(x: Value) -> Value:
        try:
            return _inexact(function(_float(x.number)))
        except OverflowError:
            raise _too_large() from None
        except ValueError:
            raise wrong(f"{name} has no value for this number.") from None

    return by_float


def _factorial(x: Value) -> Value:
    number = _whole(x, "factorial")
    if not 0 <= number <= MOST_FACTORIAL:
        raise wrong(f"factorial takes 0 to {MOST_FACTORIAL}.")
    return bounded(math.factorial(number), exact=True)


def _gcd(*values: Value) -> Value:
    return Value(Fraction(math.gcd(*(_whole(value, "gcd") for value in values))))


# Name: the fewest and the most arguments, and the function.
FUNCTIONS: Mapping[str, tuple[int, int, Callable[..., Value]]] = {
    "abs": (1, 1, lambda x: Value(abs(x.number), x.exact)),
    "ceil": (1, 1, lambda x: Value(Fraction(math.ceil(x.number)))),
    "factorial": (1, 1, _factorial),
    "floor": (1, 1, lambda x: Value(Fraction(math.floor(x.number)))),
    "gcd": (2, 20, _gcd),
    "ln": (1, 1, _ln),
    "log": (1, 2, _log),
    "log10": (1, 1, _log10),
    "log2": (1, 1, _log2),
    "max": (1, 100, lambda *values: max(values, key=lambda value: value.number)),
    "min": (1, 100, lambda *values: min(values, key=lambda value: value.number)),
    "round": (1, 2, _round),
    "sqrt": (1, 1, _sqrt),
} | {
    name: (1, 1, _by_float(getattr(math, name), name))
    for name in ("acos", "asin", "atan", "cos", "degrees", "exp", "radians", "sin", "tan")
}
CONSTANTS: Mapping[str, Value] = {
    name: Value(Fraction(getattr(math, name)), exact=False) for name in ("e", "pi", "tau")
}


# ---- in figures ------------------------------------------------------------------------------
SHOWN_DIGITS = 15


def in_figures(value: Value) -> tuple[str, bool]:
    """The number as people write it, and whether these are all of its digits."""
    number = value.number
    if not value.exact:
        return _short(_float(number)), False
    if number.denominator == 1:
        return str(number.numerator), True
    places = _places(number.denominator)
    if places is None or places > LARGEST_DIGITS:
        return _long(number), False
    digits = str(abs(number.numerator) * 10**places // number.denominator).rjust(places + 1, "0")
    sign = "-" if number < 0 else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}", True


def _places(denominator: int) -> int | None:
    """How many decimal places end the number; None where none do."""
    twos = (denominator & -denominator).bit_length() - 1
    rest, fives = denominator >> twos, 0
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    return max(twos, fives) if rest == 1 else None


def _short(number: float) -> str:
    """A whole number has no point, and 1e-17 of noise beside 1 isn't shown."""
    return f"{number:.{SHOWN_DIGITS}g}"


def _long(number: Fraction) -> str:
    """Also of what is far outside a float's range."""
    context = Context(prec=SHOWN_DIGITS)
    quotient = context.divide(Decimal(number.numerator), Decimal(number.denominator))
    return str(quotient).lower()
