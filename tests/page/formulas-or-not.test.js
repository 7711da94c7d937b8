/** Dollars: what is a formula, and what are prices and variables. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { parse } from "../../static/chat/text/blocks.js";

/** @param {string} text */
const html = (text) =>
  parse(text)
    .blocks.map((block) => block.html)
    .join("");
/** @param {string} text */
const formulas = (text) =>
  [...html(text).matchAll(/<code class="math-(?:inline|display)">([^<]*)<\/code>/g)].map(
    ([, source]) => source,
  );

const NONE = [
  "Set $HOME:$PATH first.",
  "export PATH=$HOME/bin:$PATH",
  "Use ${HOME}:${PATH}.",
  "echo $A and $B",
  "echo $A$B",
  "echo $A,$B",
  "echo $A/$B/$C",
  'Quote "$A" and "$B", always.',
  "cp $SRC $DST",
  "rm -rf $DIR/$FILE-$N.txt",
  "$USER@$HOST",
  "$(date)-$(hostname)",
  "Run $(pwd)/$(ls).",
  "awk '{print $1,$2}'",
  "awk '{print $1, $2, $NF}'",
  "$1/$2",
  "$1$2",
  "$0~$1",
  "$?/$!",
  "$@ and $*",
  "The PID is $$ and the parent's $$.",
  "kill $$; echo $$",
  "In PHP: $x = $y;",
  "$a=$b;",
  "$a+$b",
  "$a.$b",
  "$user->name($id)",
  "$_GET['a'].$_POST['b']",
  "$('#a'),$('#b')",
  "PowerShell: $env:USERPROFILE\\bin;$env:PATH",
  "`$a$`",
  "Template: $MY_NAME$ and $user_name$",
  "It costs $5 and $10.",
  "From $5-$10, or US$ 3.",
  "5$, 10$ or 20$",
  "100$/month, 200$/year",
  "US$5/C$7",
  "$5/€4 or 5$",
  "$AAPL, $TSLA and $MSFT",
  "$1M/$2M",
  "$5K–$10K",
  "A$ and US$",
  "It's $5 (10$ in Canada)",
  "Between $5 and 10$.",
  "$HOME、$PATH。",
  "价格是$5，或者10$。",
  "^foo$|^bar$",
  "变量$HOME和$PATH",
  "$x and y",
  "A \\$5\\$ note",
  "$PATH",
  "${VAR}",
  "$ x $",
  "$PATH:$",
  "R: df$x + df$y and df$x, df$y",
  "$(CC) $(CFLAGS) -o $@ $<",
  '{{ $t("a") }} and $t("b")',
  "#/$defs/x and $id",
  "jq .[$a,$b]",
  "[$x, $y] = [$y, $x];",
  "for i in $(seq 1 $n); do echo $i; done",
  "fn($a, $b) => $a + $b",
  "$this->a = $b",
  "$arr[0], $arr[1]",
  "if ($a > $b && $c < $d)",
  "Cost: $1,000-$2,000 (~$1.5k)",
  "$5/$10/$20",
  "$HOME/.config and $XDG_DATA_DIRS/share",
  "see \\[1\\] and \\[2, 3\\]",
  "array\\[0\\]",
  "\\[not a link\\](x)",
  "\\[Note: read it first.\\]",
  "$.fn.x=$.fn.y",
  "Makefile: $$HOME/$$USER",
  "$scope.x = $scope.y",
  "cells $A$1:$B$2",
  "=VLOOKUP($A2,$B$1:$C$10,2)",
  "{ $set: { a: 1 }, $inc: { b: 2 } }",
  "A$AP and Ke$ha",
  "$((1+2))-$((3+4))",
  "{{ $.Values.x }} {{ $.Values.y }}",
  "$100 × 1.05 = $105",
  "$1000 * (1 + 0.05)^2 = $1102.50",
  "| $5 | $10 |\n|---|---|\n| $5 | $10/mo |",
  "$5→$6",
  "R$ 5,00 e R$ 10,00",
  "$_ and $_",
  "$_[0] + $_[1]",
];

