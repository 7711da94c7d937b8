"""No formula ends the page or holds it up: what would cost too much is shown as written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat, answer
from tests.browser.conftest import Visit

pytestmark = pytest.mark.browser
# As the page bounds them.
MOST_NODES, DEEPEST = 20_000, 310
A_MESSAGE = 20
# What nests: with groups, with brackets, and by commands alone.
GROUPS = (
    *(r"x^{", r"x_{", r"\frac{1}{", r"\sqrt{", r"\overline{", r"\boxed{", r"\underbrace{"),
    *(r"\text{$", r"\hat{", r"\mathbf{", r"\color{red}{", r"\overset{a}{", "{", r"\sqrt[3]{"),
    *(r"{a\over ", r"\left(", r"\begin{matrix}", r"\begin{cases}", r"\mathop{", r"\phantom{"),
)
CHAINS = (
    *(r"\hat", r"\sqrt", r"\not", r"\displaystyle", r"\Huge", r"\color{red}", r"\vec", "x^", "'"),
    *(r"\rm", r"\mathbf", r"\overline", r"\tilde", r"\underline", r"\left.", r"\middle|", r"\dot"),
)
ENDS = {r"\left(": r"\right)", r"\begin{matrix}": r"\end{matrix}", r"\text{$": "$}"}
ENDS[r"\begin{cases}"] = r"\end{cases}"


def hostile() -> Iterator[str]:
    for group in GROUPS:
        for depth in (49, 60, 120, 160, 400):
            if len(made := group * depth + "1" + ENDS.get(group, "}") * depth) < 3_900:
                yield made
            yield group * depth  # without an end
    for chain in CHAINS:
        for count in (40, 150, 600):
            if len(made := chain * count + " x") < 3_900:
                yield made
    ten = r"\def\a{x+x+x+x+x+x+x+x+x+x}\def\b{\a\a\a\a\a\a\a\a\a\a}"
    for times in (1, 15, 40, 150):
        yield ten + r"\b" * times
        yield r"\def\a{" + "x" * 3_000 + "}" + r"\a" * times
        yield r"\newcommand{\q}{\frac{1}{1+x}}" + r"\q" * times
    yield from (r"\def\a{\a\a}\a", r"\def\a{\b}\def\b{\a}\a", r"\gdef\a#1{\a{#1#1}}\a{x}")
    yield from (r"\rule{9999em}{9999em}", r"\kern{9999em}x", r"\raisebox{999em}{x}", "x" * 3_900)
    for shape in ("a&" * 900, r"a\\" * 900, r"a&b\\" * 600):
        yield rf"\begin{{matrix}}{shape}\end{{matrix}}"
        yield rf"\begin{{array}}{{{'c' * 50}}}{shape}\end{{array}}"


def repeated(body: int, argument: str, calls: int = 1, define: str = r"\def\a#1") -> str:
    """A macro that says its argument again and again."""
    return define + "{" + "#1" * body + "}" + (r"\a{" + argument + "}") * calls


def killers() -> Iterator[str]:
    """What each held the page for seconds while KaTeX worked in it, as Markdown."""
    for define in (
        *(r"\def\a#1", r"\gdef\a#1", r"\edef\a#1", r"\xdef\a#1", r"\global\def\a#1"),
        *(r"\newcommand\a[1]", r"\newcommand{\a}[1]", r"\renewcommand\a[1]"),
        *(r"\providecommand{\a}[1]", r"\let\b\def\b\a#1", r"\def%\n\a#1", r"\long\def\a#1"),
    ):
        yield f"$${repeated(150, 'x' * 300, define=define)}$$"
    for body, argument, calls in (
        *((150, "x" * 60, 3), (100, "x^2" * 90, 1), (60, r"\frac1x" * 60, 2), (40, "x_1" * 200, 3)),
        *((300, r"\sqrt x" * 30, 1), (120, r"\hat x" * 60, 1), (200, r"x\\" * 60, 1)),
        *((90, "{x}" * 200, 2), (1_000, "x" * 1_500, 1), (30, "x" * 2_000, 1)),
    ):
        yield f"$${repeated(body, argument, calls)}$$"
    for nested in (r"\a{\a{x}}", r"\a{\a{\a{x}}}", r"\a{\a{" + "x" * 300 + "}}"):
        yield rf"$$\def\a#1{{{'#1' * 150}}}{nested}$$"
    yield rf"$$\def\a#1#2{{{'#1#2' * 90}}}\a{{{'x' * 200}}}{{{'y' * 200}}}$$"
    yield rf"$$\def\b{{{'x' * 300}}}\def\a#1{{{'#1' * 150}}}\a\b$$"
    yield f"$${'x+' * 1_990}$$"
    for block in (
        *(
            "x+" * 20_000,
            "'" * 60_000,
            "x" + "'" * 60_000,
            "x^" * 30_000,
            "{" * 60_000,
            "x" * 190_000,
        ),
        *(r"\begin{matrix}" + shape * 12_000 + r"\end{matrix}" for shape in ("&", r"\\")),
        *(r"\frac1x" * 9_000, r"\sqrt x" * 9_000, repeated(3_000, "x" * 3_000), r"\left(" * 9_000),
    ):
        yield f"```math\n{block}\n```"


# So that it holds on a machine that is busy with something else. With KaTeX in the page these texts
# took 4 to 14 s each.
MOST_STILL = 2_500
WATCH = """
window.still = [];
new PerformanceObserver((list) => {
  for (const one of list.getEntries()) window.still.push(one.duration);
}).observe({ type: "longtask", buffered: true });
"""
NOTE = "Not drawn: it would take too long, or is nested too deeply."
# Left as they were written, each with a note.
ALL_LEFT = """(count) => {
  const left = [...document.querySelectorAll("#col .assistant .formula")];
  return left.length === count && left.every((one) =>
    one.title && one.matches(".unreadable") && !one.firstElementChild);
}"""


def conversation(*answers: str) -> dict[str, Any]:
    messages = [
        {"role": role, "content": text}
        for one in answers
        for role, text in (("user", "Show me."), ("assistant", one))
    ]
    return {
        "format": "chatsite.conversation", "version": 2, "agent": "demo", "title": "Formulas",
        "messages": messages,
    }  # fmt: skip


def longest_still(chat: Chat) -> float:
    """How long the page stood still, in milliseconds."""
    return float(chat.page.evaluate("Math.max(0, ...window.still)"))


@pytest.mark.thorough
def test_no_formula_holds_the_page(visit: Visit) -> None:
    chat = visit()
    chat.page.add_init_script(WATCH)
    chat.open()
    texts = list(killers())
    assert len(texts) >= 40
    chat.open(f"/chat/{chat.restored(conversation(*texts))}")
    chat.load_all()
    expect(chat.answers).to_have_count(len(texts))
    for number in range(0, len(texts), 3):
        chat.answers.nth(number).scroll_into_view_if_needed()
    chat.page.wait_for_function(ALL_LEFT, arg=len(texts), timeout=120_000)
    assert longest_still(chat) < MOST_STILL
    said = chat.say(answer("Then $$x^2$$ and on."))
    expect(said.locator(".formula .katex")).to_have_count(1)


def test_a_streamed_formula_keeps_to_the_same_bounds(visit: Visit) -> None:
    chat = visit()
    chat.page.add_init_script(WATCH)
    chat.open()
    killer = f"$${repeated(150, 'x' * 300)}$$"
    block = f"```math\n{'x+' * 6_000}x\n```"
    said = chat.say(answer(f"{killer}\n\n$$x^2$$\n\n{block}\n\nThe end.", rate=20_000))
    expect(said.locator(".formula .katex")).to_have_count(1)
    expect(said.locator(".formula.unreadable")).to_have_count(2)
    for left in said.locator(".formula.unreadable").all():
        expect(left).to_have_attribute("title", NOTE)
    assert longest_still(chat) < MOST_STILL


@pytest.mark.thorough
def test_what_may_just_be_drawn_does_not_hold_the_page(visit: Visit) -> None:
    chat = visit()
    chat.page.add_init_script(WATCH)
    chat.open()
    shapes = ("x+" * 900, "x^2+" * 330, r"\frac1x" * 200, r"\sqrt x" * 200, r"\hat x" * 200)
    rows = r"\\".join(["&".join("a" * 25)] * 25)
    texts = [f"$${one}x$$" for one in shapes] + [rf"$$\begin{{matrix}}{rows}\end{{matrix}}$$"]
    chat.open(f"/chat/{chat.restored(conversation(*texts))}")
    expect(chat.page.locator(".formula > .katex-display")).to_have_count(len(texts))
    assert longest_still(chat) < MOST_STILL


def measured(chat: Chat) -> tuple[int, int]:
    """The most elements that the formulas of one message have, and how deep they are nested."""
    most, deepest = chat.page.evaluate("""() => {
        let [most, deepest] = [0, 0];
        for (const text of document.querySelectorAll(".md")) {
            most = Math.max(most, text.querySelectorAll(".formula *").length);
        }
        let level = [...document.querySelectorAll(".formula")];
        while (level.length) { deepest += 1; level = level.flatMap((one) => [...one.children]); }
        return [most, deepest];
    }""")
    return int(most), int(deepest)


@pytest.mark.thorough
def test_no_hostile_formula_ends_the_page_or_grows_without_end(chat: Chat) -> None:
    formulas = list(hostile())
    assert len(formulas) >= 200
    for start in range(0, len(formulas), A_MESSAGE):
        some = formulas[start : start + A_MESSAGE]
        said = chat.say(answer("\n\n".join(f"$${one}$$" for one in some) + "\n\nThe end."))
        expect(said).to_contain_text("The end.")
    nodes, depth = measured(chat)
    assert nodes <= MOST_NODES and depth <= DEEPEST
    chat.reload()
    expect(chat.answers.last).to_contain_text("The end.")


@pytest.mark.thorough
def test_a_message_of_many_large_formulas_is_drawn_as_far_as_it_may(chat: Chat) -> None:
    large = "+".join(["x^2"] * 300)
    many = "\n\n".join(f"$${large}+{number}$$" for number in range(30))
    said = chat.say(answer(f"{many}\n\nThe end."))
    expect(said).to_contain_text("The end.")
    expect(said.locator(".formula.unreadable").last).to_have_attribute("title", NOTE)
    expect(said.locator(".formula .katex").first).to_be_visible()
    assert measured(chat)[0] <= MOST_NODES


ORDINARY = r"""
E = mc^2
\int_{-\infty}^{\infty} e^{-x^2}\,dx = \sqrt{\pi}
\sum_{n=1}^{\infty} \frac{1}{n^2} = \frac{\pi^2}{6}
\begin{pmatrix} a & b \\ c & d \end{pmatrix}^{-1} = \begin{pmatrix} d \\ a \end{pmatrix}
\nabla \times \mathbf{E} = -\frac{\partial \mathbf{B}}{\partial t}
f(x) = \begin{cases} x^2 & x \ge 0 \\ -x & x < 0 \end{cases}
\begin{aligned} a &= b + c \\ &= d \end{aligned}
\frac{1}{1+\frac{1}{1+\frac{1}{1+\frac{1}{1+\frac{1}{1+\frac{1}{1+\frac{1}{1+\frac{1}{1+x}}}}}}}}
\lim_{n \to \infty} \left(1 + \frac{1}{n}\right)^n = e
\binom{n}{k} = \frac{n!}{k!(n-k)!}
\hat{H}\psi = E\psi
\overline{A \cup B} = \overline{A} \cap \overline{B}
\prod_{p} \frac{1}{1-p^{-s}} = \zeta(s)
\forall \varepsilon > 0\ \exists \delta > 0
2\mathrm{H}_2 + \mathrm{O}_2 \rightarrow 2\mathrm{H}_2\mathrm{O}
\newcommand{\RR}{\mathbb{R}} f\colon \RR^n \to \RR^m
\underbrace{a + a + \cdots + a}_{n}
\sqrt{1+\sqrt{1+\sqrt{1+\sqrt{1+x}}}}
\left\lfloor \frac{x}{2} \right\rfloor
\oint_{\partial S} \mathbf{F}\cdot d\mathbf{r}
x = \frac{-b \pm \sqrt{b^2-4ac}}{2a}
\det(A - \lambda I) = 0
\mathcal{L}\{f\}(s) = \int_0^\infty f(t)e^{-st}\,dt
\operatorname{Var}(X) = \mathbb{E}[X^2] - \mathbb{E}[X]^2
A \xrightarrow{f} B \xleftarrow{g} C
\begin{bmatrix} 1 & 0 & 0 \\ 0 & 1 & 0 \\ 0 & 0 & 1 \end{bmatrix}
\color{blue}{x} + \boxed{y}
\text{if } x \in A \text{ then } x \in B
a \equiv b \pmod{n}
\Gamma^{\lambda}_{\mu\nu} = \tfrac12 g^{\lambda\sigma}(\partial_\mu g_{\sigma\nu})
""".strip().split("\n")  # fmt: skip


def test_ordinary_formulas_are_drawn(chat: Chat) -> None:
    said = chat.say(answer("\n\n".join(f"$${one}$$" for one in ORDINARY)))
    assert len(ORDINARY) == 30
    expect(said.locator(".formula .katex-display")).to_have_count(30)
    expect(said.locator(".formula.unreadable")).to_have_count(0)
