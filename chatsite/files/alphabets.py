"""Which characters texts have besides ASCII, by language, and the encodings of their files.

A short table holds a dozen such characters; what tells two encodings apart is then whether they are
letters that one language has, and for scripts of their own which of them are frequent.
"""

from __future__ import annotations

from typing import NamedTuple


class Writing(NamedTuple):
    """`letters` in order of their frequency where `ranked`; `codecs` are Python's names."""

    codecs: tuple[str, ...]
    letters: str
    ranked: bool = False


_WEST = ("cp1252", "iso8859_15", "cp850", "mac_roman")
_CENTRAL = ("cp1250", "iso8859_2", "cp852")
_CYRILLIC = ("cp1251", "koi8_r", "cp866", "iso8859_5", "mac_cyrillic")

# A tie goes to the first: so does what several languages have, such as "ö".
ALPHABETS = (
    Writing(_WEST, "äöüß"),
    Writing(_WEST, "éèàçêùôîâûëïüœæÿ"),
    Writing(_WEST, "áéíñóúüªº"),
    Writing(_WEST, "ãçáéõíóêâôàúüªº"),
    Writing(_WEST, "àèéìòùíîóú"),
    Writing(_WEST, "éëïóöüèêá"),
    Writing(_WEST, "åäöéü"),
    Writing(_WEST, "æøåéü"),
    Writing(_WEST, "àçéèíïòóúü"),
    Writing(("cp1254", "iso8859_9"), "ışğüçöİâîû"),
    Writing(_WEST, "áðéíóúýþæö"),
    Writing(_CENTRAL, "łóążęćśńź"),
    Writing(_CENTRAL, "áíéřčžýěšůúťňóďöü"),
    Writing(_CENTRAL, "áíčéžšýľťúňďôóäĺŕ"),
    Writing(_CENTRAL, "áéíóöőúüű"),
    Writing(_CENTRAL, "čćđšž"),
    Writing(_CENTRAL, "ăâîşţ"),
    Writing(("iso8859_16",), "ăâîșț"),
    Writing(("cp1257", "iso8859_13"), "ąčęėįšųūž"),
    Writing(("cp1257", "iso8859_13"), "āčēģīķļņšūž"),
    Writing(("cp1257", "iso8859_13"), "äõöüšž"),
    Writing(_CYRILLIC, "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъё", ranked=True),
    Writing(("cp1251", "koi8_u", "iso8859_5"), "оанівиертскулдмпзяьбгйчхцжюєїшщфґ", ranked=True),
    Writing(("cp1251", "iso8859_5"), "аоиенрстјувкдмплгзбчшцњжљћхђфџ", ranked=True),
    Writing(("cp1253", "iso8859_7"), "αοιετσνηςρπυκμλόίάωδέήγθύχώφβξζψϊϋΐΰ", ranked=True),
    Writing(("cp1255", "iso8859_8"), "יולהאתרמבשנםעדחקפגכסזטצןךףץ", ranked=True),
    Writing(("cp1256", "iso8859_6"), "اليمنتروبةهعدسفكقحجشصأىطخذءثئضزغإظآؤ", ranked=True),
    Writing(("cp1256",), "ایرندوتمهبسلکشزفگعخقجپحصآطچضغظذثژء", ranked=True),
    Writing(("cp874",), "านรอกเงมยลวดทสตะปบคหแจพชขใไโผธณศซถภษญฟฐ่้ีิั์ื็ุูำ๊๋ๆ", ranked=True),
)

KANA = frozenset(map(chr, (*range(0x3041, 0x3097), *range(0x30A1, 0x30FD))))
_SIMPLE = (
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所"
    "然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日者意无力它与长"
    "把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应向头文体政美相见被利什二等产或新己制身"
    "果加西月话合回特代内信表化老给世位次度门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活"
    "更别打女变四总何电数安少报才结反受目太量再感建务做接必场件计管期市直资命山金指统区保至形社便空决治展科司五基"
    "非则听白光放难且思王完设式色路记南品住告类求据程北边张交规万取价格姓称号码类型元百千单位价钱州广京"
)
_TRADITIONAL = (
    "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作裡用道行所"
    "然家種事成方多經麼去法學如都同現當沒動面起看定天分還進好小部其些主樣理心她本前開但因只從想實日者意無力它與長"
    "把機十民第公此已工使情明性知全三又關點正業外將兩高間由問很最重並物手應向頭文體政美相見被利什二等產或新己制身"
    "果加西月話合回特代內信表化老給世位次度門任常先海通教兒原東聲提立及比員解水名真論處走義各入幾口認條平系氣題活"
    "更別打女變四總何電數安少報才結反受目太量再感建務做接必場件計管期市直資命山金指統區保至形社便空決治展科司五基"
    "非則聽白光放難且思王完設式色路記南品住告類求據程北邊張交規萬取價格姓稱號碼類型元百千單位價錢臺灣"
)
_KOREAN = (
    "이다의는에가을고하지로기사도한리어자시대나인아정일부전과라해스서보수것그제상주여구들국장위공만원등안세동요우경연"
    "오성조거모발통회신르면미계방학있었은름울김를니습합입문용생내적체소관선실분진중무개간비영행산으업조화드트"
)
_JAPANESE = (
    "日一国人年大十二本中長出三時行見月後前生五間上東四今金九入学高円子外八六下来気小七山話女北午百書先名川千水半男"
    "西電校語土木聞食車何南万毎白天母火右読友左休父雨都市価格田京県部社会事業者地方品番号住所員"
)
# Writings of many characters: the frequent ones, and the first bytes under which a codec has its
# usual ones.
FREQUENT = {
    "cp932": (frozenset(_JAPANESE) | KANA, range(0x88, 0xA0)),
    "gb18030": (frozenset(_SIMPLE), range(0xB0, 0xD8)),
    "big5": (frozenset(_TRADITIONAL), range(0xA4, 0xC7)),
    "cp949": (frozenset(_KOREAN), range(0xB0, 0xC9)),
    "euc_jp": (frozenset(_JAPANESE) | KANA, range(0xB0, 0xD0)),
}
