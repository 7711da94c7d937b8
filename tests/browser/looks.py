"""What is wrong with a state of the page: in light and dark, wide, at 400 pixels and at 200 %."""

from __future__ import annotations

from playwright.sync_api import Page, ViewportSize

from tests.browser.test_accessibility import SCHEMES, violations
from tests.browser.test_accessibility import SIZES as WITH_AXE

# At 200 % zoom a window of 1280 by 800 has room for 640 by 400 pixels of the page.
ZOOMED: ViewportSize = {"width": 640, "height": 400}
SIZES = {**WITH_AXE, "zoomed": ZOOMED}
# A difference of a pixel is one of rounding.
MISPLACED = """() => {
  const found = [];
  const shown = (one) => one.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  const name = (one) => one.tagName.toLowerCase() + (one.id && `#${one.id}`) + " "
    + (one.ariaLabel ?? one.textContent.trim()).slice(0, 40);
  // Words for screen readers lie in a box of a pixel.
  const isForEars = (one) => one && (one.offsetWidth === 1 || isForEars(one.parentElement));
  const tops = [...document.querySelectorAll("dialog[open], .pop")].filter(shown);
  for (const one of [document.documentElement, document.body, ...tops]) {
    const over = one.scrollWidth - (one === document.body ? innerWidth : one.clientWidth);
    if (over > 1) found.push(`${name(one)} scrolls sideways by ${over}`);
  }
  // Words that nobody can read to their end: cut off, and neither scrolled to nor ended by "…".
  const range = document.createRange();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    const own = text.parentElement;
    if (!text.data.trim() || !shown(own) || own.closest("[aria-hidden=true], noscript")) continue;
    range.selectNodeContents(text);
    const box = range.getBoundingClientRect();
    if (!box.width || isForEars(own)) continue;
    let [across, along] = [true, true];
    for (let one = own; one && one !== document.body; one = one.parentElement) {
      const style = getComputedStyle(one);
      const { left, right, top, bottom } = one.getBoundingClientRect();
      if (style.overflowX !== "visible") {
        const ends = style.textOverflow === "ellipsis" || style.webkitLineClamp !== "none";
        const scrolls = ["auto", "scroll"].includes(style.overflowX);
        if (across && !ends && !scrolls && (box.right > right + 1 || box.left < left - 1))
          found.push(`${name(own)} is cut off at the side by ${name(one)}`);
        across = false;
      }
      if (style.overflowY !== "visible") {
        const ends = style.webkitLineClamp !== "none";
        const scrolls = ["auto", "scroll"].includes(style.overflowY);
        if (along && !ends && !scrolls && (box.bottom > bottom + 2 || box.top < top - 2))
          found.push(`${name(own)} is cut off below by ${name(one)}`);
        along = false;
      }
    }
    if (across && (box.left < -1 || box.right > innerWidth + 1))
      found.push(`${name(own)} is outside of the window`);
  }
  // What can be pressed in the topmost window, or in what always stands around a chat.
  const controls = "button, input, select, textarea, summary, a[href]";
  const around = "header.top, #composer, #toasts, #temporary-line, .restoring, .banner";
  const topmost = tops.find((one) => one.contains(document.activeElement)) ?? tops.at(-1);
  for (const place of topmost ? [topmost] : document.querySelectorAll(around))
    for (const one of place.querySelectorAll(controls)) {
      if (!shown(one) || one.disabled || isForEars(one)) continue;
      one.scrollIntoView({ block: "nearest", behavior: "instant" });
      const { left, top, width, height } = one.getBoundingClientRect();
      if (width < 2) continue;
      const hit = document.elementFromPoint(left + width / 2, top + height / 2);
      const same = hit && (one.contains(hit) || hit.contains(one) && place.contains(hit)
        || hit.closest("#toasts") // it goes by itself
        || !topmost && hit.closest("#panel, #side, #backdrop") // sheets and drawers lie over it
        || [...one.labels ?? []].some((label) => label.contains(hit)));
      if (!same) found.push(`${name(one)} can't be pressed: ${hit ? name(hit) : "outside"}`);
    }
  return found;
}"""


def faults(
    page: Page, state: str, sizes: tuple[str, ...] = tuple(SIZES), *, axe: bool = True
) -> list[str]:
    """What is wrong in this state in each look, one after another; the look before comes back."""
    before = page.viewport_size
    assert before
    found: list[str] = []
    for size in sizes:
        page.set_viewport_size(SIZES[size])
        for scheme, rules in SCHEMES.get(size, ()) if axe else ():
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            found += [f"{state}, {size}, {scheme}: {one}" for one in violations(page, *rules)]
        found += [f"{state}, {size}: {one}" for one in page.evaluate(MISPLACED)]
    page.set_viewport_size(before)
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    return found
