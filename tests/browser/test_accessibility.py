"""axe finds no serious fault, in light and dark, wide and narrow, with everything open."""

from __future__ import annotations

from typing import Literal

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, ViewportSize, expect

from tests.browser.conftest import WIDE, Visit

pytestmark = pytest.mark.browser
RICH = (
    "# Tides\n\nThe **moon** pulls, [says NASA](https://example.org):\n\n> so it is\n\n"
    "| place | metres |\n|---|---|\n| Saint-Malo | 12 |\n\n```python\nprint('tide')  # twice\n```"
)
NARROW: ViewportSize = {"width": 400, "height": 860}
SIZES = {"wide": WIDE, "narrow": NARROW}
# Of all of axe's rules only that of contrast depends on the scheme: a wide page is asked for the
# others in light, a narrow one in dark.
SCHEMES: dict[str, tuple[tuple[Literal["light", "dark"], tuple[str, ...]], ...]] = {
    "wide": (("light", ()), ("dark", ("color-contrast",))),
    "narrow": (("dark", ()),),
}
# Every scheme and every width in each run, and every pair of them in `make test-all`.
LOOKS = pytest.mark.parametrize(
    ("scheme", "size"),
    [
        ("light", {}),
        ("dark", {"viewport": NARROW}),
        pytest.param("dark", {}, marks=pytest.mark.thorough),
        pytest.param("light", {"viewport": NARROW}, marks=pytest.mark.thorough),
    ],
    ids=["light wide", "dark narrow", "dark wide", "light narrow"],
)


def violations(page: Page, *rules: str) -> list[str]:
    """The serious and critical violations of these rules, or of all: each rule with the elements
    that break it."""
    # axe itself is half a megabyte: a document gets it once.
    has_axe = page.evaluate("typeof axe !== 'undefined'")
    options = {"resultTypes": ["violations"], **({"runOnly": rules} if rules else {})}
    axe = Axe("0" if has_axe else AXE_SCRIPT)
    found = axe.run(page, options=options).response["violations"]
    return [
        f"{one['id']}: {one['help']}: {[node['target'] for node in one['nodes']]}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]


def violations_in_every_look(page: Page) -> list[str]:
    """The violations of this state in light and dark, wide and at 400 pixels, one after another."""
    size = page.viewport_size
    assert size
    found = []
    for name, viewport in SIZES.items():
        page.set_viewport_size(viewport)
        for scheme, rules in SCHEMES[name]:
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            found += [f"{scheme}, {name}: {one}" for one in violations(page, *rules)]
    page.set_viewport_size(size)
    return found


@LOOKS
def test_a_new_chat_and_what_opens_over_it_have_no_serious_fault(
    scheme: Literal["light", "dark"], size: dict[str, object], visit: Visit
) -> None:
    chat = visit(color_scheme=scheme, **size).open("/chat?historyPolicy=lastn")
    expect(chat.page.locator("#link-line")).to_be_visible()
    assert violations(chat.page) == [], "with a refused link"
    for keys, name in (
        ("Control+KeyK", "Find a chat, a message or an action"),
        ("Control+Slash", "Keyboard shortcuts"),
    ):
        chat.page.keyboard.press(keys)
        expect(chat.page.get_by_role("dialog", name=name)).to_be_visible()
        assert violations(chat.page) == [], name
        chat.page.keyboard.press("Escape")
    chat.begin("Tell me much. [[tokens=900;rate=40]]", shows="w3")
    chat.write("And then?")
    expect(chat.page.locator("#queue")).to_be_visible()
    assert violations(chat.page) == [], "with a message that waits"
