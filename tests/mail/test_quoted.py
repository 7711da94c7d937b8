"""What the conversation of a mail holds already is cut, and a signature; all else that somebody
writes, quotes and forwards reaches the model."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsite.mail.incoming.html.text import read_page
from chatsite.mail.incoming.quotes.marks import Held
from chatsite.mail.incoming.quotes.quoted import own_words
from chatsite.mail.outgoing.replies import mailed_html

ASKED = "How long is the quay?\nAda"
ANSWERED = "It is **40 m** long, and 6 m deep. More is said in the survey."
HELD = Held([ANSWERED, ASKED])
PLAIN = "It is 40 m long, and 6 m deep. More is said in the survey."
QUOTE = (
    "> It is 40 m long, and 6 m\n> deep. More is said in the survey.\n>\n> > How long is the quay?"
)
LEADS = [
    "On Tue, 3 Nov 2026 at 10:12, The Harbour <harbour@example.org> wrote:",
    "On Tue, 3 Nov 2026 at 10:12, The Harbour\n<harbour@example.org> wrote:",
    "On Tuesday The Harbour wrote:",
    "Am 03.11.2026 um 10:12 schrieb The Harbour:",
    "The Harbour <harbour@example.org> schrieb am Di., 3. Nov. 2026, 10:12:",
    "Le mar. 3 nov. 2026 à 10:12, The Harbour <harbour@example.org> a écrit :",
    "El mar, 3 nov 2026 a las 10:12, The Harbour (<harbour@example.org>) escribió:",
    "Il giorno mar 3 nov 2026 alle ore 10:12 The Harbour ha scritto:",
    "Em ter., 3 de nov. de 2026 às 10:12, The Harbour escreveu:",
    "Op di 3 nov 2026 om 10:12 schreef The Harbour <harbour@example.org>:",
    "Den tis 3 nov. 2026 kl 10:12 skrev The Harbour <harbour@example.org>:",
    "Den tir. 3. nov. 2026 kl. 10.12 skrev The Harbour <harbour@example.org>:",
    "W dniu 3.11.2026 o 10:12, The Harbour pisze:",
    "wt., 3 lis 2026 o 10:12 The Harbour <harbour@example.org> napisał(a):",
    "ti 3. marrask. 2026 klo 10.12 The Harbour (harbour@example.org) kirjoitti:",
    "út 3. 11. 2026 v 10:12 odesílatel The Harbour <harbour@example.org> napsal:",
    "вт, 3 нояб. 2026 г. в 10:12, The Harbour <harbour@example.org>:",
    "03.11.2026 10:12, The Harbour пишет:",
    "вт, 3 лист. 2026 р. о 10:12 The Harbour <harbour@example.org> пише:",
    "The Harbour <harbour@example.org>, 3 Kas 2026 Sal, 10:12 tarihinde şunu yazdı:",
    "The Harbour <harbour@example.org> ezt írta (időpont: 2026. nov. 3., K, 10:12):",
    "Στις Τρί 3 Νοε 2026 στις 10:12, ο χρήστης The Harbour <harbour@example.org> έγραψε:",
    "2026年11月3日(火) 10:12 The Harbour <harbour@example.org>:",
    "2026/11/03 10:12、The Harbour <harbour@example.org>のメール:",
    "The Harbour <harbour@example.org> 于2026年11月3日周二 10:12写道：",
    "2026년 11월 3일 (화) 오전 10:12, The Harbour <harbour@example.org>님이 작성:",
    "Vào Th 3, 3 thg 11, 2026 vào lúc 10:12 The Harbour <harbour@example.org> đã viết:",
    "---- On Tue, 03 Nov 2026 10:12:34 +0100 The Harbour <harbour@example.org> wrote ---",
    "---- The Harbour schrieb ----",
    "Quoting The Harbour <harbour@example.org>:",
    "Zitat von The Harbour <harbour@example.org>:",
    "The Harbour <harbour@example.org> writes:",
    "In de bijlage 03-11-2026 10:12 The Harbour <harbour@example.org>:",
    "\u202b"
    "בתאריך יום ג׳, 3 בנוב׳ 2026 ב-10:12 מאת The Harbour <\u202aharbour@example.org\u202c>:\u202c",
]  # fmt: skip
BLOCKS = [
    "From: The Harbour <h@example.org>\nSent: Tuesday\nTo: Ada\nSubject: The quay",
    "Von: The Harbour\nGesendet: Dienstag\nAn: Ada\nBetreff: Der Kai",
    "*De :* Le port\n*Envoyé :* mardi\n*À :* Ada\n*Objet :* Le quai",
    "De: O porto <h@example.org>\nEnviada em: terça-feira\nPara: Ada\nAssunto: O cais",
    "Fra: Havnen <h@example.org>\nSendt: 3. november 2026 10:12\nTil: Ada\nEmne: Kajen",
    "Från: Hamnen\nSkickat: den 3 november 2026 10:12\nTill: Ada\nÄmne: Kajen",
    "Lähettäjä: Satama\nLähetetty: tiistai 3. marraskuuta 2026\nVastaanottaja: Ada\nAihe: Laituri",
    "Od: Přístav <h@example.org>\nOdesláno: úterý 3. listopadu 2026\nKomu: Ada\nPředmět: Molo",
    "Od: Port\nWysłano: wtorek\nDo: Ada\nTemat: Nabrzeże",
    "От: Порт <h@example.org>\nОтправлено: 3 ноября 2026 г. 10:12\nКому: Ada\nТема: Причал",
    "Kimden: Liman\nGönderilme: 3 Kasım 2026 Salı\nKime: Ada\nKonu: Rıhtım",
    "差出人: 港 <h@example.org>\n送信日時: 2026年11月3日 10:12\n宛先: Ada\n件名: 岸壁",
    "发件人: 港口 <h@example.org>\n发送时间: 2026年11月3日 10:12\n收件人: Ada\n主题: 码头",
    "寄件者：港口\n寄件日期：2026年11月3日\n收件者：Ada\n主旨：碼頭",
    "보낸 사람: 항구\n보낸 날짜: 2026년 11월 3일\n받는 사람: Ada\n제목: 부두",
    "Feladó: Kikötő\nElküldve: kedd\nCímzett: Ada\nTárgy: A rakpart",
    "________________________________\nFrom: The Harbour\nSent: Tuesday\nTo: Ada\nSubject: Quay",
    "-----Original Message-----\nFrom: The Harbour",
    "-----Ursprüngliche Nachricht-----\nVon: The Harbour",
    "------------------ 原始邮件 ------------------\n发件人: 港口",
    "‐‐‐‐‐‐‐ Original Message ‐‐‐‐‐‐‐\nOn Tuesday, 3 November 2026 10:12, The Harbour wrote:",
    '----- Reply message -----\nFrom: "The Harbour" <h@example.org>\nTo: Ada\nSubject: Quay',
    '------ Original Message ------\nFrom "The Harbour" <h@example.org>\nTo ada@example.org\n'
    "Date 03.11.2026 10:12:34\nSubject Re: The quay",
]
FORWARDS = [
    "---------- Forwarded message ---------\nFrom: Bob <bob@example.org>\nDate: Tue\nSubject: Quay",
    "---------- Weitergeleitete Nachricht ---------\nVon: Bob <bob@example.org>",
    "---------- Mensaje reenviado ----------\nDe: Bob <bob@example.org>",
    "---------- Forwarded message ---------\nDe : Bob <bob@example.org>\nDate: mar. 3 nov.",
    "-------- Forwarded Message --------\nSubject: \tThe quay\nDate: \tTue\nFrom: \tBob",
    "-------- Weitergeleitete Nachricht --------\nBetreff: \tDer Kai\nVon: \tBob",
    "-------- Message transféré --------\nSujet : \tLe quai\nDe : \tBob",
    "-------- Doorgestuurd bericht --------\nOnderwerp: \tDe kade",
    "-------- Messaggio inoltrato --------\nOggetto: \tIl molo",
    "-------- Videresendt meddelelse --------\nEmne: \tKajen",
    "-------- Przekazana wiadomość --------\nTemat: \tNabrzeże",
    "-------- Пересылаемое сообщение --------\nТема: \tПричал",
    "----- Forwarded message -----\nFrom: Bob\nTo: Ada",
    "------- Forwarded Message -------\nFrom: Bob <bob@proton.example>\nDate: On Tuesday",
    "---------- 转发的邮件 ----------\n发件人： Bob",
    "---------- 転送メッセージ ----------\n差出人: Bob",
    "Begin forwarded message:\n\n> From: Bob <bob@example.org>\n> Subject: The quay",
    "> Begin forwarded message:\n>\n> From: Bob <bob@example.org>\n> Subject: The quay",
    "Anfang der weitergeleiteten Nachricht:\n\nVon: Bob\nBetreff: Der Kai",
    "Début du message réexpédié :\n\nDe: Bob\nObjet: Le quai",
    "Inizio messaggio inoltrato:\n\nDa: Bob",
    "Vidarebefordrat brev:\n\nFrån: Bob",
    "Начало переадресованного сообщения:\n\nОт: Bob\nТема: Причал",
    "İletilmiş mesajın başlangıcı:\n\nKimden: Bob",
    "----- Weitergeleitet von Ada/Harbour am 03.11.2026 10:15 -----\n\nVon:\tBob\nAn:\tAda",
    "----- Forwarded by Ada/Harbour on 03.11.2026 10:15 -----\n\nFrom:\tBob\nTo:\tAda",
    "----- Forwarded message from Bob <bob@example.org> -----\n\nDate: Tue\nFrom: Bob",
    "-------- Ujumbe uliotumwa --------\nKichwa: \tGati\nKutoka: \tBob",
    "-------- Пересылаемое сообщение --------\n03.11.2026, 10:12, Bob <bob@example.org>:",
]


# ---- what is held is cut ---------------------------------------------------------------------
@pytest.mark.parametrize("lead", LEADS)
@pytest.mark.parametrize("quote", [QUOTE, PLAIN])
def test_the_answered_mail_below_is_cut_with_the_line_that_introduces_it(
    lead: str, quote: str
) -> None:
    assert own_words(f"And the crane?\n\n{lead}\n\n{quote}\n", HELD) == "And the crane?"


@pytest.mark.parametrize("block", BLOCKS)
def test_so_is_one_below_a_block_of_headers_in_any_language(block: str) -> None:
    text = f"And the crane?\n-- \nAda\n\n{block}\n\n{PLAIN}\n\n{block}\n\n{ASKED}\n"
    assert own_words(text, HELD) == "And the crane?"


def test_fields_of_the_senders_own_above_it_stay() -> None:
    own = "Send it to:\nName: Ada\nStreet: Quay\nCity: Bremen"
    for block in BLOCKS:
        assert own_words(f"{own}\n\n{block}\n\n{PLAIN}", HELD) == own


@pytest.mark.parametrize(
    "text",
    [
        "Find a train.\n\nFrom: Bremen\nTo: Oslo\nDate: 3 May\nPassengers: 2\n\nBest wishes\nAda",
        "One\n____________________\nTwo",
        "Meeting on 3.5.2026 at 10:30:\nWho comes, and with what?",
    ],
)
def test_a_mail_that_is_sent_once_more_is_whole(text: str) -> None:
    assert own_words(text, Held([ANSWERED, f"Subject: x\n\n{text}", text])) == text


def test_so_is_a_quote_without_an_introduction() -> None:
    assert own_words(f"And the crane?\n\n{QUOTE}\n\n", HELD) == "And the crane?"
    wrapped = QUOTE.replace("> deep.", "deep.")
    assert own_words(f"And the crane?\n\n{LEADS[0]}\n{wrapped}", HELD) == "And the crane?"


HTML = {
    "Gmail": '<div dir="ltr">And the crane?</div><br><div class="gmail_quote"><div class='
    '"gmail_attr">{lead}<br></div><blockquote class="gmail_quote">{quote}</blockquote></div>',
    "Apple Mail": "And the crane?<br><div><br><blockquote type=cite><div>{lead}</div><br>"
    "<div>{quote}</div></blockquote></div>",
    "Thunderbird": '<p>And the crane?</p><div class="moz-cite-prefix">{lead}<br></div>'
    '<blockquote type="cite" cite="mid:x"><p>{quote}</p></blockquote>',
    "Outlook": '<p>And the crane?</p><div><div style="border:none;border-top:solid #E1E1E1 1.0pt;'
    'padding:3.0pt 0cm 0cm 0cm"><p><b>{name}:</b> H<br><b>Sendt:</b> 3<br><b>Til:</b> A</p></div>'
    "</div><p>{quote}</p>",
    "Outlook on the web": '<div>And the crane?</div><div id="appendonsend"></div><hr><div id='
    '"divRplyFwdMsg"><b>{name}:</b> H<br><b>Sent:</b> 3</div><div>{quote}</div>',
    "Yahoo": '<div>And the crane?</div><div id="yahoo_quoted_1" class="yahoo_quoted"><div>{lead}'
    "</div><div>{quote}</div></div>",
    "Proton": '<div>And the crane?</div><div class="protonmail_quote">{lead}<br><blockquote class='
    '"protonmail_quote" type="cite">{quote}</blockquote></div>',
    "Zimbra": '<div>And the crane?</div><hr id="zwchr" data-marker="__DIVIDER__"><div><b>{name}: '
    "</b>H<br><b>To: </b>A<br><b>Sent: </b>3</div><div>{quote}</div>",
    "GMX": '<div>And the crane?</div><div name="quote"><div><b>Gesendet:</b> 3<br><b>Von:</b> H<br>'
    "<b>An:</b> A</div><div>{quote}</div></div>",
}


@pytest.mark.parametrize("program", HTML)
@pytest.mark.parametrize("lead", [LEADS[1], LEADS[16], LEADS[24]])
def test_the_same_is_cut_from_html_by_its_structure(program: str, lead: str) -> None:
    quote = "<p>It is <b>40 m</b> long, and 6 m deep.</p><p>More is said in the survey.</p>"
    html = HTML[program].format(
        lead=lead.replace("<", "&lt;").replace("\n", " "), name="差出人", quote=quote
    )
    assert own_words(read_page(html).text, HELD) == "And the crane?"
    assert "40 m" in own_words(read_page(html).text)


# ---- what isn't held stays -------------------------------------------------------------------
@pytest.mark.parametrize("held", [Held(), HELD])
@pytest.mark.parametrize("mark", [*LEADS, *BLOCKS])
def test_what_somebody_else_wrote_stays_with_who_wrote_it(mark: str, held: Held) -> None:
    for below in ("Can Pat meet us on the pier?", "> Can Pat meet us on the pier?\n> Bob"):
        text = f"Please answer Bob.\n\n{mark}\n\n{below}"
        assert own_words(text, held) == text
    rest = f"Please answer Bob.\n\n{mark}\n\nCan Pat meet us on the pier?"
    assert own_words(f"{rest}\n\n{LEADS[0]}\n{QUOTE}", HELD) == rest


@pytest.mark.parametrize("mark", FORWARDS)
@pytest.mark.parametrize("below", ["The crane is free.\n-- \nBob\nTel 12", PLAIN, f"> {PLAIN}"])
def test_what_is_forwarded_stays_also_where_the_conversation_holds_it(
    mark: str, below: str
) -> None:
    for text in (f"Please sum this up.\n\n{mark}\n\n{below}", f"{mark}\n\n{below}"):
        assert own_words(text, HELD) == text


@pytest.mark.parametrize("line", ["----- Répondre au message -----", "--- Tuma kwa ---"])
def test_a_line_between_dashes_above_a_mail_of_this_subject_is_none_of_a_forward(line: str) -> None:
    block = "De: The Harbour\nDate: mardi\nObjet: Re: The quay"
    text = f"And the crane?\n\n{line}\n{block}\n\n{PLAIN}"
    assert own_words(text, HELD, subject="RE: The quay") == "And the crane?"
    assert PLAIN in own_words(text, HELD, subject="The crane")


@pytest.mark.parametrize("prefix", ["Fwd:", "FW: ", "WG:", "TR :", "RV:", "I:", "转发："])
def test_the_subject_says_that_a_mail_is_forwarded(prefix: str) -> None:
    text = f"What is this?\n\n{BLOCKS[0]}\n\n{PLAIN}"
    assert own_words(text, HELD, subject=f"{prefix} The quay") == text
    assert own_words(text, HELD, subject=f"Re: {prefix} The quay") == "What is this?"


@pytest.mark.parametrize(
    "text",
    [
        "On Monday I wrote:\nnothing at all, and so did she.",
        "From: here it looks fine.\nThe quay is long.",
        "Find a train.\n\nFrom: Bremen\nTo: Oslo\nDate: 3 May\nPassengers: 2",
        "From: Bremen\nTo: Oslo\nDate: 3 May\nSubject to change: yes\n\nThanks",
        "Von: Köln\nAn: Graz\nDatum: 3. Mai\n\nIch komme um 8:30.",
        "A train!\n\nFrom: Bremen\nTo: Oslo\nDate: 3.5.2026 08:30\n\nMore is said in the survey.",
        "Meet me at 10:30 on 3.5.2026:\n\nMore is said in the survey.\nAda",
        f"Send it to:\nName: Ada\nStreet: Quay\nCity: Bremen\n\n{BLOCKS[0]}\n\nCan Bob come?",
        "Name: Ada\nStreet: Quay\nCity: Bremen\n\nWhere do I sign?",
        "One\n____________________\nTwo",
        "One\n________________________________\nTwo\n________________________________\nThree",
        "One\n--------------------\nTwo",
        "a -- b\n---\nmore",
        "One\n--\nTwo",
        "Why does it fail?\n\nSELECT 1;\n-- \nSELECT 2;\n\nWhat is wrong?",
        "Hello\n-- \nAda Lovelace\n\nPS: Is there a crane?",
        "----- Part one -----\nFoo\n----- Part two -----\nBar",
        "We have forwarded mail:\n1. to Bob\n2. to Pat\nWho is missing?",
        "The parcel isn't there.\n\nSent with DHL on Monday",
        "Where is my letter?\n\nSent from my house on Monday",
        "Wo ist mein Paket?\nGesendet mit der Post",
        "¿Dónde está?\n\nEnviado desde mi casa el lunes",
        "Is it there?\n\nI sent it from my iPhone",
        "Ist es da?\n\nIch habe es mit dem Handy gesendet",
        "Which program?\n\nOutlook for iOS",
        *(
            f"Where is it?\n\n{last}"
            for last in (
                *("Sent to the phone company", "Gesendet an Samsung", "Enviado a Samsung ayer"),
                *("Sent by phone and by fax", "Sent from Samsung's office in Seoul last week"),
                *("Get Outlook running on my phone", "Отправлено в Samsung", "An iPad, a phone."),
            )
        ),
        f"First:\n\n> {PLAIN}\n\nSecond:\n\n> More is said in the survey.",
        f"Please translate this:\n\n> {PLAIN}",
        "Options:\n--\nfast\n--\nslow",
        "The price > 9,000 is high.",
        "As he said, on 3 May at 10:12 Bob <bob@example.org> wrote: no. Is that right?",
        "He wrote:\n\nHow do I answer that?",
        "Sent from my house on Monday, it isn't there yet. Where is it?",
        "Sent from my house on Monday.\nWhere is it?",
        "-----Original Message-----\nis what Outlook writes. Why?",
        "Meeting at 10:30 on 3.5.2026:\nWho comes?",
        f"Is this still right?\n{PLAIN}",
        f"Is this still right?\n\n{PLAIN}\n\nIt was in May.",
        f"{PLAIN}",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert own_words(text) == text
    assert own_words(text, HELD) == text


def test_answers_between_quotes_are_kept_with_the_quotes() -> None:
    text = (
        "On Tue, The Harbour <h@example.org> wrote:\n> It is 40 m long, and 6 m deep.\n\n"
        "Really?\n\n"
        "> More is said in the survey.\n\nWhich one?\n-- \nAda"
    )
    assert own_words(text, HELD) == text.partition("\n-- ")[0]


@pytest.mark.parametrize("chosen", ["More is said in the survey.", "and 6 m deep."])
@pytest.mark.parametrize("lead", ["", f"{LEADS[0]}\n\n", f"{LEADS[3]}\n"])
def test_a_sentence_that_the_sender_chose_to_quote_stays(chosen: str, lead: str) -> None:
    text = f"What does this mean?\n\n{lead}> {chosen}"
    assert own_words(text, HELD) == text


def test_the_rest_below_answers_between_quotes_is_cut() -> None:
    text = f"{LEADS[0]}\n> It is 40 m long, and 6 m deep.\n\nReally?"
    assert own_words(f"{text}\n\n> More is said in the survey.\n", HELD) == text


FORMS = [
    "[The survey](https://survey.example/quay?x=1) says 40 m.",
    "| Part | Length |\n|---|---|\n| North | 22 m |\n\nThat is all.",
    "## The quay\n\nIt is 40 m long.\n\n---\n\n### The crane\n\nThere is none.",
    "```python\nprint(quay.length)\n```\n\nThat prints the length.",
    "The rules say:\n\n> No ships above 50 m.\n\nSo you may come.",
    *(
        "はい、岸壁の長さは40メートルです。\n\nクレーンはありません。",
        "أهلا، طول الرصيف 40 مترا.",
        "Ja",
        "👍 Sure! 🚢",
    ),
]


@pytest.mark.parametrize("answer", FORMS)
def test_an_answer_is_known_in_every_form_that_programs_quote_it_in(answer: str) -> None:
    below = "12 of 12 messages of this thread were sent"
    held = Held([answer, ASKED], footer=["messages of this thread"])
    page = f"{mailed_html(answer)}<blockquote>{ASKED}</blockquote><hr><p>{below}</p>"
    for program in HTML:
        html = HTML[program].format(lead=LEADS[3], name="De", quote=page)
        assert own_words(read_page(html).text, held) == "And the crane?"
    quote = "\n".join(f"> {line}".rstrip() for line in f"{answer}\n\n-- \n{below}".split("\n"))
    assert own_words(f"And the crane?\n\n{LEADS[3]}\n{quote}", held) == "And the crane?"


def test_below_what_a_gateway_wrote_above_the_answered_mail_that_is_cut() -> None:
    above = f"And the crane?\n\n{BLOCKS[0]}\n\nCAUTION: This mail came from outside."
    assert own_words(f"{above}\n\n{PLAIN}\n\n{BLOCKS[0]}\n\n{ASKED}", HELD) == above
    assert own_words(f"{above}\n\n{PLAIN}\nWhich one?", HELD).endswith("Which one?")


def test_an_answer_below_the_quote_keeps_it() -> None:
    text = f"{LEADS[0]}\n{QUOTE}\n\nAnd the crane?"
    assert own_words(text, HELD) == text


def test_an_answer_within_an_unmarked_quote_stays() -> None:
    text = f"See below.\n\n{BLOCKS[0]}\n\n{PLAIN}\n[Ada] In which survey?"
    assert own_words(text, HELD) == text
    assert own_words(f"{text}\n\n{BLOCKS[0]}\n\n{ASKED}", HELD) == text


@pytest.mark.parametrize("text", [QUOTE, f"{LEADS[0]}\n{QUOTE}", "-- \nonly a signature", ""])
def test_where_nothing_else_is_there_it_stays(text: str) -> None:
    assert own_words(text, HELD) == text.strip()


# ---- signatures ------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "end",
    [
        "-- \nAda Lovelace\nHarbour office\n\nTel: 12\nFax: 13\nWeb: harbour.example",
        *("Sent from my phone", "Von meinem Telefon gesendet", "Отправлено с iPhone"),
        *("Get Outlook for iOS<https://aka.ms/x>", "iPhoneから送信", "发自我的手机"),
        *("Holen Sie sich Outlook für Android<https://aka.ms/x>", "iPhone'umdan gönderildi"),
        *("iOS 版 Outlook を入手<https://aka.ms/x>", "Skaffa Outlook för Mac<https://aka.ms/x>"),
        *("Von Outlook für Android<https://aka.ms/x> gesendet", "(Sent from my mobile device)"),
        *("Diese Nachricht wurde von meinem Android-Gerät mit K-9 Mail gesendet.",),
        *("Sent from Windows Mail", "Sent with Airmail"),
        *("Pobierz program Outlook dla systemu iOS <https://aka.ms/x>", "나의 iPhone에서 보냄"),
        *(
            "Sent via the Samsung Galaxy S22 5G, an AT&T 5G smartphone",
            "Trimis de pe iPhone-ul meu",
        ),
        *("Envoyé à partir de Outlook pour Android", "Gesendet von Mail für Windows"),
        *("Von meinem Galaxy gesendet.", "--\nОтправлено из Mail.ru для Android"),
    ],
)
def test_a_signature_is_cut(end: str) -> None:
    assert own_words(f"It is 40 m long.\n{end}") == "It is 40 m long."
    assert own_words(f"And the crane?\n{end}\n\n{LEADS[1]}\n{QUOTE}", HELD) == "And the crane?"
    assert own_words(f"And the crane?\n{end}\n\n{BLOCKS[0]}\n\n{PLAIN}", HELD) == "And the crane?"


def test_one_above_what_is_quoted_is_cut_alone() -> None:
    quoted = f"{LEADS[1]}\n> Can Pat meet us?"
    assert own_words(f"Answer Bob.\n-- \nAda\n\n{quoted}") == f"Answer Bob.\n{quoted}"


def test_a_long_text_below_two_dashes_is_no_signature() -> None:
    text = "One\n-- \n" + "\n".join(f"Item {number}" for number in range(30))
    assert own_words(text) == text


@pytest.mark.parametrize(
    "html",
    [
        'Hi<br><span class="gmail_signature_prefix">-- </span><br><div class="gmail_signature">Ada',
        '<p>Hi</p><div id="Signature"><p>Ada</p><p>Harbour</p></div>',
        '<p>Hi</p><div class="moz-signature">-- <br>Ada</div>',
        '<div>Hi</div><div id="ms-outlook-mobile-signature">Get Outlook for iOS</div>',
    ],
)
def test_one_of_html_is_cut_and_what_follows_it_isnt(html: str) -> None:
    assert own_words(read_page(html).text) == "Hi"
    more = html if html.endswith("</div>") else f"{html}</div>"
    for below in ("My question?", "PS: My question", "On Monday we come", "At 10:30 we come"):
        assert below in own_words(read_page(f"{more}<p>{below}</p>").text)


def test_own_words_that_stand_further_in_are_no_quote() -> None:
    style = "margin: 0 0 0 40px; border: none; padding: 0px"
    html = f'<p>We need</p><blockquote style="{style}">a crane</blockquote>'
    said = read_page(f'{html}<blockquote type="cite" style="{style}">said</blockquote>').text
    assert "> said" in said and "a crane" in said and "> a crane" not in said


PIECES = st.sampled_from(
    [*LEADS[:3], *BLOCKS[:2], *FORWARDS[:2], QUOTE, PLAIN, "-- ", "--", "> ", "\n", "Ada", "_" * 20]
)


@given(st.lists(PIECES, max_size=12), st.sampled_from(["", "Fwd: x", "Re: Der Kai"]))
def test_nothing_is_invented_and_what_nobody_has_read_is_never_lost(
    pieces: list[str], subject: str
) -> None:
    own = "Is Pat there?"
    text = "\n".join([own, *pieces])
    kept = own_words(text, HELD, subject=subject).split("\n")
    assert kept[0] == own and {one.rstrip() for one in kept} <= {
        line.rstrip() for line in text.split("\n")
    }
    last = "\n".join([*pieces, own])
    assert own in own_words(last, HELD, subject=subject) or "-- " in last.split("\n")


@pytest.mark.thorough
@pytest.mark.parametrize(
    "line",
    [
        *("Am schrieb schrieb " * 20 + ":", "On a:", "> > >", "From: x\nTo: y", "--", "-- "),
        *("schrieb am 12345:", "schrieb am 12345:\n" * 40 + "\n", " " * 499 + ":", "a: b"),
        *("-" * 499, "-- x" * 100, "forwarded message " * 20 + ":", "10:12 2026 a@b:", "\n"),
        *("_" * 99, "> -- "),
    ],
)  # fmt: skip
def test_no_text_takes_long(line: str) -> None:
    began = time.process_time()
    for end in ("", "> q\nanswer"):
        text = f"{line}\n" * (4_900 // (line.count("\n") + 1)) + end
        own_words(text)
        own_words(text, Held([text[:1_000_000], PLAIN]))
    own_words(line * 50_000, HELD)
    assert time.process_time() - began < 60
