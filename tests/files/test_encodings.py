"""Texts that don't say their encoding: each is read as what it is, or refused with a sentence."""

from __future__ import annotations

import random
from pathlib import Path
from unittest.mock import ANY

import pytest

from chatsite.files.kinds import NotTaken, kind_of
from chatsite.files.texts import LABELS, write_text
from tests.files.sample_files import pdf

# Small tables, as people save them: a few words are all there is to tell an encoding by.
TABLES = {
    "Größe;Müller;5 €\nStraße;Öl;7 €\n": "cp1252 iso8859_15 mac_roman utf_16_le utf_16_be utf_16",
    "Name;Ort\nAnna;Ulm\nMüller;Köln\n": "cp1252 cp850 mac_roman utf_32",
    "Élève;Prénom;Où\nÀ côté;façade;œuvre\n": "cp1252 iso8859_15 mac_roman",
    "Prénom;Hôtel;Forêt\nAndré;Reçu;déjà\n": "cp1252 cp850 mac_roman",
    "Año;Niño;¿Qué?\nMañana;corazón\n": "cp1252 cp850",
    "Ação;São João;não\npães;código\n": "cp1252",
    "Åsa;Malmö;Räkor\n": "cp1252 mac_roman",
    "Smørrebrød;Århus;æble\n": "cp1252",
    "Menu “Crêpes” – 5 € l’assiette…\n": "cp1252",
    "Zażółć gęślą jaźń;ulica;Łódź\n": "cp1250 iso8859_2 cp852 utf_16_le",
    "Příliš žluťoučký kůň;úpěl\n": "cp1250 iso8859_2",
    "Árvíztűrő tükörfúrógép\n": "cp1250 iso8859_2",
    "Čakovec;Đakovo;šećer\n": "cp1250",
    "Bucureşti;Iaşi;învăţător\n": "cp1250",
    "Vardas;Miestas\nŠiauliai;Žąsis;ėjo\n": "cp1257",
    "Şehir;İstanbul;ağaç\n": "cp1254 iso8859_9",
    "Имя;Город;Цена\nИван;Москва;500\n": "cp1251 koi8_r cp866 iso8859_5 mac_cyrillic utf_16_le",
    "ИМЯ;ГОРОД\nТовар;Количество;Сумма\n": "cp1251 koi8_r cp866",
    "Ім'я;Київ;їжа;ґрунт\n": "cp1251 koi8_u",
    "Όνομα;Πόλη\nΑθήνα;Ελλάδα\n": "cp1253 iso8859_7",
    "שם;עיר\nדוד;ירושלים\n": "cp1255 iso8859_8",
    "الاسم;المدينة\nمحمد;القاهرة\n": "cp1256 iso8859_6",
    "ชื่อ;เมือง\nกรุงเทพ\n": "cp874",
    "名前;都市;価格\n田中さん;東京;五百円です\n": "cp932 euc_jp iso2022_jp utf_16_le",
    "商品コード,商品名,数量\nA001,ノートパソコン,3\n": "cp932 euc_jp",
    "姓名;城市;价格\n王小明;北京;五百元\n": "gbk gb18030 utf_16_le utf_16_be",
    "订单号,客户,金额\n张伟,上海,300\n李娜,广州,450\n": "gbk",
    "姓名;城市;價格\n王小明;臺北;五百元\n": "big5",
    "이름;도시;가격\n김철수;서울;오백원\n": "cp949",
}
# A word or two.
WORDS = {
    "cp1252": (
        "Käse|Überschrift|café|“Hello” he said — it’s €5|20 °C ± 2 µm, ½ cup, § 5, ©|Þórður|"
        "Åland, Øresund, Ærø|José,São Paulo\nFrançois,Zürich\nBjörk,Malmö|L’été arrive – déjà…|"
        "it’s|“quoted”|wait…what|pages 3–4|£5,000|€5|5 €|±5 °C|½ cup|x × y|«ja»|¿no?|Foo™|5 µm|"
        "5\xa0km|• item|Financiële coöperatie, geïnvesteerd"
    ),
    "mac_roman": "naïve café résumé",
    "cp850": "façade|Müller",
    "cp1250": (
        "Łódź;Kraków;Gdańsk|ulice Žižkov, město Brno|Győr;Pécs;Szőlő|Ťažký, ľúbosť|Kraków|"
        "Čekam te već dugo"
    ),
    "cp1251": "Привет|ДОГОВОР № 5|name;город\nivan;Омск|Здравей свят, как си|Ћирилица и ђак",
    "koi8_r": "Привет, как дела?",
    "cp866": "ДОГОВОР № 5 от 01.02.2020",
    "cp1253": "Καλημέρα κόσμε|ΑΘΗΝΑ;ΠΟΛΗ",
    "cp1254": "İyi günler, teşekkürler|Çok güzel ışık",
    "cp1255": "שלום עולם|רישומי יומן|שם;עיר\nיעקב;חיפה",
    "cp1256": "السلام عليكم",
    "cp874": "ภาษาไทย",
    "cp932": "日本語|カタカナ|東京都,大阪府|売上高,利益率,備考\n1,2,なし",
    "euc_jp": "東京都,大阪府",
    "gbk": (
        "中文|你好，世界！|客户名称,联系电话|ERP系统导出\n产品ID,产品名称,规格\nA-1,螺丝,M3|"
        "姓名;城市\n李伟;深圳"
    ),
    "big5": "非常感謝|產品名稱,數量,單價",
    "cp949": "안녕하세요|고객;금액\n새벽 빵집;50|상품명,수량,가격\n사과,3,1000",
    "cp1258": "Ca\u0309m ơn râ\u0301t nhiê\u0300u",
    "utf_16_le": "Größe;Müller|emoji 😀;x|a;b",
}
SHORT = [(text, codec) for codec, texts in WORDS.items() for text in texts.split("|")]
SAMPLES = [(text, codec) for text, codecs in TABLES.items() for codec in codecs.split()]


