"""Signing up, and the page of one's own account: password, data, deletion."""

from __future__ import annotations

from typing import Any

from asgiref.sync import async_to_sync
from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login, logout
from django.contrib.auth.forms import PasswordChangeForm, UserCreationForm
from django.contrib.auth.mixins import LoginRequiredMixin
from django.contrib.auth.models import User
from django.contrib.auth.views import PasswordChangeView, RedirectURLMixin
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse_lazy
from django.views.generic import FormView, TemplateView

from chatsite.accounts.gate import CHECKS, count_new_password, is_own_password
from chatsite.accounts.removal import release_piece, remove_account
from chatsite.conversations.owners import Owner
from chatsite.conversations.path.queries import list_conversations
from chatsite.web.people import site_of
from chatsite.wiring.features import FEATURES
from chatsite.wiring.site import Site
from chatsite.wording import later, say


async def delete_account(site: Site, user: int) -> None:
    """Hide everything at once; the next purge, within the hour, removes it from the disk. The
    account's sockets end because the account is gone."""
    site.turns.running.stop_all(Owner(user=user).key)
    while ids := await release_piece(user=user):
        for id in ids:
            site.recaller.forget(id)
            site.cache.forget(id)
    await remove_account(user=user)


# Of a guest's chats, which somebody else may have begun in this browser.
SHOWN_TITLES = 5
WRONG = later("This isn't your password.")


class SignUp(RedirectURLMixin, FormView):  # type: ignore[type-arg]
    """Makes an account where SIGNUP allows it; otherwise an administrator makes them. Then the page
    goes on where the person came from (`next`, of this site only)."""

    form_class = UserCreationForm
    template_name = "accounts/signup.html"
    next_page = "chat"

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not settings.SIGNUP:
            raise Http404
        return super().dispatch(request, *args, **kwargs)

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        guest = self.request.session.get("guest", "")
        conversations = list_conversations.here(owner=Owner(guest=guest))[0] if guest else ()
        titles = [one.title for one in conversations]
        chats = {"titles": titles[:SHOWN_TITLES], "more": len(titles) > SHOWN_TITLES}
        return super().get_context_data(**context) | chats | {"next": self.get_redirect_url()}

    def form_valid(self, form: UserCreationForm[User]) -> HttpResponse:
        count_new_password(self.request)
        login(self.request, form.save(), backend=CHECKS)
        return super().form_valid(form)


class AccountPage(TemplateView):
    """Shows what a person can do with an account, or a guest with what this browser has stored."""

    template_name = "accounts/account.html"
    http_method_names = ("get", "head")
    extra_context = {
        "signup": settings.SIGNUP,
        "guest_days": settings.GUEST_DAYS,
        "sections": [one.account_section for one in FEATURES if one.account_section],
    }


class PasswordForm(PasswordChangeForm):
    def __init__(self, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.request = request

    def clean_old_password(self) -> str:
        password: str = self.cleaned_data["old_password"]
        if not is_own_password(self.request, password):
            raise forms.ValidationError(say(WRONG))
        return password


class ChangePassword(PasswordChangeView):
    """Changes the password. This session goes on, all others of the account end."""

    form_class = PasswordForm
    template_name = "accounts/password.html"
    success_url = reverse_lazy("account")

    def get_form_kwargs(self) -> dict[str, Any]:
        return super().get_form_kwargs() | {"request": self.request}

    def form_valid(self, form: Any) -> HttpResponse:
        messages.success(
            self.request, say("Your password is changed. Your other browsers were signed out.")
        )
        return super().form_valid(form)


class DeletionForm(forms.Form):
    password = forms.CharField(
        strip=False, widget=forms.PasswordInput(attrs={"autocomplete": "current-password"})
    )

    def __init__(self, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.request = request

    def clean_password(self) -> None:
        if not is_own_password(self.request, self.cleaned_data["password"]):
            raise forms.ValidationError(say(WRONG))


class DeleteAccount(LoginRequiredMixin, FormView):  # type: ignore[type-arg]
    """Deletes the account at once, and for good: there is no way back."""

    form_class = DeletionForm
    template_name = "accounts/delete.html"
    success_url = reverse_lazy("account")

    def get_form_kwargs(self) -> dict[str, Any]:
        return super().get_form_kwargs() | {"request": self.request}

    def form_valid(self, form: DeletionForm) -> HttpResponse:
        user = self.request.user
        assert isinstance(user, User)
        async_to_sync(delete_account)(site_of(self.request), user.pk)
        logout(self.request)
        messages.success(
            self.request,
            say("Your account is deleted. What it had is removed from the disk within an hour."),
        )
        return super().form_valid(form)
