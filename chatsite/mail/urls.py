from django.urls import path
from django.views.generic import RedirectView

from chatsite.mail import pages

# The administration's list of mails stood there before mail had tables of its own.
to_list = RedirectView.as_view(
    pattern_name="admin:mail_mail_changelist", http_method_names=["get", "head"]
)

urlpatterns = [
    path("accounts/mail/", pages.Addresses.as_view(), name="mail-addresses"),
    path(
        "accounts/mail/<int:id>/remove/",
        pages.RemoveAddress.as_view(),
        name="mail-address-remove",
    ),
    path("accounts/mail/<str:token>/", pages.VerifyAddress.as_view(), name="mail-address"),
    path("admin/conversations/mail/", to_list, name="admin-mails"),
]
