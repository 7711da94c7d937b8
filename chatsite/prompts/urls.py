from django.urls import path

from chatsite.prompts import pages

urlpatterns = [
    path("prompts", pages.prompts, name="prompts"),
    path("prompts/<uuid:id>", pages.prompt, name="prompt"),
]
