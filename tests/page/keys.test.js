/** Keys of commands. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { commandTable } from "../../static/chat/shell/commands.js";
import {
  areSame,
  isModifier,
  keysOf,
  nameKeys,
  whyNotKeys,
  withKeys,
} from "../../static/chat/state/keys.js";

const act = () => {};
const TABLE = [
  { name: "new", words: "New chat", keys: { code: "KeyO", shift: true, control: true }, act },
  { name: "policy", words: "Memory", keys: null, act },
];

describe("the keys of a command", () => {
  it("are written as they are on the keyboard", () => {
    assert.deepEqual(nameKeys({ code: "KeyO", shift: true, control: true }, false), [
      "Ctrl",
      "Shift",
      "O",
    ]);
    assert.deepEqual(nameKeys({ code: "ArrowUp", shift: true, control: true }, true), [
      "⌘",
      "⇧",
      "↑",
    ]);
    assert.deepEqual(nameKeys({ code: "F2" }, false), ["F2"]);
  });

  it("are those of an event, whichever of Ctrl and ⌘ is held", () => {
    const event = { code: "KeyO", shiftKey: true, ctrlKey: false, metaKey: true };
    assert.ok(areSame(keysOf(event), TABLE[0].keys));
    assert.ok(!areSame(null, null));
    assert.ok(isModifier({ code: "ControlLeft" }) && !isModifier({ code: "KeyC" }));
  });

  it("can't be taken from the browser, from typing, or from another command", () => {
    const [, policy] = TABLE;
    assert.match(whyNotKeys(TABLE, policy, { code: "KeyM" }), /needs Ctrl/);
    assert.match(whyNotKeys(TABLE, policy, { code: "KeyW", control: true }), /browser/);
    assert.match(
      whyNotKeys(TABLE, policy, { code: "KeyO", shift: true, control: true }),
      /New chat/,
    );
    assert.equal(whyNotKeys(TABLE, policy, { code: "KeyM", control: true, shift: true }), "");
    assert.equal(whyNotKeys(TABLE, TABLE[0], { code: "KeyO", shift: true, control: true }), "");
  });

  it("come back as they were stored, and damaged ones change nothing", () => {
    const stored = JSON.stringify({
      policy: { code: "KeyM", control: true },
      new: 7,
      gone: { code: "KeyG" },
    });
    assert.deepEqual(
      withKeys(TABLE, stored).map(({ keys }) => keys?.code),
      ["KeyO", "KeyM"],
    );
    for (const damaged of ["", "{", "null", "[]", '"x"'])
      assert.deepEqual(withKeys(TABLE, damaged), TABLE, damaged);
  });

  it("stay with what somebody chose them for, also where they became another command's usual ones", () => {
    const stored = JSON.stringify({ policy: { code: "KeyO", shift: true, control: true } });
    assert.deepEqual(
      withKeys(TABLE, stored).map(({ keys }) => keys?.code),
      [undefined, "KeyO"],
    );
  });

  it("are none that a browser keeps from pages, or opens its inspector with", () => {
    // With Ctrl+Shift, in Chromium or Firefox: tabs, windows, quitting; then inspector, tools, console.
    const theirs = ["KeyN", "KeyP", "KeyQ", "KeyT", "KeyW", "KeyC", "KeyI", "KeyJ"];
    const acts = new Proxy(/** @type {Parameters<typeof commandTable>[0]} */ ({}), {
      get: () => act,
    });
    const used = commandTable(acts, {}, {}).filter(
      ({ keys }) => keys?.control && keys.shift && theirs.includes(keys.code),
    );
    assert.deepEqual(
      used.map(({ name }) => name),
      [],
    );
  });
});
