"""Django's settings and Chatsite's. A bad value stops the start with its name.

What concerns one feature stands in that feature's `settings`. Importing this module writes nothing:
`startup` makes VAR_DIR.
"""

from __future__ import annotations

import os
import re
import socket
from hashlib import sha256
from importlib.util import find_spec
from ipaddress import ip_network
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from chatsite.accounts.settings import *
from chatsite.cluster.settings import *
from chatsite.conversations.settings import *
from chatsite.conversations.settings import ON_POSTGRESQL
from chatsite.environment import BASE_DIR, choice, flag, folder, number, text
from chatsite.errors import BadSetting
from chatsite.history import ENVIRONMENT_NAMES, resolve
from chatsite.kv_cache.settings import *
from chatsite.mail.settings import *
from chatsite.providers.known.models_file import ModelsFile
from chatsite.providers.known.models_file import read_models_file as read_models
from chatsite.providers.known.servers import ADDRESS, Keys, Server, is_address, server_at
from chatsite.shares.settings import *
from chatsite.talk.settings import *
from chatsite.temporary.settings import *
from chatsite.tools.mcp.config_file import tool_servers

LOCAL_HOSTS = ["localhost", "127.0.0.1", "[::1]"]


def address(name: str) -> str:
    value = text(name)
    if value and not is_address(value):
        # The message doesn't repeat the value: it may hold a password.
        raise BadSetting(f"{name} is not allowed as it is. It is {ADDRESS}.")
    return value


def models_file(name: str) -> ModelsFile:
    """The administrator's servers and models; without a file, the built-in ones."""
    path = text(name)
    if not path:
        return ModelsFile()
    try:
        content = Path(path).expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeError):
        raise BadSetting(f"{name}={path!r} is not a text file that can be read.") from None
    return read_models(content, name=path)


def servers_of(file: ModelsFile) -> dict[str, Server]:
    """Every server by name, each at the address that the environment sets, or at its own."""
    addresses = {name: address(server.address) for name, server in file.servers.items()}
    return {
        name: server_at(server, addresses[name]) if addresses[name] else server
        for name, server in file.servers.items()
    }


def bucket(name: str) -> dict[str, str]:
    """The bucket that the variable names, as S3Storage takes it; nothing where it is blank."""
    if not (url := text(name)):
        return {}
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query))
    options = {"endpoint": "endpoint_url", "region": "region_name"}
    if (
        not (parts.scheme == "s3" and re.fullmatch(r"[a-z0-9.-]{3,63}", parts.netloc))
        or not set(query) <= set(options)
        or not is_address(query.get("endpoint", "https://s3"))
    ):
        # The message doesn't repeat the value: it may hold a password.
        raise BadSetting(
            f"{name} is not allowed as it is. It is "
            "s3://bucket/prefix?endpoint=https://host&region=name; prefix, endpoint and region may "
            "be left out."
        )
    if not (find_spec("storages") and find_spec("boto3")):
        raise BadSetting(
            f"{name} needs the package django-storages[s3], and it isn't there. Install it: "
            "sh scripts/install.sh cluster"
        )
    named = {options[key]: value for key, value in query.items()}
    return {"bucket_name": parts.netloc, "location": parts.path.strip("/"), **named}


def dollars(name: str) -> tuple[float | None, float | None]:
    """US dollars for a message, and for a person in a day; None where nobody set it."""
    value = text(name)
    amount = r"([0-9]{1,6}(?:\.[0-9]{1,6})?)"
    found = re.fullmatch(rf"{amount}(?:\s*,\s*{amount})?", value)
    amounts = [float(one) for one in found.groups() if one] if found else []
    if value and (not amounts or min(amounts) == 0):
        raise BadSetting(
            f"{name}={value!r} is not allowed. It is US dollars above 0: for a message, as 0.05, "
            "or for a message and for a person in a day, as 0.05,2.00"
        )
    per_message, per_day = (*amounts, None, None)[:2]
    return per_message, per_day


def networks(name: str) -> list[str]:
    """Addresses and networks, as `10.0.0.7` or `10.0.0.0/8`, separated by commas or blanks."""
    found = text(name).replace(",", " ").split()
    for one in found:
        try:
            ip_network(one)
        except ValueError:
            raise BadSetting(
                f"{name}={one!r} is not allowed. Name addresses or networks: 10.0.0.7, fd00::/8"
            ) from None
    return found


def cookie_name(name: str) -> str:
    value = text(name)
    if value and not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,39}", value):
        raise BadSetting(
            f"{name}={value!r} is not allowed. It is a letter and up to 39 more letters, digits, _ "
            "and -."
        )
    return value


# ---- folders --------------------------------------------------------------------------------
VAR_DIR = folder("VAR_DIR", BASE_DIR / "var")
FILES_DIR = folder("FILES_DIR", VAR_DIR / "files")
FILES_BUCKET = bucket("FILES_URL")
AGENTS_DIR = folder("AGENTS_DIR", BASE_DIR / "agents")
if not AGENTS_DIR.is_dir():
    raise BadSetting(f"AGENTS_DIR={str(AGENTS_DIR)!r} is not a folder that can be read.")
