"""The language of a request or a socket: the one that was chosen in the page, else the first one
that the browser asks for and that exists.

Everything that runs for a request inherits the choice with its context, tasks and threads too.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from django.conf import settings
from django.http import parse_cookie
from django.utils import translation
from django.utils.translation.trans_real import DjangoTranslation, parse_accept_lang_header
from django.utils.translation.trans_real import translation as catalogue_of
from django.views.i18n import JavaScriptCatalog

from chatsite.asgi_types import Front, Receive, Scope, Send, header
from chatsite.wording import ENGLISH, TRANSLATE, Translator


@cache
def translator(language: str) -> Translator:
    """English texts as they are, others by their catalogue. Django's own functions look for the
    language of their thread or task with each text, which takes 3 us."""
    if language == "en":
        return ENGLISH
    catalogue = catalogue_of(language)
    return Translator(catalogue.gettext, catalogue.ngettext, lambda: language)


class Languages(Front):
    """An ASGI application in front of all others."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        chosen = parse_cookie(header(scope, b"cookie")).get(settings.LANGUAGE_COOKIE_NAME, "")
        speak(chosen if is_spoken(chosen) else language_of(header(scope, b"accept-language")))
        await self._app(scope, receive, send)


def speak(language: str) -> None:
    """Make it the language of this task: of templates, of Django's own texts and of `say`."""
    translation.activate(language)
    TRANSLATE.set(translator(language))


def is_spoken(language: str) -> bool:
    return language in dict(settings.LANGUAGES)


def language_of(accepted: str) -> str:
    """Chooses one of LANGUAGES by a header in the form of Accept-Language, or LANGUAGE_CODE."""
    for wanted, _ in parse_accept_lang_header(accepted):
        try:
            return translation.get_supported_language_variant(wanted)
        except LookupError:
            continue
    return settings.LANGUAGE_CODE


@cache
def page_catalogue(language: str) -> dict[str, Any]:
    """Gives the translations of the page's modules by their English texts; none for English."""
    if language == "en":
        return {}
    view = JavaScriptCatalog()
    view.translation = DjangoTranslation(
        language, domain="djangojs", localedirs=[str(path) for path in settings.LOCALE_PATHS]
    )
    found: dict[str, Any] = view.get_catalog()
    return found
