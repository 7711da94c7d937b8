"""The calculator's results, against Python's own arithmetic, and the expressions it refuses."""

from __future__ import annotations

import json
import math
import time
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsite.tools.calculator import Calculator, calculate
from chatsite.tools.tool import ToolContext, ToolError

USING = ToolContext(owner=None, conversation="here")

# In angle brackets, which `by_python` replaces with calls of Fraction.
NUMBERS = st.one_of(
    st.integers(0, 10**6).map(lambda number: f"<{number}>"),
    st.decimals(0, 1000, places=3, allow_nan=False).map(lambda number: f"<{number:f}>"),
)
EXPRESSIONS = st.recursive(
    NUMBERS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "//", "%"]), inner).map(
            lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"
        ),
        st.tuples(inner, inner).map(lambda parts: f"{parts[0]} - {parts[1]} * {parts[0]}"),
        inner.map(lambda part: f"-{part}"),
        inner.map(lambda part: f"({part}) ** 2"),
        inner.map(lambda part: f"abs({part})"),
    ),
    max_leaves=6,
)


def by_python(expression: str) -> Fraction | None:
    exact = expression.replace("<", "Fraction('").replace(">", "')")
    try:
        return Fraction(eval(exact, {"Fraction": Fraction, "abs": abs}))
    except ZeroDivisionError:
        return None


@given(expression=EXPRESSIONS)
def test_it_agrees_with_pythons_own_fractions(expression: str) -> None:
    wanted = by_python(expression)
    try:
        figures, exact = calculate(expression.replace("<", "").replace(">", ""))
    except ToolError as error:
        assert error.name == ("DivisionByZero" if wanted is None else "TooLarge")
        return
    assert wanted is not None
    if exact:
        assert Fraction(figures) == wanted
    else:
        assert math.isclose(Fraction(figures), wanted, rel_tol=1e-14)


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("0.1 + 0.2", "0.3"),
        ("(19.99 * 3 + 4.5) * 1.19", "76.7193"),
        ("6 / 2", "3"),
        ("-7 // 2", "-4"),
        ("-7 % 3", "2"),
        ("-2 ** 2", "-4"),
        ("2 ** -1", "0.5"),
        ("2 ** 3 ** 2", "512"),
        ("2**200", str(2**200)),
        ("0 ** 10**100", "0"),
        ("(-1) ** (10**100 + 1)", "-1"),
        ("sqrt(0.25)", "0.5"),
        ("sqrt(2) ** 2", "2"),
        ("round(2.675, 2)", "2.68"),
        ("round(-2.5)", "-3"),
        ("round(1234, -2)", "1200"),
        ("log(1000, 10)", "3"),
        ("floor(log2(8))", "3"),
        ("max(3, 1.5, 2)", "3"),
        ("factorial(20)", str(math.factorial(20))),
        ("gcd(12, 18)", "6"),
        ("1/3", "0.333333333333333"),
        ("sin(0)", "0"),
        ("PI", "3.14159265358979"),
        ("1e3", "1000"),
        (".5 + 1.", "1.5"),
        ("10**-30", "0." + "0" * 29 + "1"),
        ("10**900 / 7", "1.42857142857143e+899"),
    ],
)
def test_results_are_written_as_people_write_them(expression: str, result: str) -> None:
    assert calculate(expression)[0] == result


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("", "ends where a number is expected"),
        ("1 +", "ends where a number is expected"),
        ("1 2", "operator is missing before 2"),
        ("2(3)", "operator is missing before ("),
        ("1,000 * 2", "write 1000, not 1,000"),
        ("2 ^ 3", "Write ** for powers"),
        ("5!", "factorial(5)"),
        ("(1", ") is expected"),
        ("1)", "operator is missing before )"),
        ("sqrt 4", "( is expected here, not 4"),
        ("sqrt(1, 2)", "takes 1 arguments, not 2"),
        ("sum(1)", "no function or constant sum"),
        ("__import__('os')", "means nothing here"),
        ("1/0", "divided by zero"),
        ("5 % 0", "divided by zero"),
        ("0 ** -1", "divided by zero"),
        ("sqrt(-1)", "no real square root"),
        ("(-8) ** 0.5", "no real power"),
        ("log(0)", "above zero"),
        ("asin(2)", "no value"),
        ("factorial(0.5)", "whole number"),
        ("٣ + 1", "means nothing here"),
    ],
)
def test_an_error_names_what_is_wrong(expression: str, words: str) -> None:
    with pytest.raises(ToolError) as caught:
        calculate(expression)
    assert words in caught.value.message


HOSTILE = [
    "9**9**9",
    "9**9**9**9**9",
    "factorial(factorial(9))",
    "factorial(99999999999)",
    "1e999999999",
    "1e1000*1e1000*1e1000*1e1000",
    "exp(exp(exp(9)))",
    "tan(1e308) ** 1e300",
    "round(1, 10**9)",
    "(" * 990,
    "-" * 999 + "1",
    "2**" * 332 + "2",
    "9" * 1000,
    "*".join(["9" * 200] * 4),
    "+".join(f"1/{10**40 + n}" for n in range(20)),
    "sqrt(" * 199 + "2" + ")" * 5,
    "1" * 2000,
]


@pytest.mark.parametrize("expression", HOSTILE, ids=lambda text: text[:20])
def test_no_hostile_expression_takes_long(expression: str) -> None:
    began = time.process_time()
    try:
        figures, _ = calculate(expression)
        assert len(figures) < 2_000
    except ToolError as error:
        assert len(error.message) < 500
    assert time.process_time() - began < 0.25


@given(expression=st.text(alphabet="0123456789.+-*/%() ,eabsqrtlogmxpi", max_size=60))
def test_any_text_has_a_result_or_an_error_message(expression: str) -> None:
    try:
        figures, _ = calculate(expression)
    except ToolError as error:
        assert error.message
        return
    assert figures.lstrip("-")[0].isdigit()


async def test_the_tool_returns_the_digits_as_text() -> None:
    calculator = Calculator()
    found = await calculator.run({"expression": "2**64"}, USING)
    assert json.dumps(found) == '{"result": "18446744073709551616", "exact": true}'
