"""Files in a message: dropped, pasted, cancelled and sent, and the parts the model gets."""

from __future__ import annotations

import base64

import pytest
from playwright.sync_api import Route, expect

from tests.browser.chat import Chat
from tests.browser.conftest import Visit
from tests.browser.test_accessibility import violations_in_every_look
from tests.browser.watch import Watch, failed_request
from tests.fakes.openai_server import FakeOpenAI
from tests.files.sample_files import pdf, picture

pytestmark = pytest.mark.browser
# A test can't drag a file, so it dispatches the events that a browser then would.
DROP = """(files) => {
  const dataTransfer = new DataTransfer();
  for (const [name, type, content] of files) {
    const bytes = Uint8Array.from(atob(content), (one) => one.charCodeAt(0));
    dataTransfer.items.add(new File([bytes], name, { type }));
  }
  const options = { bubbles: true, cancelable: true, dataTransfer };
  document.querySelector("#log").dispatchEvent(new DragEvent("dragover", options));
  const shown = !document.querySelector("#drop").hidden;
  document.querySelector("#log").dispatchEvent(new DragEvent("drop", options));
  return shown && document.querySelector("#drop").hidden;
}"""
PASTE = """(text) => {
  const clipboardData = new DataTransfer();
  clipboardData.setData("text/plain", text);
  const options = { bubbles: true, cancelable: true, clipboardData };
  document.querySelector("#draft").dispatchEvent(new ClipboardEvent("paste", options));
}"""


def drop(chat: Chat, **files: bytes) -> None:
    """Drop each file under its name, with `_` for the dot; check that the drop area is shown."""
    typed = [
        (name.replace("_", "."), "image/png" if name.endswith("png") else "", content)
        for name, content in files.items()
    ]
    encoded = [(name, type, base64.b64encode(content).decode()) for name, type, content in typed]
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
    assert violations_in_every_look(page) == [], "while files are uploaded"
    page.get_by_role("button", name="Cancel the upload of wrong.txt").click()
    expect(chips).to_have_count(2)

    chat.write("What does the survey say?")
    expect(chat.send_button).to_have_text("Waiting…")
    for route in held:
        if route.request.headers["x-file-name"] != "wrong.txt":
            route.continue_()
    expect(chat.users.locator(".files")).to_contain_text("File: survey.pdf")
    expect(chat.receipt_buttons).to_have_count(1)
    expect(chips).to_have_count(0)
    size = "(image) => image.complete && [image.naturalWidth, image.naturalHeight]"
    page.wait_for_function(f"() => ({size})(document.querySelector('.thumb img'))")
    assert page.locator(".thumb img").evaluate(size) == [40, 30]
    page.get_by_role("button", name="map.png").click()
    expect(page.get_by_role("dialog", name="map.png")).to_be_visible()
    assert violations_in_every_look(page) == [], "with a picture open"

    parts = fake.requests[-1]["messages"][-1]["content"]
    texts = "\n".join(part["text"] for part in parts if part["type"] == "text")
    assert "What does the survey say?" in texts
    assert "File: survey.pdf" in texts and "File: map.png" in texts and "wrong.txt" not in texts
    picture_part = next(part for part in parts if part["type"] == "image_url")
    assert picture_part["image_url"]["url"].startswith("data:image/png;base64,")
    assert [part["type"] for part in parts].count("file") == 1, parts


def test_a_text_that_is_too_long_becomes_a_file_and_a_draft_keeps_its_files(
    visit: Visit, watch: Watch
) -> None:
    watch.allow(failed_request(400))
    chat = visit().open()
    chips, page = chat.page.locator(".piece"), chat.page
    page.evaluate(PASTE, "words " * 20_000)
    expect(chips).to_contain_text("pasted text.txt")
    expect(page.get_by_role("progressbar", name="Upload of")).to_have_count(0)
    drop(chat, picture_png=b"MZ\x90\x00" + bytes(30))
    expect(page.get_by_role("button", name="Remove picture.png")).to_be_visible()
    assert violations_in_every_look(page) == [], "with files that are ready"
    chat.write("Sum it up.")
    expect(chat.notice).to_contain_text("picture.png can't be sent")
    chat.reload()
    expect(chips).to_have_count(1)
    expect(chat.draft).to_have_value("Sum it up.")
    page.get_by_role("button", name="Remove pasted text.txt").click()
    expect(chips).to_have_count(0)
    expect(chat.draft).to_be_focused()


