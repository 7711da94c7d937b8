"""What is understood of other programs' exports, and what is left out of them."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsite.conversations.imports.conversion import convert
from chatsite.conversations.imports.formats import chatgpt as chatgpt_format
from chatsite.conversations.imports.formats import claude, librechat, open_webui, sillytavern
from chatsite.conversations.imports.formats.known import read_chats
from chatsite.conversations.imports.formats.stream import NotJson, json_values
from chatsite.conversations.imports.formats.tree import arrange
from chatsite.conversations.imports.formats.values import Chat, Node, Said, moment
from tests.conversations.imports.exports import (
    BEGAN,
    ROOT,
    chatgpt,
    node,
    picture,
    tides,
    tides_zip,
    zipped,
)

Said_ = tuple[str, str]


def chat_of(value: Any) -> Chat:
    [chat] = read_chats([value])
    assert chat is not None
    return chat


def path_of(chat: Chat) -> list[Said_]:
    placed = arrange(chat.nodes, chat.current)
    return [(one.said.role, one.said.text) for one in placed if one.on_path]


def all_of(chat: Chat) -> list[Said_]:
    return [(one.said.role, one.said.text) for one in arrange(chat.nodes, chat.current)]


def converted(content: bytes) -> tuple[list[Any], dict[str, Any]]:
    """The lines of an export, without files' bytes, and the last one."""
    out = io.BytesIO()
    convert(io.BytesIO(content), out)
    out.seek(0)
    lines: list[Any] = []
    while line := out.readline():
        if line != b"\n":
            lines.append(json.loads(line))
            out.seek(lines[-1].get("size", 0), io.SEEK_CUR)
    return lines[:-1], lines[-1]


# ---- ChatGPT -----------------------------------------------------------------------------------
def test_chatgpt_the_current_branch_is_the_path_and_other_answers_are_versions() -> None:
    chat = chat_of(tides())
    assert path_of(chat) == [
        ("user", "When is high water?"),
        ("assistant", "At noon, twice."),
        ("user", "Thanks"),
        ("assistant", "Gladly."),
    ]
    placed = arrange(chat.nodes, chat.current)
    assert [one.parent for one in placed] == [-1, 0, 0, 2, 3]
    assert placed[0].created == BEGAN + 1
    assert placed[1].said.model == "gpt-4o"
    assert chat.left_out["system"] == 1
    assert (chat.title, chat.created, chat.updated) == ("Tides", BEGAN, BEGAN + 900)


def test_chatgpt_a_tool_with_its_result_is_a_call_and_thoughts_are_reasoning() -> None:
    thoughts = {"thoughts": [{"summary": "Look", "content": "Where is it?"}]}
    chat = chat_of(
        chatgpt(
            node("u", None, "user", "2+2?"),
            node("t", "u", "assistant", kind="thoughts", content=thoughts),
            node("r", "t", "assistant", kind="reasoning_recap", content={"content": "Thought 5s"}),
            node("c", "r", "assistant", kind="code", content={"text": "2+2"}, recipient="python"),
            node("o", "c", "tool", kind="execution_output", content={"text": "4"}),
            node("a", "o", "assistant", "It is 4."),
        )
    )
    asked, called, result, answer = (one.said for one in arrange(chat.nodes, chat.current))
    assert called.call == ("python", {"input": "2+2"})
    assert called.reasoning == "Look\nWhere is it?"
    assert (result.role, result.text) == ("tool", "4")
    assert (asked.role, answer.text) == ("user", "It is 4.")


def test_chatgpt_a_call_without_its_result_is_text() -> None:
    chat = chat_of(
        chatgpt(
            node("u", None, "user", "Write"),
            node("c", "u", "assistant", '{"name": "Plan"}', recipient="canmore.create_textdoc"),
            node("a", "c", "assistant", "Done."),
        )
    )
    [_, (role, text), _] = path_of(chat)
    assert role == "assistant"
    assert "canmore.create_textdoc" in text
    assert '"name": "Plan"' in text