def read(path: Path, content: bytes) -> tuple[str, str]:
    """The text that a model gets, and what the page says that it was read as."""
    path.write_bytes(content)
    kind = kind_of(path)
    write_text(path, kind.codec)
    text = path.with_suffix(".text").read_bytes().decode("utf-8")
    return text, LABELS.get(kind.codec, "")


@pytest.mark.parametrize("times", [1, 30], ids=["short", "long"])
@pytest.mark.parametrize(("text", "codec"), SAMPLES, ids=lambda one: one.split(";")[0].strip())
def test_a_table_in_any_usual_encoding_is_read(
    text: str, codec: str, times: int, tmp_path: Path
) -> None:
    shown, read_as = read(tmp_path / "table", (text * times).encode(codec))
    assert shown == text * times
    assert bool(read_as) == (codec not in ("utf_16", "utf_32"))


@pytest.mark.parametrize(("text", "codec"), SHORT, ids=lambda one: one[:12])
def test_a_word_or_two_are_enough(text: str, codec: str, tmp_path: Path) -> None:
    assert read(tmp_path / "words", (text + "\n").encode(codec)) == (text + "\n", ANY)


def test_the_name_of_the_encoding_is_one_that_people_know(tmp_path: Path) -> None:
    assert read(tmp_path / "x", "Größe;5 €".encode("cp1252")) == ("Größe;5 €", "windows-1252")
    assert read(tmp_path / "x", "Größe;5 €".encode())[1] == ""


def test_the_first_word_that_isnt_ascii_may_come_late(tmp_path: Path) -> None:
    text = "a;b\n" * 600_000 + "Größe;Müller\n"
    assert kind_of_text(tmp_path, text.encode("cp1252")) == "cp1252"


def test_a_guess_has_to_hold_to_the_end(tmp_path: Path) -> None:
    """A euro sign far below the first words is none of ISO-8859-15's bytes, and here no text's."""
    text = "Größe;Müller\n" * 10_000
    assert kind_of_text(tmp_path, text.encode("cp1252") + b"\x80") == "cp1252"
    with pytest.raises(NotTaken):
        kind_of_text(tmp_path, text.encode("cp1252") + b"\0")


def kind_of_text(folder: Path, content: bytes) -> str:
    path = folder / "text"
    path.write_bytes(content)
    return kind_of(path).codec


@pytest.mark.parametrize("seed", range(20))
def test_what_is_no_text_stays_refused(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    noise = bytes(chance.choice(range(0x80, 0x100)) for _ in range(300))
    for content in (chance.randbytes(300), pdf("x")[20:], b"Name\0;" + noise, noise):
        with pytest.raises(NotTaken) as refused:
            kind_of_text(tmp_path, content)
        assert "can't be attached" in refused.value.message


@pytest.mark.parametrize("cut", range(1, 3))
def test_half_a_character_at_the_end_is_no_other_encoding(cut: int, tmp_path: Path) -> None:
    with pytest.raises(NotTaken, match="A damaged text"):
        kind_of_text(tmp_path, ("価格" * 20).encode()[:-cut])
