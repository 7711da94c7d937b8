/** Addresses in a text, and links. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { parse } from "../../static/chat/text/blocks.js";

/** @param {string} text */
const html = (text) =>
  parse(text)
    .blocks.map((block) => block.html)
    .join("");
/** @param {string} text */
const links = (text) =>
  [...html(text).matchAll(/<a href="[^"]*">(.*?)<\/a>/g)].map(([, address]) => address);

/** @type {[string, string[]][]} */
const ADDRESSES = [
  [
    "请看https://pier.example/a。然后（https://pier.example/b）",
    ["https://pier.example/a", "https://pier.example/b"],
  ],
  [
    "「https://pier.example/a」と『https://pier.example/b』",
    ["https://pier.example/a", "https://pier.example/b"],
  ],
  ["《https://pier.example》", ["https://pier.example"]],
  [
    "https://pier.example/a，https://pier.example/b、https://pier.example/c；",
    ["https://pier.example/a", "https://pier.example/b", "https://pier.example/c"],
  ],
  [
    "https://pier.example/a：好！https://pier.example/b？",
    ["https://pier.example/a", "https://pier.example/b"],
  ],
  ["https://pier.example/docs（说明）了解", ["https://pier.example/docs"]],
  ["“https://pier.example/a”。", ["https://pier.example/a"]],
  ["‘https://pier.example/a’的", ["https://pier.example/a"]],
  ["看https://pier.example/a……然后", ["https://pier.example/a"]],
  ["https://pier.example——好", ["https://pier.example"]],
  ["【https://pier.example/a】", ["https://pier.example/a"]],
  ["https://pier.example/?q=a&b=1。", ["https://pier.example/?q=a&amp;b=1"]],
  ["https://pier.example/a.。", ["https://pier.example/a"]],
  ["(https://pier.example/a_(b))。", ["https://pier.example/a_(b)"]],
  ["https://pier.example/a، ثم", ["https://pier.example/a"]],
  ["https://pier.example看看", ["https://pier.example"]],
  ["https://pier.example:8000看看", ["https://pier.example:8000"]],
  ["www.pier.example，好", ["www.pier.example"]],
  ["a@pier.example。", ["a@pier.example"]],
  // Letters belong to the address, as everywhere.
  ["https://zh.wikipedia.org/wiki/北京", ["https://zh.wikipedia.org/wiki/北京"]],
  ["https://zh.wikipedia.org/wiki/北京。", ["https://zh.wikipedia.org/wiki/北京"]],
  [
    "https://ja.wikipedia.org/wiki/レオナルド・ダ・ヴィンチ",
    ["https://ja.wikipedia.org/wiki/レオナルド・ダ・ヴィンチ"],
  ],
  ["https://ko.wikipedia.org/wiki/서울", ["https://ko.wikipedia.org/wiki/서울"]],
  ["https://fr.wikipedia.org/wiki/L’Étranger", ["https://fr.wikipedia.org/wiki/L’Étranger"]],
  ["https://pier.example/a.", ["https://pier.example/a"]],
  ["https://pier.example/ä/ö", ["https://pier.example/ä/ö"]],
  ["<https://pier.example/a。b>", ["https://pier.example/a。b"]],
  ["[x](https://pier.example/a。b)", ["x"]],
  ["http://。", []],
  ["https://（", []],
  ["http://[::1", []],
  ["https://[not-ip]/a", []],
  // Ports, and hosts of IPv6 and of other scripts.
  ["at http://[::1]:8000/x.", ["http://[::1]:8000/x"]],
  ["(http://[2001:db8::1]/)", ["http://[2001:db8::1]/"]],
  ["<http://[::1]/>", ["http://[::1]/"]],
  ["[x](http://[::1]:8000/)", ["x"]],
  ["https://пример.рф/путь.", ["https://пример.рф/путь"]],
  ["https://例え.jp/パス。", ["https://例え.jp/パス"]],
  ["http://localhost:8000/chat?x=1.", ["http://localhost:8000/chat?x=1"]],
  // Brackets and quotation marks of the sentence, and of the address.
  ["[https://pier.example/a]", ["https://pier.example/a"]],
  ["{https://pier.example/a}", ["https://pier.example/a"]],
  ["(https://pier.example/a).", ["https://pier.example/a"]],
  ["https://pier.example/[a]", ["https://pier.example/[a]"]],
  ["https://pier.example/{id}/x", ["https://pier.example/{id}/x"]],
  ['{"url":"https://pier.example/a","x":1}', ["https://pier.example/a"]],
  ["https://pier.example's", ["https://pier.example"]],
  ["https://pier.example’s", ["https://pier.example"]],
  ["**https://pier.example/a**", ["https://pier.example/a"]],
  ["_https://pier.example/a_b_", ["https://pier.example/a_b"]],
  ["https://pier.example/a*b*c", ["https://pier.example/a*b*c"]],
  // What ends it: signs that nobody sees, arrows, pictures, sentences of other scripts.
  ["https://pier.example/a\u200b後", ["https://pier.example/a"]],
  ["\u200fhttps://pier.example/a\u200f", ["https://pier.example/a"]],
  ["\u202ahttps://pier.example/a\u202c", ["https://pier.example/a"]],
  [
    "https://pier.example/a→https://pier.example/b",
    ["https://pier.example/a", "https://pier.example/b"],
  ],
  [
    "https://pier.example/a->https://pier.example/b",
    ["https://pier.example/a-", "https://pier.example/b"],
  ],
  ["https://pier.example/a👍 yes", ["https://pier.example/a"]],
  ["https://pier.example/a।", ["https://pier.example/a"]],
  ["https://pier.example/a؟", ["https://pier.example/a"]],
  ["https://pier.example/a។", ["https://pier.example/a"]],
  ["https://pier.exampleครับ", ["https://pier.example"]],
  ["https://pier.example/a～b", ["https://pier.example/a～b"]],
  ["https://pier.example/a\u200c", ["https://pier.example/a"]],
  ["see https://pier.example/a[^1]", ["https://pier.example/a"]],
  ["http://-", []],
  ["www.-", []],
  ["https://pier.example/?a[]=1", ["https://pier.example/?a[]=1"]],
  // Escaped as in HTML.
  ["https://pier.example/?a=1&amp;b=2", ["https://pier.example/?a=1&amp;b=2"]],
  ["https://pier.example/?a=1&copy=2", ["https://pier.example/?a=1&amp;copy=2"]],
  ["https://pier.example/a&gt;", ["https://pier.example/a"]],
  ["https://pier.example/a<br>b", ["https://pier.example/a"]],
  [
    "[![Build](https://pier.example/a.svg)](https://pier.example/b)",
    ["Image: Build (pier.example)"],
  ],
];

describe("an address", () => {
  for (const [text, found] of ADDRESSES) it(text, () => assert.deepEqual(links(text), found));

  it("leads where it says", () => {
    /** @type {[string, string][]} */
    const leads = [
      ["http://[::1]:8000/x", "http://[::1]:8000/x"],
      ["[x](http://[::1]:8000/x)", "http://[::1]:8000/x"],
      ["https://pier.example/?a=1&amp;b=2", "https://pier.example/?a=1&b=2"],
      ["www.pier.example/a", "http://www.pier.example/a"],
      ["https://例え.jp/パス", "https://xn--r8jz45g.jp/%E3%83%91%E3%82%B9"],
      ["[x](<https://pier.example/a b>)", "https://pier.example/a%20b"],
      ["[![Build](https://pier.example/a.svg)](https://pier.example/b)", "https://pier.example/b"],
      ["a@pier.example", "mailto:a@pier.example"],
    ];
    for (const [text, address] of leads) {
      const [, href] = /** @type {RegExpExecArray} */ (/<a href="([^"]*)"/.exec(html(text)));
      assert.equal(new URL(href.replaceAll("&amp;", "&")).href, address, text);
    }
  });

  it("stays in its attribute", () => {
    for (const text of [
      '[x](https://a.example/"onclick="y)',
      '[x](<https://a.example/"><img>)',
      '[x](https://a.example "a\\"b<img>")',
      'https://a.example/"><img>',
    ]) {
      assert.doesNotMatch(html(text), /<img|<a [^>]*" ?onclick/, text);
    }
  });

  it("of a picture's data is named by its type", () => {
    assert.match(html("![Chart](data:image/png;base64,AAAABBBB)"), />Image: Chart \(image\/png\)</);
  });

  it("is found soon, whatever it is", () => {
    for (const piece of [
      "http://a。",
      "https://a",
      "http://a.b……",
      "https://pier.example/…",
      "https://a)",
      ")",
      "&amp;",
      "[https://a",
    ]) {
      const text = "https://a/" + piece.repeat(Math.floor(1900 / piece.length));
      const begun = process.cpuUsage();
      parse(text);
      const { user } = process.cpuUsage(begun);
      assert.ok(user < 2_000_000, `${piece} took ${user} µs`);
    }
  });
});
