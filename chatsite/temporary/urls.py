from django.urls import path

from chatsite.temporary import pages

urlpatterns = [
    path("close", pages.close, name="close"),
    path("keep", pages.keep, name="keep"),
]
