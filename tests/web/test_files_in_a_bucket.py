"""Files of the page in a bucket of S3, and what goes on while it is away."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.files.sample_files import picture
from tests.files.stores import KEY, s3_server
from tests.person import Person
from tests.running import ROOT, Server
from tests.web.browser_requests import ask, ask_from_page, attach_file, upload_file


async def test_files_go_through_the_server_and_chats_go_on_while_the_store_is_away(
    tmp_path: Path,
) -> None:
    with (
        s3_server() as s3,
        Server(
            tmp_path,
            FILES_URL=s3.url,
            AWS_ACCESS_KEY_ID=KEY["AWS_ACCESS_KEY_ID"],
            AWS_SECRET_ACCESS_KEY=KEY["AWS_SECRET_ACCESS_KEY"],
        ) as server,
    ):
        async with Person(server.url) as ada, Person(server.url) as bob:
            content = picture("PNG")
            mine = await attach_file(ada, content, name="quay.png")
            back = await ask(ada, "GET", mine["url"])
            assert (back.status, back.body) == (200, content)
            assert back.headers["cache-control"] == "private, no-cache"
            assert "sandbox" in back.headers["content-security-policy"]
            known = {"If-None-Match": back.headers["etag"]}
            assert (await ask(ada, "GET", mine["url"], headers=known)).status == 304
            head = await ask(ada, "HEAD", mine["url"])
            assert (head.body, head.headers["content-length"]) == (b"", str(len(content)))
            assert (await ask(bob, "GET", mine["url"])).status == 404
            left = [path for path in (tmp_path / "files").rglob("*") if path.is_file()]
            assert left == []
            s3.kill()
            refused = await upload_file(ada, b"Hello", name="notes.txt")
            assert (refused.status, b"nothing was kept" in refused.body) == (409, True)
            away = await ask(ada, "GET", mine["url"])
            assert (away.status, b"still kept" in away.body) == (409, True)
            said = await (await ada.page()).say("And without files?")
            assert said["state"] == "complete"
            assert (await ask_from_page(ada, "DELETE", mine["url"])).status == 200
        assert "Traceback" not in server.log
        assert not any(value in server.log for value in KEY.values())


def test_a_server_of_one_machine_imports_nothing_of_s3_or_postgresql() -> None:
    code = (
        "import sys, chatsite.asgi, chatsite.urls\n"
        "from chatsite.conversations.files.uploads import upload_store\n"
        "upload_store()\n"
        "print(sorted({'boto3', 'botocore', 'storages', 'psycopg'} & set(sys.modules)))"
    )
    environment = {"DJANGO_SETTINGS_MODULE": "tests.settings", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.stdout == "[]\n", done.stderr
