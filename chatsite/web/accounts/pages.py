"""Signing up."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.forms import UserCreationForm
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse_lazy
from django.views.generic import FormView

from chatsite.web.accounts.gate import CHECKS, count_new_password


class SignUp(FormView):  # type: ignore[type-arg]
    """Only with SIGNUP=true; otherwise accounts are made by an administrator."""

    form_class = UserCreationForm
    template_name = "accounts/signup.html"
    success_url = reverse_lazy("chat")

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not settings.SIGNUP:
            raise Http404
        return super().dispatch(request, *args, **kwargs)

    def form_valid(self, form: UserCreationForm[User]) -> HttpResponse:
        count_new_password(self.request)
        login(self.request, form.save(), backend=CHECKS)
        return super().form_valid(form)