HOST = text("HOST", "127.0.0.1")
PORT = number("PORT", 8000, low=1, high=65_535)

# ---- safety ----------------------------------------------------------------------------------
DEBUG = flag("DEBUG")
BEHIND_TLS = flag("BEHIND_TLS")
ALLOWED_HOSTS = text("ALLOWED_HOSTS").replace(",", " ").split() or LOCAL_HOSTS
for allowed in ALLOWED_HOSTS:
    if "*" in allowed or "/" in allowed:
        raise BadSetting(
            f"ALLOWED_HOSTS={allowed!r} is not allowed. Name hosts, separated by commas: "
            "chat.example.org"
        )
if DEBUG and not set(ALLOWED_HOSTS) <= set(LOCAL_HOSTS):
    raise BadSetting("DEBUG=true is only allowed while ALLOWED_HOSTS names this machine alone.")
SECRET_KEY = text("SECRET_KEY")  # where it is blank, `startup` loads it from the file
if ON_POSTGRESQL and not SECRET_KEY:
    raise BadSetting("DATABASE_URL needs a SECRET_KEY, the same for every server of the database.")
SECRET_KEY_FILE = None if SECRET_KEY else VAR_DIR / "secret_key"
DEBUG_PANEL = choice("DEBUG_PANEL", "everyone", ("everyone", "staff", "off"))
MAX_ANSWERS = number("MAX_ANSWERS", 200, low=1, high=100_000)
MAX_ANSWERS_PER_OWNER = number("MAX_ANSWERS_PER_OWNER", 3, low=1, high=1_000)
MAX_FRAME_BYTES = 64 * 1024
LIMITS_FACTOR = number("LIMITS_FACTOR", 1, low=1, high=100_000)
PEOPLE_PER_ADDRESS = number("PEOPLE_PER_ADDRESS", 10, low=1, high=100_000)
TRUSTED_PROXIES = networks("TRUSTED_PROXIES")
WORDS_QUOTA_MILLION = number("WORDS_QUOTA_MILLION", 200, low=1, high=1_000_000)
FILES_QUOTA_MB = number("FILES_QUOTA_MB", 500, low=1, high=1_000_000)

# `startup` names the cookies, from VAR_DIR where this is blank.
COOKIE_NAME = cookie_name("COOKIE_NAME")
SESSION_COOKIE_NAME = COOKIE_NAME or "chatsite"
CSRF_COOKIE_NAME = f"{SESSION_COOKIE_NAME}_csrf"
LANGUAGE_COOKIE_NAME = f"{SESSION_COOKIE_NAME}_language"
# In the session: Django's cookie `messages` would be every project's on this host.
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = BEHIND_TLS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if BEHIND_TLS else None
# Subdomains and the browsers' preload list concern a whole domain, and can hardly be taken back.
HSTS = choice("HSTS", "host", ("off", "host", "subdomains", "preload"))
SECURE_HSTS_SECONDS = 31_536_000 if BEHIND_TLS and HSTS != "off" else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = HSTS in ("subdomains", "preload")
SECURE_HSTS_PRELOAD = HSTS == "preload"
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SESSION_COOKIE_AGE = 365 * 24 * 3600
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "worker-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:", "blob:"],
        "font-src": ["'self'"],
        "connect-src": ["'self'"],
        "frame-src": ["'self'"],
        "manifest-src": ["'self'"],
        "frame-ancestors": ["'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'self'"],
    }
}

# ---- models ----------------------------------------------------------------------------------
CHAT_ENGINE = choice("CHAT_ENGINE", "auto", ("auto", "off"))
CHAT_MODEL_PATH = text("CHAT_MODEL_PATH") and folder("CHAT_MODEL_PATH", BASE_DIR)
if CHAT_MODEL_PATH and not CHAT_MODEL_PATH.is_file():
    raise BadSetting(f"CHAT_MODEL_PATH={str(CHAT_MODEL_PATH)!r} is not a file. It is a GGUF file.")
KV_SESSIONS_DIR = VAR_DIR / "kv"
# Where several machines share a database: whose a row of a saved file is. It outlasts a start.
_FOLDER = f"{socket.gethostname()}:{KV_SESSIONS_DIR}"
KV_MACHINE = f"{sha256(_FOLDER.encode()).hexdigest()[:9]}:" if ON_POSTGRESQL else ""
MODELS = models_file("MODELS_FILE")
MODEL_SERVERS = servers_of(MODELS)
API_KEYS = Keys({server.key: text(server.key) for server in MODEL_SERVERS.values() if server.key})
# The servers that can be asked: configured by somebody, and with their key where they need one.
# Servers on this machine that nobody configured are discovered at run time (LOCAL_SERVERS).
MODEL_SERVERS_READY = frozenset(
    name
    for name, server in MODEL_SERVERS.items()
    if server.key in API_KEYS or text(server.address) or (name in MODELS.own and not server.key)
)
CHAT_MODEL = text("CHAT_MODEL")
WARN_COST = dollars("WARN_COST")
FAST_MODEL = text("FAST_MODEL")
TITLES = choice("TITLES", "model", ("model", "first_words"))
MODEL_CHOICE = choice("MODEL_CHOICE", "everyone", ("everyone", "staff", "off"))
LOCAL_SERVERS = choice("LOCAL_SERVERS", "on", ("on", "off")) == "on"
CONNECT_SECONDS = number("CONNECT_SECONDS", 5, low=1, high=600)
FIRST_TOKEN_SECONDS = number("FIRST_TOKEN_SECONDS", 30, low=1, high=3_600)
BETWEEN_TOKENS_SECONDS = number("BETWEEN_TOKENS_SECONDS", 20, low=1, high=3_600)

