"""A calculator that reads arithmetic and nothing else: models are bad at sums.

An exact number is a fraction of whole numbers, so 0.1 + 0.2 is 0.3. Roots, logarithms and angles
have no exact value: from there on a number is a float. The size of a result is bounded before it is
worked out, and an expression in length and depth: some 10 ms at worst.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from decimal import Context, Decimal, Inexact
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any

from chatsite.tools.tool import ToolContext, ToolError

LONGEST, DEEPEST = 1_000, 50  # Characters of an expression, and levels of nesting.
MOST_BITS = 4_000  # 1,200 decimal digits; an operation on two such numbers takes some 20 us.
LARGEST_EXPONENT = 1_000  # Of a number such as 1e9.
MOST_FACTORIAL, MOST_PLACES, SHOWN_DIGITS = 450, 400, 15

Number = Fraction | float

_NUMBER = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_TOKEN = re.compile(rf"\s*({_NUMBER}|[A-Za-z][A-Za-z0-9_]*|\*\*|//|[-+*/%(),])")
_HINTS = {
    "^": " Write ** for powers.",
    "!": " Write factorial(5).",
    "=": " Give only what is to be worked out, without =.",
    ",": " A comma stands only between a function's arguments: write 1000, not 1,000.",
}


def _wrong(message: str, sign: str = "") -> ToolError:
    return ToolError(message + _HINTS.get(sign, ""), name="BadExpression")


def _missing_operator(before: str) -> ToolError:
    return _wrong(f"An operator is missing before {before}.", before)


def _too_deep() -> ToolError:
    return _wrong(f"An expression may be nested {DEEPEST} levels deep, not deeper.")


def _bounded(number: Number) -> Number:
    if isinstance(number, float):
        if not math.isfinite(number):
            raise OverflowError
        return number + 0.0  # -0.0 becomes 0.0.
    if max(number.numerator.bit_length(), number.denominator.bit_length()) > MOST_BITS:
        raise OverflowError
    return number


# ---- operators and functions -----------------------------------------------------------------
def _power(left: Number, right: Number) -> Number:
    if isinstance(left, Fraction) and isinstance(right, Fraction) and right.denominator == 1:
        bits = max(left.numerator.bit_length(), left.denominator.bit_length()) - 1
        if bits * abs(right) > MOST_BITS:
            raise OverflowError
        return Fraction(left**right)
    if left < 0 and Fraction(right).denominator != 1:
        raise _wrong("A negative number has no real power with such an exponent.")
    return float(float(left) ** float(right))


def _whole(number: Number, what: str) -> int:
    if Fraction(number).denominator != 1:
        raise _wrong(f"{what} needs a whole number.")
    return int(number)


def _sqrt(x: Number) -> Number:
    if x < 0:
        raise _wrong("A negative number has no real square root.")
    root = Fraction(math.isqrt(Fraction(x).numerator), math.isqrt(Fraction(x).denominator))
    return root if isinstance(x, Fraction) and root * root == x else math.sqrt(x)


def _round(x: Number, places: Number = 0.0) -> Number:
    """Halves go away from zero, as on paper."""
    digits = _whole(places, "round's second argument")
    if abs(digits) > MOST_PLACES:
        raise _wrong(f"round takes -{MOST_PLACES} to {MOST_PLACES} places.")
    shift = Fraction(10) ** digits
    nearest = math.floor(abs(Fraction(x)) * shift + Fraction(1, 2)) / shift * (-1 if x < 0 else 1)
    return nearest if isinstance(x, Fraction) else float(nearest)


def _log(x: Number, base: Number = math.e) -> Number:
    """For base 2 and 10 Python's own logarithms hit whole numbers; a quotient of two doesn't."""
    if x <= 0:
        raise _wrong("A logarithm needs a number above zero.")
    log = math.log2 if base == 2 else math.log10 if base == 10 else math.log
    found = log(Fraction(x).numerator) - log(Fraction(x).denominator)
    return found if base in (2, 10, math.e) else found / _log(base)


def _factorial(x: Number) -> Number:
    if not 0 <= _whole(x, "factorial") <= MOST_FACTORIAL:
        raise _wrong(f"factorial takes 0 to {MOST_FACTORIAL}.")
    return Fraction(math.factorial(int(x)))


_OPERATORS: Mapping[type[ast.operator], Callable[[Fraction, Fraction], Fraction | int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
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
    **{name: (1, 1, getattr(math, name)) for name in _OF_FLOATS},
}
CONSTANTS: Mapping[str, float] = {"e": math.e, "pi": math.pi, "tau": math.tau}


# ---- expressions -----------------------------------------------------------------------------
def _is_value(token: str) -> bool:
    return token in CONSTANTS or token[:1].isdigit() or token[:1] == "."


def _check_order(tokens: Sequence[str]) -> None:
    """Raise ToolError at the first token that can't stand where it does."""
    for before, token in pairwise(("", *tokens, "")):
        begins = token == "(" or token in FUNCTIONS or _is_value(token)
        if before in FUNCTIONS and token != "(":
            raise _wrong(f"( is expected here{token and f', not {token}'}.")
        if before == ")" or _is_value(before):
            if begins:
                raise _missing_operator(token)
        elif not token:
            raise _wrong("The expression ends where a number is expected.")
        elif not begins and token not in ("+", "-"):
            raise _wrong(f"A number is expected before {token}.", token)
    levels = list(accumulate((token == "(") - (token == ")") for token in tokens))
    if min(levels) < 0:
        raise _missing_operator(")")
    if levels[-1] > 0:
        raise _wrong(") is expected here.")
    if max(levels) > DEEPEST:
        raise _too_deep()


