"""Text is read in the character set that it is in, whichever is declared."""

from __future__ import annotations

import quopri
import time
from base64 import b64encode

import pytest

from tests.mail.broken_mails import read_mail

WAYS = ["8bit", "quoted-printable", "base64"]
# What is declared, what is written, and in which character set.
TEXTS = [
    ("us-ascii", "Straße über die Brücke", "utf-8"),
    ("iso-8859-1", "Señor, ¿dónde está el muelle?", "utf-8"),
    ("windows-1252", "L’été à l’école – 12 €", "utf-8"),
    ("iso-8859-15", "Œuvre à 3 €", "utf-8"),
    ("windows-1251", "Где причал?", "utf-8"),
    ("koi8-r", "Где причал?", "utf-8"),
    ("gb2312", "码头有多长？", "utf-8"),
    ("big5", "碼頭有多長？", "utf-8"),
    ("shift_jis", "岸壁の長さは？", "utf-8"),
    ("utf-8", "Straße über die Brücke", "cp1252"),
    ("utf-8", "naïve café – “déjà vu” 5 €", "cp1252"),
    ("utf-8", "Где причал? Скажите, пожалуйста, сегодня.", "koi8_r"),
    ("utf-8", "Где причал? Скажите, пожалуйста, сегодня.", "cp1251"),
    ("utf-8", "岸壁の長さはどのくらいですか。教えてください。", "cp932"),
    ("utf-8", "岸壁の長さはどのくらいですか。教えてください。", "euc_jp"),
    ("utf-8", "请告诉我码头有多长，谢谢。", "gb18030"),
    ("utf-8", "부두는 얼마나 깁니까? 알려 주세요.", "cp949"),
    ("utf-8", "Πού είναι η προβλήτα και πόσο μακριά;", "cp1253"),
    ("utf-8", "איפה הרציף? תודה רבה לכולם", "cp1255"),
    ("utf-8", "ท่าเรือยาวเท่าไร", "cp874"),
    ("us-ascii", "Где причал? Скажите, пожалуйста.", "koi8_r"),
    ("us-ascii", "岸壁の長さはどのくらいですか。", "cp932"),
    ("us-ascii", "岸壁の長さはどのくらいですか。", "iso2022_jp"),
    ("iso-8859-1", "请告诉我码头有多长，谢谢。", "gb18030"),
    ("iso-8859-1", "Imię;Nazwisko\nŁukasz;Dąbrowski", "cp1250"),
    ("us-ascii", "Proszę przesłać fakturę", "iso8859_2"),
    ("utf-8", "Přijedu až zítra večer", "cp1250"),
    ("iso-8859-1", "A szerződés hosszú; sürgős kérdésem: hol van a gyűrű?", "cp1250"),
    ("utf-8", "Yarın geç kalacağım", "cp1254"),
    ("iso-8859-1", "Açıklama;Sayı\nkırık;3", "cp1254"),
    ("iso-8859-1", "Það er góðan daginn", "cp1252"),
    ("iso-8859-1", "jõulud", "cp1252"),
    ("us-ascii", "Де ключ? Його немає", "koi8_u"),
    ("utf-8", "我明天會晚到", "big5"),
    ("utf-8", "鍵はどこ?", "euc_jp"),
    ("utf-8", "열쇠가 어디 있어요?", "cp949"),
    ("utf-8", "Πού είναι;", "iso8859_7"),
    ("utf-8", "“a” – it’s £5, ½ cup…", "cp1252"),
    ("utf-8", "en\xa0time på vej", "cp1252"),
    ("utf-8", "رنگ\u200cها را می\u200cخواهم".replace("ی", "ي"), "cp1256"),
    ("utf-8", "‚Zitat‘ › §5 ‹", "cp1252"),
    ("csgb2312", "码头有多长", "gbk"),
    ("dos-874", "ท่าเรือยาวเท่าไร", "cp874"),
    ("us-ascii", "déjà vu", "latin-1"),
    ("iso-8859-1", "‘a’ … “b” – 5 €", "cp1252"),
    ("gb2312", "朱镕基和码头、瞭望", "gb18030"),
    ("gb2312", "碼頭與鐵路", "gb18030"),
    ("shift_jis", "①㈱はしご高", "cp932"),
    ("euc-jp", "岸壁の長さ", "euc_jp"),
    ("iso-2022-jp", "岸壁の長さ", "iso2022_jp"),
    ("koi8-r", "Где причал?", "koi8_r"),
    ("iso-8859-2", "Zażółć gęślą jaźń", "iso8859_2"),
    ("cp-850", "Größe", "cp850"),
    ("cp-1250", "Příliš žluťoučký kůň", "cp1250"),
    ("win-1251", "Где причал?", "cp1251"),
    ("x-cp1251", "Где причал?", "cp1251"),
    ("x-sjis", "岸壁の長さ", "cp932"),
    ("x-gbk", "码头有多长", "gbk"),
    ("x-mac-roman", "Größe", "mac_roman"),
    ("unicode-1-1-utf-7", "Größe 5 €", "utf-7"),
    ("utf-7", "Größe 5 €", "utf-7"),
    ("8bit", "Größe", "utf-8"),
    ("8bit", "Größe", "cp1252"),
    ("x-unknown", "Größe", "utf-8"),
    ("unknown-8bit", "Größe", "latin-1"),
    ("utf8mb4", "Größe 🚢", "utf-8"),
    ("utf_8", "Größe", "utf-8"),
    ("'utf-8'", "Größe", "utf-8"),
    ("=utf-8", "Größe", "utf-8"),
    ("cp65001", "Größe", "utf-8"),
    ("ansi", "5 € für Größe", "cp1252"),
    ("utf-16", "plain letters", "ascii"),
    ("", "Größe", "cp1252"),
]