# ---- tools -----------------------------------------------------------------------------------
TOOLS_FILE = text("TOOLS_FILE") and folder("TOOLS_FILE", BASE_DIR)
TOOL_SERVERS = tool_servers(TOOLS_FILE, environment=os.environ) if TOOLS_FILE else ()
TOOL_SECONDS = number("TOOL_SECONDS", 30, low=1, high=600)

# ---- other ways to an agent than the page ------------------------------------------------------
# What `${NAME}` in such a file stands for. No repr shows the values.
FILE_VARIABLES = Keys(os.environ)

# ---- history: copied once, checked by resolving it --------------------------------------------
HISTORY_ENVIRONMENT = {name: os.environ[name] for name in ENVIRONMENT_NAMES if name in os.environ}
HISTORY_UNKNOWN = sorted(
    name
    for name in os.environ
    if name.startswith(("HISTORY_", "CONVERSATION_")) and name not in ENVIRONMENT_NAMES
)
resolve(environment=HISTORY_ENVIRONMENT, url={}, template={})

# ---- Django ----------------------------------------------------------------------------------
ROOT_URLCONF = "chatsite.urls"
ASGI_APPLICATION = "chatsite.asgi.application"
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "chatsite.web.apps.WebConfig",  # its `runserver` counts, not that of staticfiles
    "django.contrib.staticfiles",
    "csp",
    "channels",
    "chatsite.conversations.apps.ConversationsConfig",
    "chatsite.accounts.apps.AccountsConfig",
    "chatsite.kv_cache.apps.KvCacheConfig",
    "chatsite.mail",
    "chatsite.shares",
    "chatsite.own_agents.apps.OwnAgentsConfig",
    "chatsite.talk",
    "chatsite.temporary.apps.TemporaryConfig",
    "chatsite.prompts.apps.PromptsConfig",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "chatsite.web.server.static_files.StaticFiles",
    "chatsite.web.server.responses.Compression",
    "chatsite.web.server.responses.Private",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "chatsite.web.server.requests.PersonLimits",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
# The first one delays guesses, and knows nobody.
AUTHENTICATION_BACKENDS = [
    "chatsite.accounts.gate.Gate",
    "django.contrib.auth.backends.ModelBackend",
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = LOGOUT_REDIRECT_URL = "chat"
# Who asks for no language that exists, in a browser or by mail, gets this one.
LANGUAGE_CODE = choice("LANGUAGE", "en", ("en", "de", "fr", "es"))
# The English texts are in the code: another language is a catalogue under LOCALE_PATHS and a line.
LANGUAGES = [("en", "English"), ("de", "Deutsch"), ("fr", "Français"), ("es", "Español")]
LOCALE_PATHS = [BASE_DIR / "locale"]
TIME_ZONE = "UTC"
USE_TZ = True
STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = VAR_DIR / "static"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "chatsite.web.server.static_files.HashedFiles"},
}
WHITENOISE_MIMETYPES = {".webmanifest": "application/manifest+json"}
WHITENOISE_ALLOW_ALL_ORIGINS = False
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {message}", "style": "{"}},
    # Of a handler: a logger's filters don't apply to the loggers below it (django.security.*).
    "filters": {
        "one_line": {"()": "chatsite.web.server.responses.OneLine"},
        "no_tokens": {"()": "chatsite.shares.strangers.NoTokens"},
    },
    "handlers": {
        "console": {
            "class": "logging.StreamHandler",
            "formatter": "line",
            "filters": ["one_line", "no_tokens"],
        }
    },
    "root": {"handlers": ["console"], "level": "WARNING"},
    "loggers": {
        "chatsite": {"level": "INFO"},
        "chatsite.history": {"level": "INFO" if DEBUG else "WARNING"},
        # A request for another host gets a 400; a traceback for each would fill the log.
        "django.security.DisallowedHost": {"level": "CRITICAL"},
        # So does one that would be sent on to an address of more than 2,048 characters.
        "django.security.DisallowedRedirect": {"level": "CRITICAL"},
        # Its tracebacks quote tool servers' output; our own log line says what is wrong.
        "mcp": {"level": "CRITICAL"},
        "client": {"level": "CRITICAL"},
    },
}
