"""What the reader of an HTML mail doesn't see, the model doesn't read; what they see, it does."""

from __future__ import annotations

import time

import pytest

from chatsite.mail.incoming.html.text import UNREADABLE, read_page

STYLES = [
    *("display:none", "DISPLAY : none !important", "visibility:hidden", "visibility: collapse"),
    *("opacity:0", "opacity:0.01", "opacity:1%", "font-size:0", "font-size:1px"),
    *("font-size:0.05em", "mso-hide:all"),
    *("color:white", "color:#fff", "color: #FEFEFE", "color:rgb(255, 255, 255)", "color:#ffffff80"),
    *("color:transparent", "color:rgba(0,0,0,0)", "color:rgba(0, 0, 0, 0.0)"),
    *("color:rgb(0 0 0 / 0)", "color : WHITE"),
    *("position:absolute;left:-9999px", "text-indent:-1000px", "margin-left: -5000px"),
    "text-indent:100%;white-space:nowrap;overflow:hidden",
    *("max-height:0;overflow:hidden", "height:1px;overflow:hidden", "width:0px;overflow:hidden"),
    *("clip:rect(0 0 0 0)", "clip: rect(0px, 0px, 0px, 0px)", "clip-path: inset(50%)"),
    *("transform:scale(0)", "transform: translateX(-9999px)", "background:#123456;color:#123457"),
    *("display:none ! important", "display:/**/none", r"dis\70lay:none", "font:0/0 a"),
    *("font-size:calc(0px)", "font-size:calc(2px - 1 * 2px)", "font-size:min(9px, 0px)", "zoom:0"),
    *("color:snow", "color:ivory", "color:#00000000", "color:#0000", "color:rgb(100%,100%,100%)"),
    *("color:rgb(255.0,255.0,255.0)", "color:rgb(300,300,300)", "color:hsl(0,0%,100%)"),
    *("color:rgba(0,0,0,.01)", "color:oklch(1 0 0)", "color:color(display-p3 1 1 1)"),
    *("background:url(x) #123456;color:#123456", "-webkit-text-fill-color:transparent"),
    *("left:-100vw", "left:-100%", "left:9999px", "margin:0 0 0 -9999px", "inset:0 0 0 -9999px"),
    *("transform:translate(-99em)", "transform:translateX(9999px)", "transform:scale(.001)"),
    *("transform:rotateX(90deg)", "transform:matrix(0,0,0,0,0,0)", "translate:-9999px"),
    *("clip-path:inset(0 100% 0 0)", "clip-path:circle(0)", "clip-path:polygon(0 0,0 0,0 0)"),
    *("overflow:clip;height:0", "overflow:auto;max-height:0", "overflow:scroll;width:0"),
    *("overflow-y:hidden;height:0", "filter:opacity(0)", "letter-spacing:-2em"),
    *("content-visibility:hidden", "margin-inline-start:-9999px", "left:calc(-1 * 9999px)"),
]  # fmt: skip


@pytest.mark.parametrize("style", STYLES)
def test_what_a_style_hides_is_left_out_however_it_is_given(style: str) -> None:
    for html in (
        f'<p>Hello <span style="{style}">secret</span> there</p>',
        f'<div style="{style}"><p><b>secret</b></p> secret</div><p>Hello there</p>',
        f'<style>p {{}} .x{{{style}}}</style><p>Hello <i class="a x">secret</i> there</p>',
        f"<style>@media print {{ b {{}} }} #y {{ {style} }}</style>"
        "<p>Hello <u id=y>secret</u> there",
    ):
        said = read_page(html).text
        assert "secret" not in said and said.split() == ["Hello", "there"], html