def encoded(data: bytes, way: str) -> bytes:
    if way == "base64":
        return b64encode(data)
    return quopri.encodestring(data) if way == "quoted-printable" else data


@pytest.mark.parametrize(("declared", "text", "charset"), TEXTS)
def test_a_body_is_read_without_a_replacement_mark(declared: str, text: str, charset: str) -> None:
    for way in WAYS:
        head = (
            f'From: a@b.org\r\nContent-Type: text/plain; charset="{declared}"\r\n'
            f"Content-Transfer-Encoding: {way}\r\n\r\n"
        )
        assert read_mail(head.encode() + encoded(text.encode(charset), way)).text == text


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ("Größe".encode(), "Größe"),
        ("Größe".encode("cp1252"), "Größe"),
        ("Где причал, скажите?".encode("koi8_r"), "Где причал, скажите?"),
        (b"=?us-ascii?Q?Gr=C3=B6=C3=9Fe?=", "Größe"),
        (b"=?utf-8?Q?Gr=F6=DFe?=", "Größe"),
        (b"=?gb2312?B?" + b64encode("朱镕基".encode("gb18030")) + b"?=", "朱镕基"),
        (b"=?utf-8?B?" + b64encode("ö".encode()[:1]) + b"?=\r\n =?utf-8?B?"
         + b64encode("ö".encode()[1:]) + b"?=", "ö"),
        (b"=?iso-8859-1?Q?=93a=94?= b", "“a” b"),
        (b"=?utf-8?Q?The quay?=", "The quay"),
        (b"Re: =?utf-8?Q?Gr=C3=B6?= =?utf-8?Q?=C3=9Fe?= is", "Re: Größe is"),
        (b"=?x-unknown?B?R3L2w59l?=", "Größe"),
        (b"=?utf-8?B?***?= x", "x"),
    ],
)  # fmt: skip
def test_so_is_a_subject(raw: bytes, said: str) -> None:
    mail = read_mail(b"From: Andr\xe9 <a@b.org>\r\nSubject: " + raw + b"\r\n\r\nx")
    assert (mail.subject, mail.sender) == (said, "a@b.org")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Größe.txt".encode(), "Größe.txt"),
        ("Größe.txt".encode("cp1252"), "Größe.txt"),
        (b"=?us-ascii?Q?Gr=C3=B6=C3=9Fe.txt?=", "Größe.txt"),
    ],
)
def test_so_is_the_name_of_a_file(name: bytes, said: str) -> None:
    mail = read_mail(
        b"From: a@b.org\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nx\r\n--b\r\n"
        b'Content-Disposition: attachment; filename="' + name + b'"\r\n\r\ny\r\n--b--'
    )
    assert [one.name for one in mail.files] == [said]


def test_a_footer_in_another_set_is_mended_alone() -> None:
    text = "Größe über alles, Fuß für Fuß.\n".encode() * 5 + "Straße".encode("cp1252")
    head = b"From: a@b.org\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n"
    assert read_mail(head + text).text.endswith("Fuß für Fuß.\nStraße")


def test_html_may_declare_its_own() -> None:
    head = b"From: a@b.org\r\nContent-Type: text/html\r\n\r\n<meta charset=iso-8859-2><p>"
    assert read_mail(head + "Zażółć".encode("iso8859_2")).text == "Zażółć"


def test_a_mark_of_a_files_beginning_hides_no_header() -> None:
    mail = "\ufeffSubject: The quay\r\nFrom: a@b.org\r\n\r\nx".encode()
    assert read_mail(mail).subject == "The quay"
    later = b"Received: x\r\n" + mail
    assert (read_mail(later).subject, read_mail(later).text) == ("The quay", "x")


@pytest.mark.thorough
@pytest.mark.parametrize(
    "data", [b"\xe9\xff", bytes(range(128, 256)), b"\x81", b"a\xc3", b"\x1b$B"]
)
@pytest.mark.parametrize("charset", ["utf-8", "us-ascii", "gb2312", "iso-2022-jp", "utf-16", "x"])
def test_no_bytes_take_long(data: bytes, charset: str) -> None:
    began = time.process_time()
    head = f"From: a@b.org\r\nContent-Type: text/plain; charset={charset}\r\n\r\n".encode()
    read_mail(head + data * (1_000_000 // len(data)))
    assert time.process_time() - began < 10