def test_chatgpt_the_pictures_of_a_tool_are_an_answers() -> None:
    pointer = {"asset_pointer": "sediment://file_0000a1"}
    chat = chat_of(
        chatgpt(
            node("u", None, "user", "Draw"),
            node("c", "u", "assistant", '{"prompt": "x"}', recipient="dalle.text2im"),
            node("o", "c", "tool", pointer, kind="multimodal_text"),
        )
    )
    placed = [one.said for one in arrange(chat.nodes, chat.current)]
    assert [one.role for one in placed] == ["user", "assistant", "tool", "assistant"]
    assert [file.key for file in placed[-1].files] == ["file_0000a1"]


# ---- Claude ------------------------------------------------------------------------------------
def claude_chat(*messages: dict[str, Any]) -> dict[str, Any]:
    return {
        "uuid": "11",
        "name": "",
        "created_at": "2025-03-01T10:00:00.000000Z",
        "chat_messages": list(messages),
    }


def test_claude_blocks_become_reasoning_calls_results_and_text() -> None:
    use = {"type": "tool_use", "id": "t1", "name": "web_search", "input": {"query": "tide"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [{"text": "noon"}]}
    blocks: list[Any] = [
        {"type": "thinking", "thinking": "Hm."},
        {"type": "text", "text": "I look."},
    ]
    blocks += [use, result, {"type": "text", "text": "At noon."}, {"type": "new_thing"}]
    chat = chat_of(
        claude_chat(
            {
                "uuid": "m1",
                "sender": "human",
                "text": "When?",
                "content": [],
                "attachments": [{"file_name": "log.txt", "extracted_content": "the log"}],
                "files": [{"file_name": "photo.jpg"}],
            },
            {"uuid": "m2", "sender": "assistant", "text": "", "content": blocks},
        )
    )
    asked, called, found, answer = (one.said for one in arrange(chat.nodes, chat.current))
    assert [(one.name, one.data) for one in asked.files] == [
        ("log.txt", b"the log"),
        ("photo.jpg", None),
    ]
    assert (called.text, called.reasoning) == ("I look.", "Hm.")
    assert called.call == ("web_search", {"query": "tide"})
    assert (found.role, found.text, answer.text) == ("tool", "noon", "At noon.")
    assert chat.left_out["content"] == 1
    assert chat.created == 1740823200.0


def test_claude_newer_exports_have_branches() -> None:
    nobody = "00000000-0000-4000-8000-000000000000"
    said = [("m1", nobody, "human"), ("m2", "m1", "assistant"), ("m3", "m1", "assistant")]
    chat = chat_of(
        claude_chat(
            *(
                {"uuid": id, "parent_message_uuid": above, "sender": who, "text": id}
                for id, above, who in said
            )
        )
    )
    assert path_of(chat) == [("user", "m1"), ("assistant", "m3")]
    assert len(all_of(chat)) == 3


# ---- Open WebUI --------------------------------------------------------------------------------
def test_open_webui_with_and_without_its_wrapper() -> None:
    folded = (
        '<details type="reasoning" done="true"><summary>Thought</summary>\n> Hm &lt;1\n</details>\n'
        '<details type="tool_calls" name="clock" arguments="&quot;{}&quot;" '
        'result="&quot;noon&quot;"><summary>x</summary></details>\nAt noon.'
    )
    messages = {
        "1": {"id": "1", "parentId": None, "role": "user", "content": "When?", "timestamp": 1.7e9},
        "2": {"id": "2", "parentId": "1", "role": "assistant", "content": "No.", "model": "m"},
        "3": {"id": "3", "parentId": "1", "role": "assistant", "content": folded, "model": "m"},
    }
    inner = {"title": "Clock", "history": {"currentId": "3", "messages": messages}}
    for value in ({"id": "x", "chat": inner, "created_at": 1_700_000_000}, inner):
        chat = chat_of(value)
        assert chat.title == "Clock"
        assert path_of(chat) == [
            ("user", "When?"),
            ("assistant", ""),
            ("tool", "noon"),
            ("assistant", "At noon."),
        ]
        called = arrange(chat.nodes, chat.current)[2].said
        assert called.call == ("clock", {})
        assert called.reasoning == "Hm <1"


def test_an_answer_of_open_webui_that_stands_in_its_items_alone_comes_along() -> None:
    output = [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm"}]},
        {"type": "message", "content": [{"type": "output_text", "text": "A look."}]},
        {"type": "function_call", "call_id": "a", "name": "clock", "arguments": '{"zone": "UTC"}'},
        {"type": "function_call", "call_id": "b", "name": "tide", "arguments": ""},
        {
            "type": "function_call_output",
            "call_id": "b",
            "output": [{"type": "input_text", "text": "low"}],
        },
        {"type": "function_call_output", "call_id": "a", "output": "noon"},
        {"type": "open_webui:code_interpreter", "code": "1 + 1"},
        {"type": "message", "content": [{"type": "output_text", "text": "At noon."}]},
    ]
    messages = {
        "1": {"id": "1", "parentId": None, "role": "user", "content": "When?"},
        "2": {"id": "2", "parentId": "1", "role": "assistant", "content": "", "output": output},
        "3": {"id": "3", "parentId": "2", "role": "user", "content": "And now?"},
        "4": {"id": "4", "parentId": "3", "role": "assistant", "content": "", "output": None},
    }
    chat = chat_of({"title": "Clock", "history": {"currentId": "4", "messages": messages}})
    assert path_of(chat) == [
        ("user", "When?"),
        ("assistant", "A look."),
        ("tool", "noon"),
        ("assistant", ""),
        ("tool", "low"),
        ("assistant", "At noon."),
        ("user", "And now?"),
    ]
    placed = [one.said for one in arrange(chat.nodes, chat.current)]
    assert [one.call for one in placed if one.call] == [("clock", {"zone": "UTC"}), ("tide", {})]
    assert placed[1].reasoning == "Hm"
    assert chat.left_out["content"] == 1


def test_a_result_without_its_call_is_kept() -> None:
    output = [
        {"type": "function_call_output", "call_id": "gone", "output": "high water"},
        {"type": "message", "content": [{"type": "output_text", "text": "At noon."}]},
    ]
    messages = {"1": {"id": "1", "role": "assistant", "content": "", "output": output}}
    blocks = [
        {"type": "tool_result", "tool_use_id": "gone", "content": "high water"},
        {"type": "text", "text": "At noon."},
    ]
    said = {"uuid": "1", "sender": "assistant", "content": blocks}
    for value in (
        {"title": "Tides", "history": {"currentId": "1", "messages": messages}},
        {"uuid": "x", "name": "Tides", "chat_messages": [said]},
    ):
        texts = " ".join(text for _, text in path_of(chat_of(value)))
        assert "high water" in texts and "At noon." in texts


# ---- LibreChat ---------------------------------------------------------------------------------
LIBRE = [
    {"messageId": "1", "parentMessageId": "0" * 8, "text": "Hi", "isCreatedByUser": True},
    {"messageId": "2", "parentMessageId": "1", "text": "Ho", "isCreatedByUser": False},
    {
        "messageId": "3",
        "parentMessageId": "1",
        "isCreatedByUser": False,
        "model": "gpt-4",
        "text": "",
        "content": [{"type": "think", "think": "Hm"}, {"type": "text", "text": "Hey"}],
    },
]


def test_librechat_nested_and_flat_say_the_same() -> None:
    flat = {"conversationId": "x", "title": "T", "recursive": False, "messages": LIBRE}
    tree = {"conversationId": "x", "title": "T", "recursive": True}
    tree["messagesTree"] = [LIBRE[0] | {"children": LIBRE[1:]}]
    for value in (flat, tree):
        chat = chat_of(value)
        assert all_of(chat) == [("user", "Hi"), ("assistant", "Ho"), ("assistant", "Hey")]
        assert path_of(chat) == [("user", "Hi"), ("assistant", "Hey")]
        assert arrange(chat.nodes, chat.current)[2].said.reasoning == "Hm"


# ---- SillyTavern -------------------------------------------------------------------------------
def test_sillytavern_lines_are_chats_and_swipes_are_versions() -> None:
    head = {"user_name": "Ada", "character_name": "Sea", "chat_metadata": {}}
    hello = {"name": "Sea", "is_user": False, "mes": "Ahoy", "send_date": "June 5, 2023 2:34pm"}
    asked = {
        "name": "Ada",
        "is_user": True,
        "mes": "When?",
        "send_date": "2023-6-5 @14h 35m 1s 9ms",
    }
    swiped = hello | {"mes": "Two", "swipes": ["One", "Two"], "swipe_id": 1}
    note = {"name": "x", "is_user": False, "is_system": True, "mes": "hidden"}
    chats = list(read_chats([head, hello, asked, swiped, note, head, asked]))
    assert all(chats)
    first, second = (one for one in chats if one)
    assert path_of(first) == [("assistant", "Ahoy"), ("user", "When?"), ("assistant", "Two")]
    assert ("assistant", "One") in all_of(first)
    assert (first.title, first.left_out["system"]) == ("Sea", 1)
    assert path_of(second) == [("user", "When?")]
    assert arrange(first.nodes, None)[0].created == 1_685_975_640.0


# ---- times, files, JSON --------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        (1_700_000_000, 1.7e9),
        (1_700_000_000_000, 1.7e9),
        ("1700000000000", 1.7e9),
        ("2023-11-14T22:13:20Z", 1.7e9),
        ("2023-11-14T23:13:20+01:00", 1.7e9),
        ("2023-11-14 22:13:20", 1.7e9),
        (None, None),
        (True, None),
        (-5, None),
        (1e300, None),
        ("yesterday", None),
        ("9" * 79, None),
        (float("nan"), None),
    ],
)
def test_times_in_every_form(written: Any, seconds: float | None) -> None:
    assert moment(written) == seconds