@pytest.mark.parametrize(
    "html",
    [
        "<template>secret</template>",
        "<noscript>secret</noscript>",
        "<p hidden>secret</p>",
        '<p hidden="until-found">secret</p>',
        '<font color="#FFFFFF">secret</font>',
        "<font color=ffffff>secret</font>",
        *(f"<{tag}>secret</{tag}>" for tag in ("dialog", "datalist", "canvas", "iframe", "meter")),
        *(f"<{tag}>secret</{tag}>" for tag in ("noframes", "progress", "noembed")),
        "<details>secret<p>secret</p></details>",
        "<div popover>secret</div>",
        "<h1 hidden>a<p>secret</p></h1>",
        '<b style="opacity:.2"><b style="opacity:.2">secret</b></b>',
        "<a name=x style='color:white'>secret</a>",
        '<table bgcolor="navy"><tr><td style="color:navy">secret</td></tr></table>',
        '<div style="visibility:hidden"><p style="color:red">secret</p></div>',
        '<div style="display:none"><p style="display:block">secret</p></div>',
        "<!-- secret -->",
        "<title>secret</title>",
        "<svg><text>secret</text></svg>",
        "<svg><defs><foreignObject>secret</foreignObject></defs></svg>",
        "<svg width=0><foreignObject>secret</foreignObject></svg>",
        "<svg><g opacity=0><foreignObject>secret</foreignObject></g></svg>",
        "<svg><foreignObject x=-9999>secret</foreignObject></svg>",
        "<svg><foreignObject height='0px'>secret</foreignObject></svg>",
        "<svg><foreignObject style='display:none'>secret</foreignObject></svg>",
    ],
)
def test_so_is_what_an_element_hides(html: str) -> None:
    assert read_page(f"<p>Hello</p>{html}<p>there</p>").text.split() == ["Hello", "there"]


