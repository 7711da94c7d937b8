"""Files in a message: dropped, pasted, called off and sent, and what reaches the model of them."""

from __future__ import annotations

import base64

import pytest
from playwright.sync_api import Route, expect

from tests.browser.chat import Chat
from tests.browser.conftest import Visit
from tests.browser.test_accessibility import violations
from tests.browser.watching import Watch, refused
from tests.fakes.openai_server import FakeOpenAI
from tests.files.given import pdf, picture

pytestmark = pytest.mark.browser
# Nothing but a person can drag a file; what a browser then does is the same.
DROP = """(files) => {
  const dataTransfer = new DataTransfer();
  for (const [name, type, content] of files) {
    const bytes = Uint8Array.from(atob(content), (one) => one.charCodeAt(0));
    dataTransfer.items.add(new File([bytes], name, { type }));
  }
  const said = { bubbles: true, cancelable: true, dataTransfer };
  document.querySelector("#log").dispatchEvent(new DragEvent("dragover", said));
  const shown = !document.querySelector("#drop").hidden;
  document.querySelector("#log").dispatchEvent(new DragEvent("drop", said));
  return shown && document.querySelector("#drop").hidden;
}"""
PASTE = """(text) => {
  const clipboardData = new DataTransfer();
  clipboardData.setData("text/plain", text);
  const said = { bubbles: true, cancelable: true, clipboardData };
  document.querySelector("#draft").dispatchEvent(new ClipboardEvent("paste", said));
}"""


def drop(chat: Chat, **files: bytes) -> None:
    """Each under its name, with `_` for the dot; the place to drop them is shown meanwhile."""
    said = [
        (name.replace("_", "."), "image/png" if name.endswith("png") else "", content)
        for name, content in files.items()
    ]
    encoded = [(name, type, base64.b64encode(content).decode()) for name, type, content in said]
    assert chat.page.evaluate(DROP, encoded)


def test_a_pdf_and_a_picture_are_dropped_asked_about_and_reach_the_model(
    visit: Visit, fake: FakeOpenAI
) -> None:
    chat = visit(viewport={"width": 400, "height": 860}).open()
    page, chips = chat.page, chat.page.locator(".piece")
    held: list[Route] = []
    page.route("**/files", lambda route: held.append(route))
    drop(chat, survey_pdf=pdf("The quay needs dredging"), map_png=picture("PNG"), wrong_txt=b"no")
    expect(page.get_by_role("progressbar", name="Upload of")).to_have_count(3)
    expect(page.locator("#status")).to_contain_text("Uploading survey.pdf")
    page.get_by_role("button", name="Cancel the upload of wrong.txt").click()
    expect(chips).to_have_count(2)

    chat.write("What does the survey say?")
    expect(chat.send_button).to_have_text("Waiting…")
    for route in held:
        if route.request.headers["x-file-name"] != "wrong.txt":
            route.continue_()
    expect(chat.users.locator(".files")).to_contain_text("File: survey.pdf")
    expect(chat.over).to_have_count(1)
    expect(chips).to_have_count(0)
    size = "(image) => image.complete && [image.naturalWidth, image.naturalHeight]"
    page.wait_for_function(f"() => ({size})(document.querySelector('.thumb img'))")
    assert page.locator(".thumb img").evaluate(size) == [40, 30]
    page.get_by_role("button", name="map.png").click()
    expect(page.get_by_role("dialog", name="map.png")).to_be_visible()
    assert violations(page) == []

    parts = fake.requests[-1]["messages"][-1]["content"]
    said = "\n".join(part["text"] for part in parts if part["type"] == "text")
    assert "What does the survey say?" in said
    assert "File: survey.pdf" in said and "File: map.png" in said and "wrong.txt" not in said
    picture_part = next(part for part in parts if part["type"] == "image_url")
    assert picture_part["image_url"]["url"].startswith("data:image/png;base64,")
    assert [part["type"] for part in parts].count("file") == 1, parts


def test_a_text_that_is_too_long_becomes_a_file_and_a_draft_keeps_its_files(
    visit: Visit, watch: Watch
) -> None:
    watch.allow(refused(400))
    chat = visit().open()
    chips, page = chat.page.locator(".piece"), chat.page
    page.evaluate(PASTE, "words " * 20_000)
    expect(chips).to_contain_text("pasted text.txt")
    expect(page.get_by_role("progressbar", name="Upload of")).to_have_count(0)
    drop(chat, picture_png=b"MZ\x90\x00" + bytes(30))
    expect(page.get_by_role("button", name="Remove picture.png")).to_be_visible()
    chat.write("Sum it up.")
    expect(chat.notice).to_contain_text("picture.png was not uploaded")
    chat.reload()
    expect(chips).to_have_count(1)
    expect(chat.draft).to_have_value("Sum it up.")
    page.get_by_role("button", name="Remove pasted text.txt").click()
    expect(chips).to_have_count(0)
    expect(chat.draft).to_be_focused()
