"""The application's settings with an environment of their own, not the developer's."""

import os
import re
import tempfile
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parent.parent / ".env.example"
for name in re.findall(r"^#?\s?([A-Z_]+)=", EXAMPLE.read_text(), flags=re.MULTILINE):
    os.environ[name] = ""
os.environ["VAR_DIR"] = tempfile.mkdtemp(prefix="chatsite-test-")
# `python -m tests.postgres` runs tests on PostgreSQL.
os.environ["DATABASE_URL"] = os.environ.get("TEST_DATABASE_URL", "")
os.environ["SECRET_KEY"] = "a key for tests alone: nothing that is signed with it leaves them"
os.environ["CHAT_ENGINE"] = "off"
os.environ["LOCAL_SERVERS"] = "off"
os.environ["TITLES"] = "first_words"

from chatsite.settings import *  # noqa: E402, F403
