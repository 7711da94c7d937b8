"""The addresses from which an account may write by mail: added, verified by a mailed link."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from typing import Any

from asgiref.sync import async_to_sync
from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.mixins import LoginRequiredMixin
from django.contrib.auth.models import User
from django.core import signing
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse, reverse_lazy
from django.views.generic import FormView, View

from chatsite.channels.channel import Trouble
from chatsite.errors import Refused
from chatsite.limits.table import MAILED_LINKS
from chatsite.mail.account import MailAccount
from chatsite.mail.addresses import (
    add_address,
    addresses_of,
    remove_address,
    verify_address,
)
from chatsite.mail.outgoing.replies import verification
from chatsite.mail.outgoing.sending import Undeliverable, send
from chatsite.web.people import site_of
from chatsite.wording import say

logger = logging.getLogger("chatsite.accounts")
LINK_LASTS = timedelta(days=2)
SALT = "chatsite.mail-address"


def mail_account() -> MailAccount:
    """Gives the account. Raises Http404 if the server reads no mailbox."""
    account = settings.MAIL
    if account is None:
        raise Http404
    return account


class AddressForm(forms.Form):
    address = forms.EmailField(
        max_length=254, widget=forms.EmailInput(attrs={"autocomplete": "email"})
    )

    def clean_address(self) -> str:
        address = str(self.cleaned_data["address"]).lower()
        if not address.isascii() or address == mail_account().address:
            raise forms.ValidationError(say("This address can't be used."))
        return address


class WithMail(LoginRequiredMixin):
    """For people who are signed in, where the server reads a mailbox."""

    request: HttpRequest

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        mail_account()
        return super().dispatch(request, *args, **kwargs)

    @property
    def user(self) -> User:
        user = self.request.user
        assert isinstance(user, User)
        return user


class Addresses(WithMail, FormView):  # type: ignore[type-arg]
    """The list, and the form that adds one and mails its link."""

    form_class = AddressForm
    template_name = "accounts/addresses.html"
    success_url = reverse_lazy("mail-addresses")

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        return super().get_context_data(**context) | {
            "addresses": addresses_of.here(user=self.user.pk),
            "agent_address": mail_account().address,
        }

    def form_valid(self, form: AddressForm) -> HttpResponse:
        address = form.cleaned_data["address"]
        async_to_sync(_count)(self.request, f"user:{self.user.pk}", address)
        try:
            add_address.here(user=self.user.pk, address=address)
            async_to_sync(_mail_link)(self.user, address)
        except Refused as error:
            form.add_error("address", error.message)
            return self.form_invalid(form)
        except (Trouble, Undeliverable) as error:
            logger.error("A link to verify an address can't be mailed: %s", error.message)
            form.add_error("address", say("The mail with the link can't be sent now."))
            return self.form_invalid(form)
        messages.success(
            self.request,
            say("A link is on its way to {address}. Open it within two days.", address=address),
        )
        return super().form_valid(form)


class RemoveAddress(WithMail, View):
    http_method_names = ("post",)

    def post(self, request: HttpRequest, id: int) -> HttpResponse:
        remove_address.here(user=self.user.pk, id=id)
        return redirect("mail-addresses")


class VerifyAddress(WithMail, View):
    """A mailed link, opened by whoever is signed in."""

    http_method_names = ("get", "head")

    def get(self, request: HttpRequest, token: str) -> HttpResponse:
        try:
            self._verify(token)
        except Refused as error:
            return render(request, "accounts/address.html", {"problem": error.message}, status=403)
        messages.success(request, say("Your address is verified. You can write from it now."))
        return redirect("mail-addresses")

    def _verify(self, token: str) -> None:
        try:
            signed = signing.loads(token, salt=SALT, max_age=LINK_LASTS)
        except signing.SignatureExpired:
            raise Refused(say("This link is older than two days. Add the address again.")) from None
        except signing.BadSignature:
            raise Refused(say("This link isn't whole. Open it as it stands in the mail.")) from None
        if signed["user"] != self.user.pk:
            raise Refused(
                say("This link is for another account. Sign in to that one, and open it again.")
            )
        verify_address.here(user=self.user.pk, address=signed["address"])


async def _count(request: HttpRequest, person: str, address: str) -> None:
    """Counts a mailed link: nobody's inbox is filled from here. Raises TooMany."""
    limiter = site_of(request).limiter
    await limiter.take(MAILED_LINKS, person=person)
    await limiter.take(MAILED_LINKS, person=f"mail:{address}")


async def _mail_link(user: User, address: str) -> None:
    """Mails the link that verifies the address. Raises Trouble, Undeliverable."""
    token = signing.dumps({"user": user.pk, "address": address}, salt=SALT)
    account = mail_account()
    data = verification(
        address,
        account=user.get_username(),
        link=f"{account.site}{reverse('mail-address', args=[token])}",
        own=account.address,
        now=datetime.now(UTC),
    )
    await send(account.smtp, data, sender=account.address, to=address)
