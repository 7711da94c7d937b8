"""permessage-deflate (RFC 7692) for the page's socket, whose memory an idle socket doesn't keep.

Of a frame with a few words most bytes are the same each time, so what was sent before has to be
kept as context: 200 tokens then take 17 bytes each instead of 63, and a frame 5 us more. The
context takes 16 KiB; it is given up with every ping, and begun again by the next frame. A receiver
doesn't notice: a new stream only refers to what it holds itself.

Only a page of this site can open the socket, so that no other one learns from the size of frames
what they hold.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from websockets.extensions import Extension
from websockets.extensions.permessage_deflate import (
    PerMessageDeflate,
    ServerPerMessageDeflateFactory,
)
from websockets.frames import CTRL_OPCODES, Frame

if TYPE_CHECKING:
    from websockets.typing import ExtensionParameter

# 2 KiB hold the fields that a frame has in common with those before it. With the largest window
# 200 tokens take 14 bytes each, and the context 256 KiB.
WINDOW_BITS = 11
LEVEL, MEMORY_LEVEL = 6, 4


class ForgetfulDeflate(PerMessageDeflate):
    """What was agreed with one client."""

    # What is left where the context ends with each frame.
    encoder: Any = None

    def __init__(self, agreed: PerMessageDeflate) -> None:
        super().__init__(
            agreed.remote_no_context_takeover,
            agreed.local_no_context_takeover,
            agreed.remote_max_window_bits,
            agreed.local_max_window_bits,
            {"level": LEVEL, "memLevel": MEMORY_LEVEL},
        )
        self.encoder = None

    def encode(self, frame: Frame) -> Frame:
        if self.encoder is None and frame.opcode not in CTRL_OPCODES:
            bits = -self.local_max_window_bits
            self.encoder = zlib.compressobj(LEVEL, wbits=bits, memLevel=MEMORY_LEVEL)
        return super().encode(frame)

    def forget(self) -> None:
        """Give up the context."""
        self.encoder = None


class DeflateFactory(ServerPerMessageDeflateFactory):
    """Agrees to what a client offers. Its own frames are read one by one: what it writes is a
    hundredth of what it reads, and a context to read it with would take 32 KiB."""

    def __init__(self) -> None:
        super().__init__(client_no_context_takeover=True, server_max_window_bits=WINDOW_BITS)

    def process_request_params(
        self, params: Sequence[ExtensionParameter], accepted_extensions: Sequence[Extension]
    ) -> tuple[list[ExtensionParameter], PerMessageDeflate]:
        answer, agreed = super().process_request_params(params, accepted_extensions)
        return list(answer), ForgetfulDeflate(agreed)
