"""Standing instructions in a person's message ("always ...", "from now on ..."), found without a
model, in English, German, French and Spanish.

A sentence is one by its form: an order with "always" or "never", "from now on" or "whenever I ask"
beside an order. Questions, stories and remarks about others have other forms. The verbs are those
that one asks a writer for: "Never give up!" is no instruction.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

MOST_CHARACTERS = 300  # of a sentence; where people instruct an assistant, it has 60 to 100
MOST_SENTENCES = 20  # more are a document, and nothing of it is offered
TYPED = 2000  # of a longer text the ends are read, so many characters each: people paste the rest

# A text without any of these has none; looking for them takes microseconds.
_CUES = (
    "alway|never|not ever|n't ever|circumstances|from now|from here|from this|until|unless|for this"
    "|of this|all times|in all|in every|future|forward|whenever|ery time|ach time|immer|stets|nie"
    "|jedes|keinen|ab j|ab s|ab n|ab h|von |bis|fur d|kunft|toujours|jamais|fois|desormais"
    "|dorenavant|a partir|jusqu|toutes|todas tus|avenir|siempre|nunca|adelante|ahora|cada vez"
).split("|")
# Parts of patterns, without accents. `always` stands next to an order, `between` before it;
# `henceforth` anywhere beside an order. A clause that `place` begins may come first.
_WORDS = {
    "en": r"""
