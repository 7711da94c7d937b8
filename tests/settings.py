"""The application's settings with an environment of their own, not the developer's."""

import os
import re
import tempfile
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parent.parent / ".env.example"
for name in re.findall(r"^#?\s?([A-Z_]+)=", EXAMPLE.read_text(), flags=re.MULTILINE):
    os.environ[name] = ""
os.environ["VAR_DIR"] = tempfile.mkdtemp(prefix="chatsite-test-")
os.environ["CHAT_ENGINE"] = "off"
os.environ["LOCAL_SERVERS"] = "off"

from chatsite.settings import *  # noqa: E402, F403

SECRET_KEY = "a key for tests alone: nothing that is signed with it leaves them"
SECRET_KEY_FILE = None
