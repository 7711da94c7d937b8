/** What a slash in the message box means, blanks of prompts, and tables as text. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { toCsv, toTabs } from "../../static/chat/preview/csv.js";
import { blanksOf, fillBlanks } from "../../static/chat/state/blanks.js";
import { listFor, readCommand } from "../../static/chat/state/slash.js";

const act = () => {};
const CHOICES = [
  { words: "The last 3", act },
  { words: "Everything", act },
];
const COMMANDS = [
  { name: "new", words: "New chat", keys: null, act, slash: true },
  { name: "compact", words: "Make room", keys: null, act, slash: true, takes: true },
  { name: "policy", words: "What is seen", keys: null, act, slash: true, choices: () => CHOICES },
  { name: "side", words: "Show the sidebar", keys: null, act },
];
const PROMPTS = [{ words: "weekly report", more: "Write it", act }];

describe("a text that is a command", () => {
  const read = (text) => {
    const found = readCommand(text, COMMANDS);
    return found && [found.command.name, found.rest];
  };

  it("is its name alone, or what it takes behind it", () => {
    assert.deepEqual(read("/new"), ["new", ""]);
    assert.deepEqual(read("/compact"), ["compact", ""]);
    assert.deepEqual(read("  /compact  the order  number "), ["compact", "the order number"]);
  });

  it("is no other text", () => {
    for (const text of [
      "",
      "compact",
      "/compacting",
      "/compact-it",
      "Type /compact",
      "/Compact",
      "/compact\nis new",
      "/new York",
      "/etc/hosts is a file",
      "/side",
      "/",
    ])
      assert.equal(read(text), null, text);
  });
});

describe("the list", () => {
  const listed = (text) =>
    listFor(
      text,
      COMMANDS.filter(({ slash }) => slash),
      PROMPTS,
    ).map(({ name, words }) => name || words);

  it("has all, then what begins with the letters, or has such a word", () => {
    assert.deepEqual(listed("/"), ["new", "compact", "policy", "weekly report"]);
    assert.deepEqual(listed("/co"), ["compact"]);
    assert.deepEqual(listed("/ROOM"), ["compact"]);
    assert.deepEqual(listed("/rep"), ["weekly report"]);
    assert.deepEqual(listed("/weekly re"), ["weekly report"]);
    assert.deepEqual(listed("/is"), ["policy"]);
  });

  it("shows choices behind a name, and stays for a text that is taken", () => {
    assert.deepEqual(listed("/policy "), ["The last 3", "Everything"]);
    assert.deepEqual(listed("/policy la"), ["The last 3"]);
    assert.deepEqual(listed("/compact the number"), ["compact"]);
  });

  it("is empty for messages", () => {
    for (const text of ["", "a/", "/etc/hosts", "/compactness", "/what is", "/n\n", "/new York"])
      assert.deepEqual(listed(text), [], text);
  });
});

describe("blanks", () => {
  const TEXT = "On {{topic}}, {{ reader = a child }}: {{tone:friendly|formal}}. {{topic}}!";

  it("have a name, and a default or choices", () => {
    assert.deepEqual(blanksOf(TEXT), [
      { name: "topic", choices: [], usual: "" },
      { name: "reader", choices: [], usual: "a child" },
      { name: "tone", choices: ["friendly", "formal"], usual: "friendly" },
    ]);
  });

  it("may be named shortly before they are described", () => {
    assert.deepEqual(blanksOf("{{tone}} {{tone:a|b}}"), [
      { name: "tone", choices: ["a", "b"], usual: "a" },
    ]);
  });

  it("are filled wherever they stand; one without a value stays", () => {
    const values = new Map([
      ["topic", "$& tides"],
      ["tone", "formal"],
    ]);
    assert.equal(fillBlanks(TEXT, values), "On $& tides, a child: formal. $& tides!");
    assert.equal(fillBlanks("On {{topic}}", new Map([["topic", " "]])), "On {{topic}}");
  });

  it("are nothing else in braces", () => {
    for (const text of ["{topic}", "{{}}", "{{ }}", "{{a\nb}}", "{{{x}", "{{a|b}}"])
      assert.deepEqual(blanksOf(text), [], text);
  });
});

describe("a table as text", () => {
  it("quotes what RFC 4180 asks for", () => {
    assert.equal(toCsv([["a", 'b "c"', "d,e", "f\ng"]]), '\uFEFFa,"b ""c""","d,e","f\ng"\r\n');
  });

  it("disarms formulas and leaves numbers alone", () => {
    const cells = ["=1+1", "+cmd", "-x", "@SUM", " =1", "-12.5", "+3 %", "1-2", "-1,234.50"];
    const [line] = toTabs([cells]).split("\n");
    assert.deepEqual(line.split("\t"), [
      ...["'=1+1", "'+cmd", "'-x", "'@SUM", "' =1"],
      ...["-12.5", "+3 %", "1-2", "-1,234.50"],
    ]);
    assert.match(toCsv([["-1+cmd|'/C calc'!A0"]]), /^\uFEFF'-1/);
  });

  it("keeps a cell in its place on the clipboard", () => {
    assert.equal(toTabs([["a\tb", "c\nd"], ["e"]]), "a b\tc d\ne");
  });
});