def test_a_zip_gives_its_chats_and_the_pictures_in_them() -> None:
    lines, end = converted(tides_zip())
    assert [one.get("name") for one in lines if "size" in one] == ["map.png"]
    assert lines[2]["files"] == [0]
    assert (end["chats"], end["messages"]) == (1, 5)
    assert end["left_out"]["unknown"] == [1, ["user.json"]]


def test_files_that_are_not_in_the_export_leave_their_names() -> None:
    lines, end = converted(json.dumps([tides()]).encode())
    assert lines[1]["missing"] == ["map.png"]
    assert end["left_out"]["files"] == [1, ["Tides"]]


def test_parts_of_a_split_export_are_read_whatever_their_names() -> None:
    parts = {f"conversations-00{n}.json": json.dumps([tides(f"c{n}")]) for n in range(2)}
    assert converted(zipped({**parts, "readme.txt": "hello"}))[1]["chats"] == 2
    assert converted(zipped({"odd.bin": "\ufeff" + json.dumps([tides()])}))[1]["chats"] == 1


def encrypted() -> bytes:
    whole = bytearray(zipped({"conversations.json": json.dumps([tides()])}))
    whole[6] |= 1
    whole[whole.index(b"PK\1\2") + 8] |= 1
    return bytes(whole)


@pytest.mark.parametrize(
    ("content", "refused"),
    [
        (b"", "unknown"),
        (b"[]", "unknown"),
        (b'[{"hello": 1}, 2, null, "x"]', "unknown"),
        (b"PK\3\4 and nothing", "zip"),
        (zipped({}), "unknown"),
        (zipped({"a.json": '{"format": "chatsite.conversation"}'}), "own"),
        (encrypted(), "zip"),
        (json.dumps([tides()]).encode()[:-9], "broken"),
        (b"[" * 100_000, "nested"),
        (b'[{"mapping": {"a": tru}}]' + b" " * 200, "broken"),
    ],
)
def test_what_is_refused(content: bytes, refused: str) -> None:
    assert converted(content)[1]["refused"] == refused


