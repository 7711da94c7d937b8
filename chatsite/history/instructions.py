"""Standing instructions in a person's message ("always ...", "from now on ..."), found without a
model, in English, German, French and Spanish.

A sentence is one by its form: an order with "always" or "never", "from now on" or "whenever I ask"
beside an order. Questions, stories and remarks about others have other forms. The verbs are those
that one asks a writer for: "Never give up!" is no instruction. What is quoted, code or a pasted
mail is nobody's order.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache

MOST_CHARACTERS = 300  # of a sentence; where people instruct an assistant, it has 60 to 100
MOST_SENTENCES = 20  # more are a document, and nothing of it is offered
TYPED = 2000  # of a longer text the ends are read, so many characters each: people paste the rest

# A sentence without any of these is none; looking for them takes microseconds.
_CUES = (
    "alway|never|not ever|n't ever|no account|circumstances|from now|from here|from this|henceforth"
    "|until|unless|for this|of this|all times|in all|in every|future|forward|whenever|ery time"
    "|ach time|immer|stets|nie|jedes|keinen|ab jetzt|ab sofort|ab nun|ab heute|t an|n an|fortan|bis"
    " |fur dies|kunft|toujours|jamais|fois|aucun cas|desormais|dorenavant|a partir|jusqu|toutes"
    "|l'avenir|siempre|nunca|ningun|adelante|ahora|sucesivo|hasta|todas tus|conversacion|cada vez"
).split("|")

# Parts of patterns, without accents. `always` stands next to an order, `between` before it;
# `henceforth` anywhere beside an order. A clause that `place` begins may come first.
_WORDS = {
    "en": r"""
lead: and|but|also|so|ok(?:ay)?|thanks|thank you|well|yes|no|hi|hello|now|just|rule|important|\d+
  |(?:note|remember|try|make sure|be sure)(?: to| that you| you)?|reminder|please|pls|kindly