/** @type {[string, string[]][]} */
const SOME = [
  ["$x^2$", ["x^2"]],
  ["$\\alpha$", ["\\alpha"]],
  ["$n$", ["n"]],
  ["$f(x) = y$", ["f(x) = y"]],
  ["Let $n$ be.", ["n"]],
  ["the $n$th", ["n"]],
  ["all $x$s", ["x"]],
  ["$n$-th", ["n"]],
  ["($x$)", ["x"]],
  ["$x$, $y$ and $z$.", ["x", "y", "z"]],
  ["“$x$”", ["x"]],
  ["**$x$**", ["x"]],
  ["设$x$为", ["x"]],
  ["$x$です", ["x"]],
  ["10$^\\circ$C", ["^\\circ"]],
  ["3$\\times$4", ["\\times"]],
  ["$\\approx$5", ["\\approx"]],
  ["$\\mu$m", ["\\mu"]],
  ["$x^2$s", ["x^2"]],
  ["$[0, 1)$", ["[0, 1)"]],
  ["$\\{1, 2\\}$", ["\\{1, 2\\}"]],
  ["$a < b$", ["a &lt; b"]],
  ["$1 + 1 = 2$", ["1 + 1 = 2"]],
  ["$ABC$", ["ABC"]],
  ["$a_1 \\, b_2$", ["a_1 \\, b_2"]],
  ["$x_{max}$", ["x_{max}"]],
  ["$f: A \\to B$", ["f: A \\to B"]],
  ["$P(A|B)$", ["P(A|B)"]],
  ["$f$(x)", ["f"]],
  ["$2^{10}$", ["2^{10}"]],
  ["cost $5 and $x^2$", ["x^2"]],
  ["$E = mc^2$!", ["E = mc^2"]],
  ["$\\text{if } x > 0$", ["\\text{if } x &gt; 0"]],
  ["$x'$", ["x'"]],
  ["$n!$", ["n!"]],
  ["$|x|$", ["|x|"]],
  ["$$x = 1$$", ["x = 1"]],
  ["So $$a + b$$ holds", ["a + b"]],
  ["$$\nrate of change\n$$", ["rate of change"]],
  ["$\\frac{a}{b}$", ["\\frac{a}{b}"]],
  ["$O(n \\log n)$", ["O(n \\log n)"]],
  ["$0 \\le x \\le 1$", ["0 \\le x \\le 1"]],
  ["$k$: the number", ["k"]],
  ["$-1$", ["-1"]],
  ["$3$", ["3"]],
  ["$a/b$", ["a/b"]],
  ["$HOME$", ["HOME"]],
  ["$\\$5 + x$", ["\\$5 + x"]],
  ["$3$D", []],
  ["\\[x\\]", ["x"]],
  ["\\[ 42 \\]", ["42"]],
  ["\\[2x + xy\\]", ["2x + xy"]],
  ["\\[\\text{not a link}\\]", ["\\text{not a link}"]],
  ["\\[\nrate of change\n\\]", ["rate of change"]],
  ["$α$", ["α"]],
  ["$α + β$", ["α + β"]],
  ["H$_2$O", ["_2"]],
  ["CO$_{2}$ and N$_2$", ["_{2}", "_2"]],
  ["$25^\\circ$C", ["25^\\circ"]],
  ["$v_{0}$m", ["v_{0}"]],
  ["$10^{-3}$M", ["10^{-3}"]],
  ["令$$x=1$$。", ["x=1"]],
  ["设$$x$$", ["x"]],
];

describe("dollars", () => {
  for (const text of NONE) it(`leaves ${text}`, () => assert.deepEqual(formulas(text), []));
  for (const [text, found] of SOME)
    it(`finds ${text}`, () => assert.deepEqual(formulas(text), found));

  it("breaks no line and no code where a formula follows a single sign", () => {
    assert.doesNotMatch(
      html("a$$x$$ b") + html("`$$x$$` b") + html("x\\[y\\]"),
      /<br>|<code> |<p>x<\/p>/,
    );
  });

  it("loses no dollar that isn't a formula's", () => {
    for (const text of NONE) {
      const shown = html(text).replace(/<[^>]*>/g, "");
      assert.equal(shown.split("$").length, text.split("$").length, text);
    }
  });
});