def test_a_value_is_read_across_the_ends_of_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chatsite.conversations.imports.formats.stream.BLOCK", 7)
    values = [{"a": "ü\n" * 50}, 12345, [1, [2]], "x", None, -1.5e3]
    for form in (json.dumps(values), "\n".join(map(json.dumps, values))):
        assert list(json_values(io.BytesIO(form.encode()))) == values
    with pytest.raises(NotJson):
        list(json_values(io.BytesIO(b'[{"a": "' + b"x" * 300)))


# ---- what must always hold ---------------------------------------------------------------------
NAMES = st.sampled_from([f"n{n}" for n in range(8)])


@given(
    st.lists(st.tuples(NAMES, st.none() | NAMES, st.booleans(), st.none() | st.integers(0, 9))),
    st.none() | NAMES,
)
def test_every_message_comes_once_below_its_parent_and_the_path_leads_to_the_current_one(
    tree: list[tuple[str, str | None, bool, int | None]], current: str | None
) -> None:
    nodes = [
        Node(
            key=key,
            parent=parent,
            said=[Said(role="user", text=str(n))] if shown else [],
            created=at,
        )
        for n, (key, parent, shown, at) in enumerate(tree)
    ]
    placed = arrange(nodes, current)
    shown = [str(n) for n, one in enumerate(tree) if one[2]]
    assert sorted(one.said.text for one in placed) == sorted(shown)
    assert all(one.parent < index for index, one in enumerate(placed))
    path = [index for index, one in enumerate(placed) if one.on_path]
    assert [placed[index].parent for index in path] == [-1, *path][: len(path)]
    assert bool(path) == bool(placed)
    first = next((n for n, one in enumerate(tree) if one[0] == current and one[2]), None)
    same = [n for n, one in enumerate(tree) if one[0] == current]
    if first is not None and same[0] == first:
        assert placed[path[-1]].said.text == str(first)


