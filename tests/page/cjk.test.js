/** Chinese, Japanese and Korean beside Markdown's marks. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { parse } from "../../static/chat/text/blocks.js";

/** @param {string} text */
const html = (text) =>
  parse(text)
    .blocks.map((block) => block.html)
    .join("");
/** @param {string} text */
const marked = (text) =>
  [...html(text).matchAll(/<(strong|em|del)>(.*?)<\/\1>/g)].map(
    ([, tag, inner]) => `${tag}: ${inner}`,
  );

/** @type {[string, string[]][]} */
const EMPHASIS = [
  ["これは**「重要」**です。", ["strong: 「重要」"]],
  ["**テスト。**テスト", ["strong: テスト。"]],
  ["这是**“重要”**的", ["strong: “重要”"]],
  ["**한국어**는", ["strong: 한국어"]],
  ['**"한국어"**는', ["strong: &quot;한국어&quot;"]],
  ["**마크다운(Markdown)**은", ["strong: 마크다운(Markdown)"]],
  ["**该星号不会被识别。**这是", ["strong: 该星号不会被识别。"]],
  ["**注意：**请看", ["strong: 注意："]],
  ["**重要:**是", ["strong: 重要:"]],
  ["他说**《红楼梦》**好", ["strong: 《红楼梦》"]],
  ["は*「強調」*です", ["em: 「強調」"]],
  ["は~~「古い」~~です", ["del: 「古い」"]],
  ["は***「両方」***です", ["em: <strong>「両方」</strong>"]],
  ["**（注）**と**【例】**を", ["strong: （注）", "strong: 【例】"]],
  ["**`npm`。**次", ["strong: <code>npm</code>。"]],
  ["価格は**￥100**です", ["strong: ￥100"]],
  ["**ＡＢＣ！**です", ["strong: ＡＢＣ！"]],
  ["「_強調_」*と*", ["em: 強調", "em: と"]],
  ["**「_x_」**です", ["strong: 「<em>x</em>」"]],
  ["**𠮷野家（店）**で", ["strong: 𠮷野家（店）"]],
  ['中文**"a"**中文', ["strong: &quot;a&quot;"]],
  ["漢字**(括弧)**漢字", ["strong: (括弧)"]],
  ["**終わり！？**次", ["strong: 終わり！？"]],
  ["**完了🎉**です", ["strong: 完了🎉"]],
  ["と**🎉おめでとう**", ["strong: 🎉おめでとう"]],
  ["**注意⚠️**です", ["strong: 注意⚠️"]],
  ["**ไทย (Thai)**ครับ", ["strong: ไทย (Thai)"]],
  ["**ໝາຍເຫດ:**ລາວ", ["strong: ໝາຍເຫດ:"]],
  ["**ចំណាំ៖**ខ្មែរ", ["strong: ចំណាំ៖"]],
  ["**50%**の", ["strong: 50%"]],
  // What needs no help, and what is no emphasis.
  ["a **b** c", ["strong: b"]],
  ["**a**b", ["strong: a"]],
  ['a**"b"**c', []],
  ["2 ** 3 と 4 ** 5", []],
  ["一 * 二 * 三", []],
  ["**「未完", []],
  ["`**「」**`です", []],
  ["\\*\\*「」\\*\\*です", []],
  ["3~5天，7~9天", []],
  ["約~5~個", []],
];

describe("emphasis beside Chinese, Japanese and Korean", () => {
  for (const [text, found] of EMPHASIS) it(text, () => assert.deepEqual(marked(text), found));
});

describe("such texts", () => {
  it("are parsed soon, whatever they say", () => {
    for (const piece of ["は**「", "」**は", "**「*」~~「_", "*「」", "「_*", "は**🎉"]) {
      const text = piece.repeat(Math.floor(2000 / piece.length));
      const begun = process.cpuUsage();
      parse(text);
      const { user } = process.cpuUsage(begun);
      assert.ok(user < 2_000_000, `${piece} took ${user} µs`);
    }
  });
});
