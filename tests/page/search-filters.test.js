import assert from "node:assert/strict";
import { test } from "node:test";

import { valueOf, withFilter, withoutFilter } from "../../static/chat/sidebar/search-filters.js";

test("a field writes its filter behind the words, once", () => {
  assert.equal(withFilter("quay", "agent", "demo"), "quay agent:demo");
  assert.equal(withFilter("agent:demo quay", "agent", "pirate"), "quay agent:pirate");
  assert.equal(withFilter("quay agent:demo", "agent", ""), "quay");
  assert.equal(withFilter("", "folder", 'tax "returns"'), 'folder:"tax returns"');
});

test("a field shows what is typed", () => {
  assert.equal(valueOf('quay folder:"tax returns"', "folder"), "tax returns");
  assert.equal(valueOf("after:2026-11-01 AFTER:2026-11-02", "after"), "2026-11-02");
  assert.equal(valueOf("thereafter:2026", "after"), "");
});

test("a chip takes its filter away and leaves the rest", () => {
  assert.equal(withoutFilter("is:pinned quay is:archived", "is:pinned"), "quay is:archived");
  assert.equal(withoutFilter("is:pinned", "is:pinned"), "");
  assert.equal(withoutFilter("this:pinned", "is:pinned"), "this:pinned");
});