FIELDS = st.sampled_from(
    (
        "mapping id parent message author role content content_type parts text recipient metadata "
        "attachments asset_pointer thoughts create_time current_node chat_messages sender type "
        "tool_use tool_result tool_use_id input uuid files file_name extracted_content history "
        "messages currentId parentId messagesTree children conversationId messageId tool_call args "
        "output isCreatedByUser mes is_user swipes swipe_id swipe_info extra send_date user url"
    ).split()
)
WORDS = st.sampled_from(
    [
        "assistant",
        "user",
        "tool",
        "human",
        "text",
        "code",
        "thoughts",
        "tool_use",
        "think",
        "\0\ud800",
    ]
    + ["data:image/png;base64,x", "sediment://", "python", '{"a": NaN}', "n1"]
)
ANYTHING: st.SearchStrategy[Any] = st.none() | st.booleans() | st.floats() | st.integers() | WORDS
for _ in range(4):
    ANYTHING |= st.lists(ANYTHING, max_size=3) | st.dictionaries(FIELDS, ANYTHING, max_size=5)


@given(st.dictionaries(FIELDS, ANYTHING), st.dictionaries(FIELDS, ANYTHING))
def test_no_reader_is_upset_by_anything(value: dict[str, Any], other: dict[str, Any]) -> None:
    for read in (chatgpt_format.read, claude.read, open_webui.read, librechat.read):
        chat = read({**value, "mapping": {"n1": value, "n2": {"message": other}}})
        placed = arrange(chat.nodes, chat.current)
        calls = {index for index, one in enumerate(placed) if one.said.call}
        results = {one.parent for one in placed if one.said.role == "tool"}
        assert calls == results
        json.dumps([one.said.text.encode().decode() for one in placed])
    sillytavern.read([value, other])
    list(read_chats([value, other, value]))


def test_a_picture_within_a_message_is_a_file() -> None:
    import base64

    url = "data:image/png;base64," + base64.b64encode(picture()).decode()
    message = {"role": "user", "content": "See", "files": [{"type": "image", "url": url}]}
    chat = chat_of({"chat": {"history": {"messages": {"1": message}}}})
    [file] = arrange(chat.nodes, None)[0].said.files
    assert (file.name, file.data) == ("image.png", picture())
    assert ROOT["message"] is None