@pytest.mark.parametrize(
    "html",
    [
        '<td style="font-size:0px"><div style="font-size:13px">shown</div></td>',
        '<table><td bgcolor="#2f5d50"><a style="color:#ffffff">shown</a></table>',
        '<a style="background:#0066cc;color:white;padding:4px">shown</a>',
        '<div style="background-color:black"><p><font color=white>shown</font></p></div>',
        '<div style="visibility:hidden"><p style="visibility:visible">shown</p></div>',
        '<p style="line-height:0;max-width:0">shown</p>',
        "<svg width=90><g><foreignObject x=1 width=80><p>shown</p></foreignObject></g></svg>",
        '<p style="height:0">shown</p>',
        '<p style="opacity:0.8;font-size:80%">shown</p>',
        '<p style="color:#777;font-size:small">shown</p>',
        '<p style="margin-left:-4px;text-indent:-1em">shown</p>',
        '<p style="color:inherit">shown</p>',
        '<p style="color:;font-size:x">shown</p>',
        "<style>@media (max-width:9px) { .m { display:none } }</style><p class=m>shown</p>",
        "<style>.h { display: none } .h { display: block }</style><p class=h>shown</p>",
        "<style>@media screen and (max-width:600px) { p { display:none } }</style>shown",
        "<style>@media print { .m { display:none } }</style><p class=m>shown",
        "<style media=print>.m { display:none }</style><p class=m>shown",
        "<style>@media (min-width:601px) { .m { display:none } }</style><p class=m>shown",
        "<style>.m:hover, .m:not(p), b .m, .m > p, .m + b { display:none }</style><p class=m>shown",
        "<style>#h{display:block} .h{display:none;color:#fff}</style><p class=h id=h>"
        "<b style='color:red'>shown</b>",
        "<style>.h { display:block!important }</style><p class=h style='display:none'>shown",
        "<style>.head td { background:#123 }</style><table class=head><td><font color=white>shown"
        "</table>",
        "<style>body.dark { background:#112 } p { color:#ddd }</style><body class=dark>shown",
        '<p style="color:color(nonsense);background:rgb(var(--x))">shown</p>',
        '<table><td style="width:10%;overflow:hidden">shown</table>',
        '<table><td style="max-width:0;overflow:hidden;white-space:nowrap">shown</table>',
        '<div style="width:10%;overflow:hidden">shown</div>',
        '<div style="background-image:url(x);color:white">shown</div>',
        '<div style="background:url(x) no-repeat"><p style="color:white">shown</p></div>',
        '<table><td background=x><b style="color:white">shown</b></table>',
        '<p style="color:white"><a href=x>shown</a></p>',
        '<p style="color:var(--x);font-size:var(--y);left:calc(-9999px + var(--z))">shown</p>',
        '<p style="display:inline-block;margin-left:-50%;transform:translate(-50%,-50%)">shown</p>',
        '<p style="margin:0 auto;padding-top:60%;font:700 12px/0 Arial">shown</p>',
        '<p style="clip:rect(0,auto,auto,0);clip-path:inset(0 round 4px)">shown</p>',
        '<p style="transform:rotate(90deg) scale(.5)">shown</p>',
        "<p style='color:#fff;color:nonsense;color:#333'>shown</p>",
        "<details open>shown</details>",
        "<details><summary>shown</summary>x</details>",
        "<dialog open>shown</dialog>",
        "<b>sho</b>wn",
    ],
)
def test_what_is_seen_stays(html: str) -> None:
    assert read_page(f"<p>Hello</p>{html}<p>there</p>").text.split() == ["Hello", "shown", "there"]


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize(
    "html",
    [
        *(
            f"<style>{mark * 20_000}</style>"
            for mark in ("@", "@{", "/* ", "a,", "a{", "{", ".a{b:c}")
        ),
        f"<p style='color:rgba({'0' * 30_000}'>a",
        f"<p style='color:rgba({'0,' * 20_000})'>a",
        f"<p style='clip:{' ' * 40_000}x'>a",
        f"<p style='{'a:b;' * 10_000}'>a",
        "<b style='color:#fff'>" * 2_000 + "a",
        "<style>" + ".a{color:red}" * 4_000 + "</style>" + "<i class=a>" * 2_000,
        "<div>" * 200_000 + "a",
        "<a><div>" * 100_000,
        "<b><div>" * 50_000 + "</b>" * 50_000,
        "<span>" * 70_000 + "</b>" * 70_000,
        "<p " + " ".join(f"a{one}" for one in range(130_000)) + ">",
        "".join(f"<body a{one}=1>" for one in range(60_000)),
        "<p>" + "".join(f"<b a{one}>" for one in range(20_000)) + "<p>x" * 100_000,
        "<div><object></div></object>" * 30_000,
        "<div><!--</div>-->" * 50_000,
        '<div a="</div>">' * 50_000,
        "<div><textarea></div></textarea>" * 30_000,
        "<b>a</b>" * 120_000,
        "<p>a" * 250_000,
        "<style>div div div div div p{color:red}</style>" + "<div>" * 1_000 + "<p>a",
        "<style>" + "".join(f"i:not(.a{one}){{color:red}}" for one in range(3_000)) + "</style>"
        "<i>a</i>" * 10_000,
        "<style>"
        + "".join(f"i:nth-child({one}n+1){{color:red}}" for one in range(300))
        + "</style>"
        + "<i>a</i>" * 20_000,
        "".join(f"<i style='left:{one}px;top:1px'>a</i>" for one in range(30_000)),
        "<style>.z{display:" + "(" * 5_000 + "}</style><i class=z>a",
        "<style>" + "a{" * 3_000 + "b{display:none}" + "</style>a",
        "a<!-- -->" * 100_000,
        "<blockquote>" * 3_000 + "a",
        "<table><tr><td>" * 5_000 + "a",
    ],
    ids=range(35),
)
def test_no_style_takes_long(html: str) -> None:
    began = time.process_time()
    read_page(html)
    assert time.process_time() - began < 5


def test_what_stands_behind_a_hidden_element_stays() -> None:
    assert read_page("<p>a <i hidden>b</i> c</p>").text.split() == ["a", "c"]
    assert read_page("just text").text.strip() == "just text"
    assert read_page('<body style="display:none">a').text in ("", "a", " a")


SHEETS = [
    *(".a .b", "i.a.b", "div>i", "div > i", "[class~=b]", "p ~ div i", "html .b", ":is(.b)"),
    *(".b:not(:focus-within)", "i:not(.c)", "div div ~ p, .x, .b", ".b::before, .b", r".\\62"),
]


