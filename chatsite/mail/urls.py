from django.urls import path

from chatsite.mail import pages

urlpatterns = [
    path("", pages.Addresses.as_view(), name="mail-addresses"),
    path("<int:id>/remove/", pages.RemoveAddress.as_view(), name="mail-address-remove"),
    path("<str:token>/", pages.VerifyAddress.as_view(), name="mail-address"),
]
