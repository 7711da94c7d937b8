"""The socket's compression, read by another implementation's side of what was agreed."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.extensions.permessage_deflate import ClientPerMessageDeflateFactory
from websockets.frames import Frame, Opcode

from chatsite.web.server.deflate import DeflateFactory, ForgetfulDeflate

# As Chromium and Firefox offer it; clients that bound the server's memory, or their own.
OFFERS = {
    "browsers": ClientPerMessageDeflateFactory(),
    "no context": ClientPerMessageDeflateFactory(server_no_context_takeover=True),
    "small window": ClientPerMessageDeflateFactory(server_max_window_bits=9),
    "both": ClientPerMessageDeflateFactory(
        server_no_context_takeover=True, client_no_context_takeover=True, server_max_window_bits=10
    ),
    "own window": ClientPerMessageDeflateFactory(client_max_window_bits=10),
}
# None: the server gives up its context.
SENT = st.lists(st.one_of(st.none(), st.text(max_size=3_000)), max_size=20)


def agreed(offer: ClientPerMessageDeflateFactory) -> tuple[ForgetfulDeflate, object]:
    answer, server = DeflateFactory().process_request_params(offer.get_request_params(), [])
    assert isinstance(server, ForgetfulDeflate)
    return server, offer.process_response_params(answer, [])


@pytest.mark.parametrize("offer", OFFERS)
@given(sent=SENT)
def test_every_frame_is_read_as_it_was_sent_wherever_the_context_was_given_up(
    offer: str, sent: Sequence[str | None]
) -> None:
    server, client = agreed(OFFERS[offer])
    for text in sent:
        if text is None:
            server.forget()
            continue
        frame = server.encode(Frame(Opcode.TEXT, text.encode()))
        assert bytes(client.decode(frame).data).decode() == text  # type: ignore[attr-defined]
        back = client.encode(Frame(Opcode.TEXT, text.encode()))  # type: ignore[attr-defined]
        assert bytes(server.decode(back).data).decode() == text


def test_a_frame_like_the_one_before_takes_a_few_bytes() -> None:
    server, _ = agreed(OFFERS["browsers"])
    sizes = []
    for offset in range(100, 110):
        text = f'{{"type":"delta","turn":"112114d8-f7a9","offset":{offset},"text":" w{offset}"}}'
        sizes.append(len(server.encode(Frame(Opcode.TEXT, text.encode())).data))
    assert max(sizes[1:]) < 20 < sizes[0]


def test_control_frames_are_left_alone_and_begin_no_context() -> None:
    server, _ = agreed(OFFERS["browsers"])
    ping = Frame(Opcode.PING, b"are you there")
    assert server.encode(ping) is ping and server.encoder is None