order: (?:(?:do not|don't) )?(?:add|address|answer|ask|assume|avoid|begin|call|check|cite|comment
  |confirm|consider|convert|correct|delete|explain|flag|follow|format|give(?! up)|highlight
  |ignore|include|keep(?! \w+ing)|leave|limit|list|make|mark|mention|name|omit|output|prefer|provide
  |put|quote|refer|remind|repeat|reply|report|respond|return|round|say(?! never)|send|show|skip|sort
  |speak|specify|spell|start|state|stick|stop \w+ing|suggest|summari[sz]e|talk|tell|translate|treat
  |use|verify|warn|wrap|write|be (?:brief|concise|honest|polite|short|direct|precise))
between: (?:\W+(?:me|us|it|them|(?:your|the|all) (?:answers?|repl(?:y|ies)|responses?)))?
always: always|never(?: ever)?|(?:do not|don't) ever|under no circumstances|on no account
  |in (?:the )?future|going forward
wish: (?:i (?:want|need|expect|would like|would prefer)|i'd (?:like|prefer))(?: it if)? you(?: to)?
  |you (?:should|must|have to|need to|are(?: to)?|shall|will)|(?:all )?your \w+ (?:should|must)
henceforth: from now on(?:wards?)?|from here on(?: out)?|from this \w+ (?:on|onwards?|forward)
  |henceforth|until (?:i (?:say|tell)|told|further notice)|unless i (?:say|ask|tell)|at all times
  |for (?:the rest of )?(?:this|our) (?:chat|conversation)|in (?:all|every)(?: of)? your \w+
whenever: whenever|every ?time|each time
asks: i (?:ask|say|tell you|type|mention|request|send you|show you|give you|paste)
place: for|in|when|whenever|while|if|with|as|on|unless|during|regarding|about
""",
    "de": r"""
lead: und|aber|also|ok(?:ay)?|danke|ja|nein|hallo|gut|wichtig|hinweis|merk dir|ausserdem|regel|bitte
  |denk(?:e|en sie)? daran|\d+
order: (?:antwort|verwend|benutz|nutz|schreib|zeig|nenn|erklar|mach|formulier|fug|stell|acht|vermeid
  |ubersetz|duz|siez|frag|pruf|begrund|zitier|beginn|erwahn|setz|rechn|rund|halt|fass|lass|red|sprech
  |nehm)(?:en?|n)?|sprich|nimm|sag(?:en?)?(?! niemals nie)|g[ie]b(?:en?)?(?! nie)
between: (?:\s+(?!ich\b|wir\b|er\b|man\b)[^\s,.;:!?]+){0,4}?
always: immer|stets|nie(?:mals)?(?: mehr)?|nie wieder|jedes ?mal|auf keinen fall|(?:zu)?kunftig
  |in zukunft
wish: du (?:sollst|musst|solltest|darfst|bist|wirst)|(?:sollst|musst|bist|wirst) du
  |(?:ich )?(?:will|mochte|erwarte|wunsche mir)(?: ich)?\W+dass (?:du|sie)
henceforth: ab (?:jetzt|sofort|nun|heute)|von (?:nun|jetzt|heute) an|fortan|bis auf w\w+
  |bis ich \w+ sage|in (?:allen|jeder) (?:d|ihr)eine[nr] \w+|fur (?:dieses gesprach|diesen chat)
whenever: wann immer|jedes ?mal\W+wenn|immer\W+wenn
asks: ich\b[^,]*\b(?:frage|bitte|sage|schreibe|schicke|sende|zeige|erwahne|nenne|eingebe)
place: bei|beim|in|fur|wenn|falls|zu|mit
""",
    "fr": r"""
lead: et|mais|aussi|donc|ok|oui|non|bonjour|salut|important|rappel|regle|attention|ne|n|\d+|pense a
  |note(?: que)?|s'il (?:te|vous) plait|stp|svp|veuillez|merci(?: de)?
order: (?:utilis|donn|montr|expliqu|indiqu|precis|ajout|cit|commenc|redig|appell?|parl|evit|verifi
  |propos|present|mentionn|resum|corrig|demand|rappel|signal|emplo[iy]|tuto[iy]|vouvo[iy]|repond|ecriv
  |inclu|adress)(?:es?|e[rz]|s|re|)|reponds|ecri(?:s|re)|di(?:s|tes|re)|met(?:s|tez|tre)
  |fai(?:s|tes|re)|tradui(?:s|sez|re)
between: (?:\W+(?:moi|nous|le|la|les|lui|bien|s'il (?:te|vous) plait|stp|svp)){0,2}
always: toujours|jamais|a chaque fois|en aucun cas|a l'avenir|desormais|dorenavant
wish: tu d(?:ois|evras|evrais)|vous dev(?:ez|rez|riez)|tu (?:es|seras)|vous (?:etes|serez)
  |(?:je (?:veux|voudrais|souhaite)|j'aimerais) que (?:tu|vous)(?: ne?)?
henceforth: a partir de (?:maintenant|ce moment)|jusqu'a nouvel ordre|jusqu'a ce que je
  |dans toutes (?:tes|vos) \w+|(?:desormais|dorenavant)\W*$
whenever: (?:a )?chaque fois que|toutes les fois que
asks: (?:je (?:te |vous )?|j'|je t')(?:demande|dis|parle|ecris|envoie|pose|donne|mentionne)
place: pour|dans|quand|lorsque|si|en|avec
""",
    "es": r"""
lead: y|pero|tambien|ok|vale|gracias|si|no|hola|nota|importante|recuerda|ademas|regla|\d+|por favor
order: (?<!nunca )(?<!jamas )(?:(?:contest|us|utiliz|muestr|explic|indic|cit|empiez|tute|llam|habl
  |evit|verific|mencion|pregunt|redact|trat|d)a|(?:respond|escrib|traduc|incluy|resum|anad)e|di|pon
  |haz|manten)(?:me|lo)?|(?:contest|us|utilic|muestr|expliqu|indiqu|cit|tute|llam|habl|evit|mencion
  |pregunt|redact|trat|d)es|(?:respond|escrib|traduzc|incluy|resum|anad|dig|pong|hag)as|(?:contest
  |us|utiliz|mostr|explic|indic|cit|tute|habl|evit|mencion|respond|escrib|traduc|inclu)[aei]r(?:me)?
between: (?:\W+por favor)?
always: siempre|nunca|jamas|en ningun caso|en (?:el )?futuro|en adelante
wish: debes|tienes que|(?:quiero|quisiera|me gustaria|prefiero|necesito) que(?: me)?(?: no)?|tu eres
henceforth: a partir de (?:ahora|este momento|hoy)|de (?:ahora|aqui) en (?:adelante|mas)|desde ahora
  |en lo sucesivo|hasta nuevo aviso|hasta que te diga|en todas tus \w+|en esta conversacion
whenever: cada vez que|siempre que
asks: (?:te |le )?(?:pregunt|pid|dig|escrib|envi|mencion|habl)[aeo]
place: para|en|cuando|si|con|al
""",
}
_HEADER = r"^(?:from|to|cc|date|sent|subject|von|an|datum|betreff|de|objet|para|asunto) ?:.*\n"
# Code to its end, quoted lines, a mail from two lines of its head on, and what quotes enclose.
_NOT_OWN = re.compile(
    r"^[ \t]*(?P<fence>```|~~~)(?s:.*?)(?:^[ \t]*(?P=fence)|\Z)|^[ \t]*>.*"
    rf"|(?:{_HEADER}){{2}}(?s:.*)|[\"“”„][^\"“”„\n]{{1,999}}[\"“”]|[«»][^«»\n]{{1,999}}[«»]"
    r"|(?<!\w)['‘‚][^'‘’‚\n]{1,999}['’‘](?!\w)",
    re.MULTILINE | re.IGNORECASE,
)
_BREAK = re.compile(r"(?<=[.!?…])(?<!\b[ezi]\.[gbe]\.)\s+|\n+")


def standing_instructions(text: str) -> tuple[str, ...]:
    """The sentences of a person's own words that say what is to hold, as they stand there."""
    gap = max(0, len(text) - 2 * TYPED)
    if not _has_cue(_folded(text[:TYPED] + text[TYPED + gap :])):
        return ()
    own = _NOT_OWN.sub(lambda found: re.sub(r"[^\n]", "\0", found[0]), text)
    own = own[:TYPED] + "\n" * gap + own[TYPED + gap :]
    spans = [(begin, end) for begin, end in _sentences(own) if _instructs(own[begin:end])]
    few = len(spans) <= MOST_SENTENCES
    return tuple(text[begin:end].strip() for begin, end in spans if few)


def _sentences(own: str) -> Iterator[tuple[int, int]]:
    begin = 0
    for found in _BREAK.finditer(own):
        yield begin, found.start()
        begin = found.end()
    yield begin, len(own)


def _instructs(sentence: str) -> bool:
    said = _folded(sentence.strip())
    if len(said) > MOST_CHARACTERS or not _has_cue(said) or "?" in said[-3:]:
        return False
    return any(_form(language).match(said) for language in _WORDS)


def _folded(text: str) -> str:
    """In small letters, without accents and emphasis, with one kind of apostrophe."""
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text.replace("’", "'"))
        text = "".join(letter for letter in text if not unicodedata.combining(letter))
    return text.casefold().replace("*", "")


def _has_cue(said: str) -> bool:
    return any(cue in said for cue in _CUES)


@cache
def _form(language: str) -> re.Pattern[str]:
    found = re.findall(r"^(\w+): (.*(?:\n  .*)*)", _WORDS[language], re.MULTILINE)
    part = {name: "(?:" + words.replace("\n  ", "") + ")" for name, words in found}
    order, always, lead = part["order"] + r"\b", part["always"] + r"\b", rf"(?:{part['lead']}\W+)*"
    asked, wish = rf"(?:{order}|{part['wish']}\b)", rf"(?:{part['wish']}\W+)?"
    place = rf"(?:{part['place']}\b(?:[^,]*,|(?:\W+\w+){{1,4}}?)\W*{lead})?"
    whenever = rf"{part['whenever']}\W+{part['asks']}\b"
    first = rf"(?:{part['henceforth']}\b|{always}|{whenever}[^,:]*[,:])"
    forms = [
        rf"{place}{wish}{first}\W*{lead}{place}(?:{always}\W+)?{asked}",
        rf"{place}{wish}{order}{part['between']}\W+{always}",
        rf"{place}{asked}.*\b(?:{part['henceforth']}|{whenever})",
        rf"{always}\W+\w+(?<!ed)\b.*\b(?:{part['whenever']}|{part['place']})\W+{part['asks']}\b",
    ]
    if language == "de":  # where the verb stands last
        wishing = rf"(?:{part['wish']}\b[^,]*?\W+)?"
        forms.append(rf"{wishing}{first}[^,]*\b{part['order']}(?:e?st)?\W*$")
    return re.compile(rf"\W*(?:.*\b(?:please|bitte)\W+)?{lead}(?:{'|'.join(forms)})")
