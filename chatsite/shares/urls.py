from django.urls import path

from chatsite.shares import pages

FILE = "shared/<str:token>/files/<int:seq>-<int:number>"
urlpatterns = [
    path("conversations/<uuid:id>/shares", pages.shares, name="shares"),
    path("shares/<uuid:id>", pages.share, name="share"),
    path("shared/<str:token>", pages.shared, name="shared"),
    path(FILE, pages.shared_upload, name="shared-file"),
]