@pytest.mark.parametrize("selector", [one.replace("\\\\", "\\") for one in SHEETS])
def test_a_rule_finds_its_elements(selector: str) -> None:
    html = "<p>Hello</p><div class=a><i class='a b'>secret</i>there</div>"
    for sheet in (
        f"{selector} {{ display:none }}",
        f"<!-- {selector} {{ display:none }} -->",
        f"@media screen {{ {selector} {{ display:none }} }}",
        f"@media all, print {{ {selector} {{ display:none }} }}",
        f"@media (min-width:0) {{ {selector} {{ display:none }} }}",
        f"@supports (display:grid) {{ {selector} {{ display:none }} }}",
        f"body {{ {selector.replace('html ', '')} {{ display:none }} }}",
    ):
        said = read_page(f"<style>{sheet}</style>{html}").text.split()
        assert said == ["Hello", "there"], sheet


@pytest.mark.parametrize(
    "html",
    [
        "<style>i{display:none!important}</style><i style='display:inline'>secret</i>",
        "<style>.z{display:none}</style><i class='"
        + " ".join(f"c{one}" for one in range(30))
        + " z'>secret</i>",
        "<style>" + ".q{color:red}" * 5_000 + ".z{display:none}</style><i class=z>secret</i>",
        "<style>body{color:#fff}</style><i>secret</i><b style='color:red'>Hello there",
        "<style>.z{display:none</style><i class=z>secret</i>",
    ],
)
def test_the_rule_that_counts_hides(html: str) -> None:
    assert "secret" not in read_page(f"{html}Hello there").text


@pytest.mark.parametrize(
    ("html", "said"),
    [
        ("<div hidden></body>secret</div>a", ["a"]),
        ('<body text="#ffffff">secret<p style="color:red">a', ["a"]),
        ("<html><body>a</body></html><p>after</p>", ["a", "after"]),
        ("<html><body>a</html><!doctype html><html><body><p>b</html>", ["a", "b"]),
        ("<?xml version='1.0'?><?xml version='1.0' encoding='utf-8'?><p hidden>secret</p>a", ["a"]),
        (f"<?xml {' ' * 300} encoding='utf-8'?><p hidden>secret</p>a", ["a"]),
        ("a\0b\x01<p hidden>secret</p>\ud800c", ["ab\ufffdc"]),
        ("", []),
        ("<p hidden>secret", []),
    ],
)
def test_the_tree_is_the_one_of_browsers(html: str, said: list[str]) -> None:
    found = read_page(html).text
    assert "secret" not in found and UNREADABLE not in found
    assert found.split() == said


@pytest.mark.slow
@pytest.mark.parametrize(
    "html",
    [
        "<table><tr><td>" + "a" * 1990 + "<tr><td>" + "b<br>" * 520,
        "<table><tr><td>" + "a" * 200_000 + "<td>" + "b<br>" * 50_000,
        "<table><tr>" + "<td>a" * 1_000 + "<tr><td>a" * 1_000 + "<tr><td>" + "c" * 1_000,
        "<ul>" * 100 + "<li>a" * 1_000,
        "<table><tr><td>" * 90 + "a" * 3_000 + "<br>b" * 3_000,
        "<p style='padding-left:150em;margin-top:150em'>a" * 50,
        "<pre>" + "a" + " " * 5_000 + "b",
    ],
    ids=range(7),
)
def test_a_text_is_a_few_times_as_long_as_its_html(html: str) -> None:
    said = read_page(html).text
    assert UNREADABLE not in said and "a" in said
    assert len(said) < 5 * len(html) + 100


def test_what_cant_be_read_safely_is_not_read_at_all() -> None:
    for html in (
        "<p class=z>secret</p>" + "<!--" + "x" * 1_000_000 + "--><style>.z{display:none}</style>",
        "<div>" * 150_000 + "secret",
        "<style>" + ",".join(f".a{one}" for one in range(60_000)) + "{color:red}</style>secret",
    ):
        assert "secret" not in read_page(html).text


def test_a_table_keeps_its_columns() -> None:
    said = read_page("<table><tr><td>one<td>2<tr><td>three<td>4</table><p>end").text
    assert [line.split() for line in said.strip().splitlines() if line.strip()] == [
        ["one", "2"],
        ["three", "4"],
        ["end"],
    ]


def test_a_picture_in_a_mail_is_not_its_length() -> None:
    picture = "<img src='data:image/png;base64," + "A" * 2_000_000 + "'>"
    assert read_page(f"<p>Hello</p>{picture}<p>there</p>").text.split() == ["Hello", "there"]
