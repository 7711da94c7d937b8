"""Files as they are uploaded to the fake provider, and their ids in requests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any


@dataclass(frozen=True)
class Uploaded:
    name: str
    mime_type: str
    purpose: str
    data: bytes
    fields: Mapping[str, str] = field(default_factory=dict)

    def described(self, id: str) -> dict[str, Any]:
        return {
            "id": id,
            "object": "file",
            "bytes": len(self.data),
            "created_at": 1763700000,
            "filename": self.name,
            "purpose": self.purpose,
            "status": "processed",
        }


def uploaded(content_type: str, body: bytes) -> Uploaded:
    """One multipart form with `purpose` and `file`."""
    head = f"content-type: {content_type}\r\n\r\n".encode()
    form = BytesParser(policy=HTTP).parsebytes(head + body)
    parts = {
        part.get_param("name", header="content-disposition"): part for part in form.iter_parts()
    }
    file = parts.pop("file")
    data = file.get_payload(decode=True)
    assert isinstance(data, bytes)
    fields = {str(name): str(part.get_payload()).strip() for name, part in parts.items()}
    return Uploaded(
        file.get_filename() or "", file.get_content_type(), fields["purpose"], data, fields
    )


def named_files(body: Mapping[str, Any]) -> Iterator[str]:
    for message in body["messages"]:
        content = message.get("content")
        for part in content if isinstance(content, list) else ():
            if part["type"] == "file" and "file_id" in part["file"]:
                yield part["file"]["file_id"]
