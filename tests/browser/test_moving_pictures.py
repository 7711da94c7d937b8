"""The moving picture of the README: the line follows the policy, and a fact is brought back.

Made anew with `make pictures`, as those of `test_pictures` are.
"""

from __future__ import annotations

import io
import itertools
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Locator, expect

from tests.browser.chat import Chat
from tests.browser.conftest import Visit
from tests.fakes.openai_server import FakeOpenAI

pytestmark = [pytest.mark.browser, pytest.mark.thorough]
SIZE = {"width": 960, "height": 660}
# Device pixels a pixel: text stays sharp on the screens of today.
SHARP = 2
# What a README may weigh, and colours that the page gets by with: 64 show as bands in its greys.
LARGEST = 1_500_000
COLOURS = 96
READING, GLANCE, STEP = 2600, 1100, 90

TALK = [
    ("Our boat Mara lies at berth 14. Remember that.", "Noted: Mara lies at **berth 14**."),
    ("What do we pack for two days at sea?", "Rain clothes, sun cream, something warm."),
    ("And for breakfast?", "Oats, apples and coffee. They keep without a fridge."),
    ("When is the tide high tomorrow?", "The harbour's table tells, twice a day."),
    ("Who takes the first watch?", "Whoever slept best. Change every three hours."),
]
QUESTION = "Where do we meet tomorrow?"
ANSWER = "At Mara, **berth 14**. Bring the rain clothes and the oats."

# The pointer that people see; the page's own rules allow no style in markup, but a style by script.
POINTER = """() => {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.id = "film-pointer";
  svg.setAttribute("viewBox", "0 0 20 20");
  const path = document.createElementNS(space, "path");
  path.setAttribute("d", "M3 2v14l4-4 2.5 6 2.5-1-2.5-6H15Z");
  path.setAttribute("fill", "black");
  path.setAttribute("stroke", "white");
  svg.append(path);
  Object.assign(svg.style, {
    position: "fixed", width: "26px", zIndex: "99999", pointerEvents: "none",
    left: "480px", top: "560px",
  });
  document.documentElement.append(svg);
  addEventListener("mousemove", ({ clientX, clientY }) =>
    Object.assign(svg.style, { left: `${clientX - 3}px`, top: `${clientY - 2}px` }), true);
}"""


class Film:
    """Frames with the time in ms that each is shown for."""

    def __init__(self, chat: Chat) -> None:
        self.chat = chat
        self.frames: list[tuple[Image.Image, int]] = []
        self.at = (480.0, 560.0)

    def frame(self, shown: int) -> None:
        png = self.chat.page.screenshot(caret="hide", animations="allow")
        self.frames.append((Image.open(io.BytesIO(png)).convert("RGB"), shown))

    def press(self, target: Locator) -> None:
        """The pointer goes there and presses."""
        target.hover()
        box = target.bounding_box()
        assert box is not None
        to = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        for part in (0.35, 0.7, 1):
            x, y = (old + (new - old) * part for old, new in zip(self.at, to, strict=True))
            self.chat.page.mouse.move(x, y)
            self.frame(STEP)
        self.at = to
        self.chat.page.mouse.down()
        self.chat.page.mouse.up()

    def write(self, text: str) -> None:
        self.chat.draft.focus()
        words = text.split(" ")
        for written in itertools.accumulate(words, lambda before, word: f"{before} {word}"):
            self.chat.draft.fill(written)
            self.frame(STEP)

    def save(self, path: Path) -> None:
        # One palette for all, made from frames of every part: a frame stores only what changed.
        width, height = self.frames[0][0].size
        wall = Image.new("RGB", (width, height * 4))
        for place in range(4):
            frame, _ = self.frames[len(self.frames) * place // 4]
            wall.paste(frame, (0, height * place))
        palette = wall.quantize(COLOURS)
        first, *others = (
            one.quantize(palette=palette, dither=Image.Dither.NONE) for one, _ in self.frames
        )
        first.save(
            path,
            save_all=True,
            append_images=others,
            duration=[shown for _, shown in self.frames],
            loop=0,
            optimize=True,
        )


def test_the_line_moves_and_a_forgotten_fact_is_brought_back(
    visit: Visit, fake: FakeOpenAI, pictures: Path
) -> None:
    chat = visit(viewport=SIZE, device_scale_factor=SHARP)
    chat.open("/chat?historyPolicy=lastN&historyLength=20")
    for question, reply in TALK:
        fake.script.append(reply)
        chat.say(question)
    chat.page.locator("#side-hide").click()
    chat.page.evaluate(POINTER)
    chat.page.mouse.move(480, 560)
    film = Film(chat)
    film.frame(GLANCE)

    # The line follows the policy.
    film.press(chat.chip)
    length = chat.popover.get_by_label("How many exchanges")
    expect(length).to_be_visible()
    film.frame(GLANCE)
    for number in ("4", "3", "2"):
        length.fill(number)
        expect(chat.chip).to_have_text(f"Your last {number} exchanges")
        expect(chat.horizon).to_be_visible()
        film.frame(GLANCE)
    chat.page.keyboard.press("Escape")
    film.frame(READING)

    # Why something above the line isn't sent, and what can be done about that.
    berth = chat.users.first
    berth.evaluate("(row) => row.scrollIntoView({ block: 'center' })")
    berth.hover()
    film.frame(GLANCE)
    film.press(berth.get_by_role("button", name="Why did it forget?"))
    window = chat.page.locator("#why")
    expect(window.get_by_role("button", name="Pin it")).to_be_visible()
    film.frame(READING)
    film.press(window.get_by_role("button", name="Pin it"))
    expect(window).to_be_hidden()
    expect(berth).not_to_have_class("m user out")
    film.frame(READING)

    # The fact is sent again, and the answer knows it.
    fake.script.append(ANSWER)
    film.write(QUESTION)
    chat.draft.press("Enter")
    expect(chat.answers.last).to_contain_text("berth 14")
    expect(chat.writing).to_have_count(0)
    assert "berth 14" in str(fake.requests[-1]["messages"])
    film.frame(READING)

    path = pictures / "line.gif"
    film.save(path)
    assert path.stat().st_size < LARGEST
    with Image.open(path) as kept:
        assert kept.n_frames > 20  # type: ignore[attr-defined]
