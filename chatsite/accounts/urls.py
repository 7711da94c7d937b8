from django.conf import settings
from django.contrib.auth.views import LoginView, LogoutView
from django.urls import path

from chatsite.accounts import pages
from chatsite.accounts.export import export_all

login = LoginView.as_view(
    template_name="accounts/login.html",
    redirect_authenticated_user=True,
    extra_context={"signup": settings.SIGNUP},
)

urlpatterns = [
    path("", pages.AccountPage.as_view(), name="account"),
    path("login/", login, name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("password/", pages.ChangePassword.as_view(), name="password"),
    path("export/", export_all, name="account-export"),
    path("delete/", pages.DeleteAccount.as_view(), name="account-delete"),
    path("signup/", pages.SignUp.as_view(), name="signup"),
]