lead: and|but|also|so|ok|thanks|hi|now|just|important|please|\d+|(?:note|remember|make sure)(?: to)?
order: (?:(?:do not|don't) )?(?:add|address|answer|ask|avoid|begin|call|check|cite|correct|delete
  |explain|format|give(?! up)|ignore|include|keep(?! \w+ing)|leave|list|make|mention|name|output|put
  |quote|remind|reply|respond|round|say(?! never)|show|start|suggest|tell|translate|use|write)
between: (?:\W+(?:me|us|it|them|(?:your|the|all) (?:answers?|repl(?:y|ies)|responses?)))?
always: always|never(?: ever)?|(?:do not|don't) ever|under no circumstances|in future|going forward
wish: (?:i (?:want|need|expect|would like)|i'd like) you(?: to)?|(?:all )?your \w+ (?:should|must)
  |you (?:should|must|have to|are(?: to)?|will)
henceforth: from now on(?:wards?)?|from here on(?: out)?|from this \w+ (?:on|forward)|at all times
  |until (?:i (?:say|tell)|told|further notice)|unless i (?:say|ask|tell)|in (?:all|every) your \w+
  |for (?:the rest of )?(?:this|our) (?:chat|conversation)
whenever: whenever|every ?time|each time
asks: i (?:ask|say|tell you|type|mention|request|send you|show you|give you|paste)
place: for|in|when|whenever|while|if|with|as|on|unless|during|regarding|about
""",
    "de": r"""
lead: und|aber|also|ok(?:ay)?|danke|ja|nein|hallo|wichtig|hinweis|regel|bitte|denk daran|\d+
order: (?:antwort|verwend|benutz|schreib|zeig|nenn|erklar|mach|vermeid|ubersetz|duz|siez|zitier
  |erwahn|halt|lass|red|sprech)(?:en?|n)?|sprich|sag(?:en?)?(?! niemals nie)|g[ie]b(?:en?)?(?! nie)
between: (?:\s+(?!ich\b|wir\b|er\b|man\b)[^\s,.;:!?]+){0,4}?
always: immer|stets|nie(?:mals)?(?: mehr| wieder)?|jedes ?mal|auf keinen fall|kunftig|in zukunft
wish: du (?:sollst|musst|darfst)|(?:sollst|bist) du|(?:ich )?(?:will|mochte)(?: ich)?\W+dass du
henceforth: ab (?:jetzt|sofort|nun|heute)|von (?:nun|jetzt) an|bis auf w\w+|fur dieses gesprach
whenever: wann immer|jedes ?mal\W+wenn|immer\W+wenn
asks: ich\b[^,]*\b(?:frage|bitte|sage|schreibe|schicke|zeige|erwahne|nenne)
place: bei|beim|in|fur|wenn|falls|zu|mit
""",
    "fr": r"""
lead: et|mais|donc|ok|bonjour|important|ne|n|\d+|s'il (?:te|vous) plait|svp|veuillez|merci(?: de)?
order: (?:utilis|donn|montr|expliqu|indiqu|ajout|cit|appell?|parl|evit|mentionn|tuto[iy]|vouvo[iy]
  |repond|ecriv)(?:es?|e[rz]|s|re|)|ecri(?:s|re)|di(?:s|tes|re)|met(?:s|tez|tre)|tradui(?:s|re)
between: (?:\W+(?:moi|nous|le|la|les|s'il (?:te|vous) plait)){0,2}
always: toujours|jamais|a l'avenir|desormais|dorenavant
wish: tu (?:dois|es|seras)|vous (?:devez|etes|serez)|je (?:veux|voudrais) que (?:tu|vous)(?: ne?)?
henceforth: a partir de maintenant|jusqu'a nouvel ordre|dans toutes (?:tes|vos) \w+|desormais\W*$
whenever: (?:a )?chaque fois que|toutes les fois que
asks: (?:je (?:te |vous )?|j'|je t')(?:demande|dis|parle|ecris|envoie|pose|donne|mentionne)
place: pour|dans|quand|lorsque|si|en|avec
""",
    "es": r"""
lead: y|pero|ok|vale|gracias|no|hola|importante|\d+|por favor
order: (?<!nunca )(?:(?:contest|us|utiliz|muestr|explic|indic|cit|llam|habl|evit|mencion|trat|d)a
  |(?:respond|escrib|traduc|incluy)e|di|pon|haz)(?:me)?|(?:contest|us|expliqu|cit|llam|mencion|d)es
  |(?:respond|escrib|incluy|dig|pong|hag)as|(?:us|explic|cit|respond|escrib)[aei]r
between: (?:\W+por favor)?
always: siempre|nunca|en el futuro|en adelante
wish: debes|tienes que|(?:quiero|quisiera|necesito) que(?: me)?(?: no)?|tu eres
henceforth: a partir de (?:ahora|hoy)|de (?:ahora|aqui) en adelante|desde ahora|en todas tus \w+
whenever: cada vez que|siempre que
asks: (?:te |le )?(?:pregunt|pid|dig|escrib|envi|mencion|habl)[aeo]
place: para|en|cuando|si|con|al
""",
}
_HEADER = r"^(?:from|to|cc|date|subject|von|an|datum|betreff|de|objet|para|asunto) ?:.*\n"
# Nobody's order: code to its end, quoted lines, a mail from two lines of its head on, quotations.
_NOT_OWN = re.compile(
    r"^[ \t]*(?P<fence>```|~~~)(?s:.*?)(?:^[ \t]*(?P=fence)|\Z)|^[ \t]*>.*"
    rf"|(?:{_HEADER}){{2}}(?s:.*)|[\"“”„][^\"“”„\n]{{1,999}}[\"“”]|[«»][^«»\n]{{1,999}}[«»]"
    r"|(?<!\w)['‘‚][^'‘’‚\n]{1,999}['’‘](?!\w)",
    re.MULTILINE | re.IGNORECASE,
)
_SENTENCE = re.compile(r".+?(?:(?<=[.!?…])(?<!\b[ezi]\.[gbe]\.)(?=\s)|$)", re.MULTILINE)


def standing_instructions(text: str) -> tuple[str, ...]:
    """The sentences of a person's own words that say what is to hold, as they stand there."""
    gap = max(0, len(text) - 2 * TYPED)
    if not _has_cue(_folded(text[:TYPED] + text[TYPED + gap :])):
        return ()
    own = _NOT_OWN.sub(lambda found: re.sub(r"[^\n]", "\0", found[0]), text)
    own = own[:TYPED] + "\n" * gap + own[TYPED + gap :]
    spans = [found.span() for found in _SENTENCE.finditer(own) if _instructs(found[0])]
    few = len(spans) <= MOST_SENTENCES
    return tuple(text[begin:end].strip() for begin, end in spans if few)


def still_said(kept: str | None, text: str) -> str | None:
    """Of instructions, a line each, those that stand in the text; None for none of them."""
    return "\n".join(line for line in (kept or "").split("\n") if line in text) or None


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