def _number(text: str) -> Number:
    if text in CONSTANTS:
        return CONSTANTS[text]
    _, _, exponent = text.partition("e")
    if exponent and abs(int(exponent)) > LARGEST_EXPONENT:
        raise _wrong(f"An exponent may be -{LARGEST_EXPONENT:,} to {LARGEST_EXPONENT:,}.")
    return Fraction(text)


def _value(node: Any, numbers: Mapping[str, Number]) -> Number:
    if isinstance(node, ast.Name):
        return _bounded(numbers[node.id])
    if isinstance(node, ast.UnaryOp):
        value = _value(node.operand, numbers)
        return _bounded(-value) if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BinOp):
        left, right = _value(node.left, numbers), _value(node.right, numbers)
        if isinstance(node.op, ast.Pow):
            return _bounded(_power(left, right))
        exact = Fraction(_OPERATORS[type(node.op)](Fraction(left), Fraction(right)))
        floats = isinstance(left, float) or isinstance(right, float)
        return _bounded(float(exact) if floats else exact)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return _bounded(_call(node.func.id, [_value(one, numbers) for one in node.args]))
    raise _missing_operator(",")


def _call(name: str, values: Sequence[Number]) -> Number:
    fewest, most, function = FUNCTIONS[name]
    if not fewest <= len(values) <= most:
        count = f"{fewest}" if fewest == most else f"{fewest} to {most}"
        raise _wrong(f"{name} takes {count} arguments, not {len(values)}.")
    try:
        return function(*values)
    except ValueError:
        raise _wrong(f"{name} has no value for this number.") from None


def calculate(expression: str) -> tuple[str, bool]:
    """Return the result in figures, and whether these are all of its digits. Raises ToolError."""
    if len(expression) > LONGEST:
        raise _wrong(f"An expression may have {LONGEST:,} characters, this one has more.")
    if rest := _TOKEN.sub("", expression).strip():
        raise _wrong(f"{rest[0]} means nothing here.", rest[0])
    tokens = [token.lower() for token in _TOKEN.findall(expression)]
    for token in tokens:
        if token[0].isalpha() and token not in FUNCTIONS and token not in CONSTANTS:
            known = ", ".join((*sorted(FUNCTIONS), *sorted(CONSTANTS)))
            raise _wrong(f"There is no function or constant {token}. There are: {known}.")
    _check_order(tokens)
    # A name stands for each number, which Python would read as a float.
    names = [f"_{place}" if _is_value(one) else one for place, one in enumerate(tokens)]
    numbers = {name: _number(one) for name, one in zip(names, tokens, strict=True) if name != one}
    try:
        return _in_figures(_value(ast.parse(" ".join(names), mode="eval").body, numbers))
    except ZeroDivisionError:
        raise ToolError("Nothing can be divided by zero.", name="DivisionByZero") from None
    except OverflowError:
        message = "The number becomes too large: results may have about 1,200 digits."
        raise ToolError(message, name="TooLarge") from None
    except RecursionError:
        raise _too_deep() from None


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
