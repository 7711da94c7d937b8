"""A tool server in a few lines that starts at once, speaks the protocol's older revision, and is
wrong in the way that its first argument names."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any


class Told(Exception):
    """Answered by an error of JSON-RPC with this code and message."""


OBJECT = {"type": "object", "properties": {}}
TOOLS: list[dict[str, Any]] = [
    {"name": "fine", "description": "Works.", "inputSchema": OBJECT},
    {"name": "die", "description": "Ends in the middle of the call.", "inputSchema": OBJECT},
    {"name": "with spaces/and.dots", "description": "x" * 3_000, "inputSchema": OBJECT},
    {"name": "n" * 100, "inputSchema": OBJECT},
    {"name": "odd", "inputSchema": {"type": "object", "properties": {"a": {"type": "strange"}}}},
    {
        "name": "liar",
        "inputSchema": OBJECT,
        "outputSchema": {"type": "object", "required": ["promised"]},
    },
]
# Good tools beside some of which what is said isn't as the protocol wants it.
FAULTY: list[Any] = [
    {"name": "before", "inputSchema": OBJECT},
    {"name": "no schema"},
    {"name": "null", "inputSchema": None},
    {"name": "number", "inputSchema": 1},
    {"name": "list", "inputSchema": []},
    {"name": "text", "inputSchema": "object"},
    {"name": "empty", "inputSchema": {}},
    {"name": "unsaid", "inputSchema": {"properties": None, "required": None, "$defs": {}}},
    {"name": "array", "inputSchema": {"type": "array"}},
    {"name": "strange", "inputSchema": {"type": "object", "required": "a"}},
    {"inputSchema": OBJECT},
    {"name": 7, "inputSchema": OBJECT},
    {"name": " ", "inputSchema": OBJECT},
    {"name": "a\0b", "inputSchema": OBJECT},
    None,
    "tool",
    {"name": "described", "description": 5, "title": "Said", "inputSchema": OBJECT},
    {"name": "annotated", "annotations": "none", "inputSchema": OBJECT},
    {"name": "promising", "outputSchema": {"type": "string"}, "inputSchema": OBJECT},
    {"name": "told", "inputSchema": OBJECT, "description": "Fails with an error of JSON-RPC."},
    {"name": "die", "inputSchema": OBJECT},
]


def answer(method: str, params: dict[str, Any], manner: str) -> dict[str, Any]:
    if method == "initialize":
        capabilities = {"tools": {"listChanged": True}}
        info = {"name": "crude", "version": "1"}
        return {
            "protocolVersion": "2025-06-18",
            "capabilities": capabilities,
            "serverInfo": info,
        }
    if method == "tools/list":
        return {"tools": {"lax": 1, "faulty": FAULTY}.get(manner, TOOLS)}
    if method == "tools/call" and params["name"] == "told":
        code = int(params["arguments"].get("code", -32000))
        raise Told(code, params["arguments"].get("message", "no such table"))
    if method == "tools/call":
        if params["name"] == "die":
            os._exit(1)
        return {
            "content": [{"type": "text", "text": "the same as text"}],
            "structuredContent": {"process": os.getpid(), "folder": os.getcwd()},
        }
    raise KeyError(method)


def main(manner: str) -> None:
    if manner == "ends":
        sys.exit(3)
    if manner == "silent":
        time.sleep(60)
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" not in asked:
            continue
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": asked["id"]}
        try:
            reply["result"] = answer(asked["method"], asked.get("params", {}), manner)
        except KeyError:
            reply["error"] = {"code": -32601, "message": "no such method"}
        except Told as told:
            reply["error"] = dict(zip(("code", "message"), told.args, strict=True))
        print("this is no message", flush=True) if manner == "noisy" else None
        print(json.dumps(reply), flush=True)
        if manner == "once" and asked["method"] == "tools/list":
            os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