def test_a_refused_file_says_why_nothing_is_sent_and_is_passed_over_with_one_action(
    visit: Visit, fake: FakeOpenAI, watch: Watch
) -> None:
    watch.allow(failed_request(400))
    chat = visit().open()
    chips = chat.page.locator(".piece")
    drop(chat, a_txt=b"The quay is old.", wrong_exe=b"MZ\x90\x00" + bytes(30))
    expect(chips.filter(has_text="A program can't be attached")).to_have_count(1)
    expect(chat.page.get_by_role("progressbar", name="Upload of")).to_have_count(0)
    asked = len(fake.requests)
    chat.write("How old is it?")
    expect(chat.notice).to_contain_text("wrong.exe can't be sent: remove it, or send without it.")
    assert violations_in_every_look(chat.page) == [], "with a file that can't be sent"
    assert len(fake.requests) == asked
    chat.notice.get_by_role("button", name="Send without it").click()
    expect(chat.receipt_buttons).to_have_count(1)
    expect(chat.notice).to_be_hidden()
    expect(chips).to_have_count(0)
    sent = str(fake.requests[-1]["messages"][-1])
    assert "The quay is old." in sent and "wrong.exe" not in sent


def test_removing_refused_files_takes_the_sentence_away(visit: Visit, watch: Watch) -> None:
    watch.allow(failed_request(400))
    chat = visit().open()
    drop(chat, one_exe=b"MZ\x90\x00" + bytes(30), two_exe=b"MZ\x90\x00" + bytes(30))
    expect(chat.page.locator(".piece.failed")).to_have_count(2)
    chat.write("")
    expect(chat.notice).to_contain_text("one.exe, two.exe can't be sent: remove them")
    chat.page.get_by_role("button", name="Remove one.exe").click()
    expect(chat.notice).to_be_visible()
    chat.send_button.click()
    expect(chat.notice).to_contain_text("two.exe can't be sent: remove it")
    chat.notice.get_by_role("button", name="Remove", exact=True).click()
    expect(chat.notice).to_be_hidden()
    expect(chat.page.locator(".piece")).to_have_count(0)


def test_a_table_in_another_encoding_reaches_the_model_and_the_page_says_how_it_was_read(
    visit: Visit, fake: FakeOpenAI
) -> None:
    chat = visit().open()
    chips = chat.page.locator(".piece")
    table = "Größe;Müller;5 €\n"
    drop(chat, table_csv=table.encode("cp1252"), names_csv="名前;東京です\n".encode("cp932"))
    expect(chips.filter(has_text="Read as windows-1252.")).to_have_count(1)
    expect(chips.filter(has_text="Read as Shift-JIS.")).to_have_count(1)
    chat.say("Sum it up.")
    sent = str(fake.requests[-1]["messages"][-1])
    assert table.strip() in sent and "名前;東京です" in sent


def test_a_pdf_with_bytes_before_its_header_is_sent_as_a_pdf_that_begins_with_it(
    visit: Visit, fake: FakeOpenAI
) -> None:
    chat = visit().open()
    whole = pdf("The quay needs dredging")
    drop(chat, survey_pdf=b"\r\n\r\n" + whole)
    expect(chat.page.get_by_role("button", name="Remove survey.pdf")).to_be_visible()
    chat.say("What does it say?")
    parts = fake.requests[-1]["messages"][-1]["content"]
    (sent,) = [part["file"]["file_data"] for part in parts if part["type"] == "file"]
    assert base64.b64decode(sent.partition(",")[2]) == whole
