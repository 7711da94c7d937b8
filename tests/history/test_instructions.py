"""Which sentences of a person are standing instructions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsite.history.instructions import (
    MOST_CHARACTERS,
    MOST_SENTENCES,
    TYPED,
    standing_instructions,
)

ENGLISH = """
Always answer in British English.
Never use emojis.
From now on, write every date as 2026-01-31.
Please always cite your sources.
Use metric units from now on.
Whenever I ask for a recipe, leave out nuts.
Whenever I paste a text, correct its spelling.
In this project, always use tabs.
When I ask about prices, always include taxes.
I'd like you to always explain your reasoning.
You must never mention my employer.
I'm vegetarian, so please never suggest meat.
Don't ever call me Bob.
Remember to always use type hints.
Keep your answers always under 100 words.
Give me always the short version.
From now on you are a strict examiner.
From here on out, answer only with code.
Do not use abbreviations unless I ask for them.
Every time I say a city, tell me its population.
For the rest of this conversation, answer in rhymes.
Important: never delete a comment.
**Always** show the units.
In all your answers, quote the law.
Always double the salt when I ask for a soup.
In future, reply in two sentences.
1. Never round a price.
"""
GERMAN = """
Antworte immer auf Deutsch.
Bitte antworte mir immer auf Englisch.
Verwende nie Emojis.
Ab jetzt sollst du in zwei Sätzen antworten.
Ab jetzt bitte nur noch metrische Einheiten verwenden.
Von nun an antworte in Reimen.
Schreib Zahlen in Tabellen immer mit Komma.
Immer die Quellen nennen.
Niemals Abkürzungen benutzen.
Wenn ich nach Preisen frage, nenne immer die Währung.
Immer wenn ich nach einem Rezept frage, lass die Nüsse weg.
Jedes Mal, wenn ich eine Stadt nenne, sag mir die Einwohnerzahl.
Du sollst mich immer duzen.
Du darfst nie meinen Arbeitgeber erwähnen.
Ich möchte, dass du immer auf Deutsch antwortest.
In Zukunft antworte bitte kürzer.
Bitte immer duzen!
Verwenden Sie bitte stets das Komma.
Antworten Sie ab sofort nur auf Französisch.
Wichtig: Nenne niemals Namen.
Bei Code verwende immer Typen.
Sprich mich ab heute mit Sie an.
Gib mir immer zuerst die kurze Fassung.
Ab sofort bist du ein strenger Prüfer.
Erwähne künftig die Einheit.
Mach auf keinen Fall Witze.
Und rede nie wieder von Fußball.
"""
FRENCH = """
Réponds toujours en français.
Répondez-moi toujours en anglais.
Réponds-moi, s'il te plaît, toujours en deux phrases.
N'utilise jamais d'emojis.
Ne mentionne jamais mon employeur.
À partir de maintenant, réponds en vers.
Désormais, utilise le système métrique.
Dorénavant, écris les dates en toutes lettres.
Utilise le système métrique désormais.
À l'avenir, réponds plus brièvement.
Chaque fois que je te demande une recette, évite les noix.
À chaque fois que je donne une ville, indique sa population.
Quand je te demande un prix, indique toujours la devise.
Tu dois toujours citer tes sources.
Vous devez toujours répondre en français.
Je veux que tu répondes toujours en anglais.
Toujours citer les sources.
Ne jamais utiliser d'abréviations.
Merci de toujours vouvoyer.
Pour le code, utilise toujours des types.
Important : ne donne jamais de noms.
Tutoie-moi à partir de maintenant.
Dans toutes tes réponses, cite la loi.
Mets toujours les unités.
Parle-moi désormais en italien.
Et n'explique jamais le code.
À partir de maintenant, tu es un examinateur sévère.
"""
SPANISH = """
Responde siempre en español.
Respóndeme siempre en inglés.
No uses nunca emojis.
Nunca uses abreviaturas.
Nunca menciones a mi jefe.
Siempre responde con dos frases.
Usa siempre el sistema métrico.
A partir de ahora, responde en verso.
De ahora en adelante, escribe las fechas completas.
De aquí en adelante, usa comas.
En adelante, responde con menos palabras.
Cada vez que te pida una receta, evita las nueces.
Cada vez que mencione una ciudad, indica su población.
Siempre que te pregunte por precios, incluye los impuestos.
Cuando te pregunte por precios, indica siempre la moneda.
Quiero que siempre respondas en español.
Quiero que respondas siempre en inglés.
Debes citar siempre tus fuentes.
Tienes que responder siempre en español.
Por favor, responde siempre con calma.
Siempre citar las fuentes.
En el código, usa siempre tipos.
Importante: no des nunca nombres.
Trátame de usted a partir de ahora.
Llámame Ana desde ahora.
Pon siempre las unidades.
En todas tus respuestas, cita la ley.
"""
NOT_ENGLISH = """
Do you always answer so fast?
Can you always use a hash map here?
Should I always use a mask?
Why do cats always land on their feet?
I always liked the sea.
I never use the car.
She never answers my letters.
My boss always says that I'm late.
We always use metric units at work.
They told me to never use it.
Never give up!
Never say never!
Never mind, let's go on.
Never been there before.
Never heard of it.
Always happy to help.
Always good to talk with you.
Always wanted to go to Rome.
You can always call me.
You are always so kind.
From now on I will get up early.
From now on, we meet on Mondays.
Whenever I ask him, he shrugs.
Whenever I hear this song, I think of you.
Explain why the sum is always even.
Write a story about a girl who never gives up.
Tell me what never changes.
Give me tips to avoid this in the future.
Explain what happens when I send a request.
Just keep going forward.
I bought a bike and never use it.
My teacher said: never use the passive.
"""
NOT_GERMAN = """
Antwortest du immer so schnell?
Kann man immer Butter verwenden?
Warum landen Katzen immer auf den Füßen?
Ich habe das Meer immer gern gemocht.
Ich verwende nie das Auto.
Sie antwortet nie auf meine Briefe.
Mein Chef sagt immer, dass ich spät bin.
Wir verwenden bei der Arbeit immer Meter.
Sag niemals nie!
Gib niemals auf!
Immer wieder schön, von dir zu hören.
Nie wieder Alkohol!
Immer gern.
Noch nie davon gehört.
Ab jetzt werde ich früh aufstehen.
Ab heute arbeite ich in Berlin.
In Zukunft wollen wir uns montags treffen.
Wann immer ich ihn frage, zuckt er mit den Schultern.
Immer wenn ich das Lied höre, denke ich an dich.
Erkläre mir, warum die Summe immer gerade ist.
Schreib eine Geschichte über ein Mädchen, das nie aufgibt.
Nenne mir Länder, die künftig wichtig werden.
In Berlin mache ich immer Sport.
Er hat nie angerufen.
Du bist immer so nett.
Nie antwortest du mir.
Meine Schwester schreibt immer zu viel.
"""
NOT_FRENCH = """
Réponds-tu toujours aussi vite ?
Peut-on toujours utiliser du beurre ?
Pourquoi les chats retombent-ils toujours sur leurs pattes ?
J'ai toujours aimé la mer.
Je n'utilise jamais la voiture.
Elle ne répond jamais à mes lettres.
Mon chef dit toujours que je suis en retard.
Nous utilisons toujours des mètres au travail.
Jamais entendu parler.
Toujours heureux de t'aider.
Toujours aussi beau !
Il ne faut jamais dire jamais.
À partir de maintenant, je me lève tôt.
Désormais, nous nous voyons le lundi.
À l'avenir, je ferai attention.
Chaque fois que j'entends cette chanson, je pense à toi.
Chaque fois que je lui demande, il hausse les épaules.
Explique pourquoi la somme est toujours paire.
Écris une histoire sur une fille qui n'abandonne jamais.
Donne-moi les pays qui n'ont jamais perdu.
Tu es toujours si gentille.
Ils ne viennent jamais.
Ma sœur écrit toujours trop.
On ne sait jamais.
Pas toujours facile.
Comme toujours, il était en retard.
"""
NOT_SPANISH = """
¿Respondes siempre tan rápido?
¿Se puede usar siempre mantequilla?
¿Por qué los gatos caen siempre de pie?
Siempre me gustó el mar.
Yo nunca uso el coche.
Ella nunca responde a mis cartas.
Nunca responde a mis mensajes.
Mi jefe siempre dice que llego tarde.
En el trabajo usamos siempre metros.
Nunca he estado allí.
Siempre es un placer.
Siempre llega tarde.
Nunca digas nunca jamás, decía mi abuela?
A partir de ahora me levanto temprano.
De ahora en adelante nos vemos los lunes.
En el futuro tendré cuidado.
Cada vez que oigo esta canción, pienso en ti.
Cada vez que le pregunto, se encoge de hombros.
Explica por qué la suma es siempre par.
Escribe una historia sobre una chica que nunca se rinde.
Dime qué no cambia nunca.
Siempre has sido muy amable.
Ellos no vienen nunca.
Mi hermana siempre usa el mismo perfume.
Como siempre, llegó tarde.
Nunca se sabe.
"""


def lines(text: str) -> list[str]:
    return text.strip().split("\n")


@pytest.mark.parametrize("said", lines(ENGLISH + GERMAN.strip() + FRENCH + SPANISH.strip()))
def test_an_order_that_is_to_hold_is_an_instruction(said: str) -> None:
    assert standing_instructions(said), said


@pytest.mark.parametrize(
    "said", lines(NOT_ENGLISH + NOT_GERMAN.strip() + NOT_FRENCH + NOT_SPANISH.strip())
)
def test_questions_stories_and_talk_of_others_are_none(said: str) -> None:
    assert standing_instructions(said) == ()


@pytest.mark.parametrize(
    "text",
    [
        "> Always answer in German.",
        "See:\n  > Never use emojis.\nWhat does that mean?",
        "```\nAlways answer in German.\n```",
        "```text\nNever use emojis.",
        "~~~\nNever use emojis.\n~~~",
        'The sign says "Never use this door". Why?',
        'What about "Always use tabs." as a rule?',
        '"Always answer in German."',
        "„Antworte immer auf Deutsch.“",
        "« Réponds toujours en français. »",
        "“Never use emojis.”",
        "'Never use emojis.'",
        "Subject: Rules\nFrom: ada@example.org\n\nAlways answer in German.",
        "Assistant: Always answer in German.",
    ],
)
def test_what_is_quoted_code_or_mailed_is_no_order(text: str) -> None:
    assert standing_instructions(text) == ()


def test_what_is_around_a_quotation_is_an_order_as_it_was_written() -> None:
    text = 'Hi!\n> Never say "hm".\nAlways say "please" to me, e.g. when you ask. What is 2+2?'
    assert standing_instructions(text) == ('Always say "please" to me, e.g. when you ask.',)


def test_each_sentence_is_found_as_it_stands_and_in_order() -> None:
    text = "Thanks. *Always* use metric units!  How far is it?\n\n- Never use “emojis”\n- Hello"
    assert standing_instructions(text) == ("*Always* use metric units!", "- Never use “emojis”")


def test_a_list_of_many_rules_is_a_document() -> None:
    rules = [f"Never use the word number {number}." for number in range(MOST_SENTENCES + 1)]
    assert len(standing_instructions("\n".join(rules[1:]))) == MOST_SENTENCES
    assert standing_instructions("\n".join(rules)) == ()


def test_a_sentence_that_is_too_long_is_none() -> None:
    assert standing_instructions(f"Always use {'very ' * 10}short words.")
    assert standing_instructions(f"Always use {'very ' * MOST_CHARACTERS}short words.") == ()


def test_the_middle_of_a_long_text_was_pasted() -> None:
    rest = "It rains and the boats lie still.\n" * TYPED
    said = "Never use emojis.\n"
    assert standing_instructions(said + rest) == ("Never use emojis.",)
    assert standing_instructions(rest + said) == ("Never use emojis.",)
    assert standing_instructions(rest + said + rest) == ()


WORDS = "always never please for use when immer bitte toujours siempre".split()
MARKS = [
    "from now on",
    "whenever I ask",
    ",",
    ". ",
    "\n",
    '"',
    "'",
    "> ",
    "```",
    "«",
    "From: x\n",
    "ﷺ",
]


@given(st.lists(st.sampled_from(WORDS + MARKS), max_size=12), st.integers(1, 2000))
def test_a_hostile_text_is_read_and_what_is_found_stands_in_it(said: list[str], times: int) -> None:
    """A pattern that tries everything again at each place would take minutes for this."""
    text = (" ".join(said) * times)[:50_000]
    for found in standing_instructions(text):
        assert found in text
        assert len(found) <= MOST_CHARACTERS
