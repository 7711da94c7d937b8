/** Numbers, times, sizes and sentences as people read them. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import {
  byteLength,
  capitalize,
  countWords,
  dateGroup,
  describeWaiting,
  formatBytes,
  formatDollars,
  formatDuration,
  formatNumber,
  formatTime,
  shorten,
} from "../../static/chat/state/format.js";

/** Checks a function against a table of arguments and results. */
function table(act, rows) {
  for (const [given, expected] of rows) assert.equal(act(given), expected, String(given));
}

it("numbers have commas", () =>
  table(formatNumber, [
    [0, "0"],
    [999, "999"],
    [1234567, "1,234,567"],
  ]));

it("durations are milliseconds up to a second, then seconds", () => {
  table(formatDuration, [
    [0, "0 ms"],
    [999.4, "999 ms"],
    [1000, "1.0 s"],
    [9949, "9.9 s"],
    [10000, "10 s"],
    [61_500, "62 s"],
  ]);
});

it("dollars show two significant digits below ten cents", () => {
  table(formatDollars, [
    [0, "$0"],
    [0.0000001, "under $0.000001"],
    [0.0012, "$0.0012"],
    [0.00000123, "$0.0000012"],
    [0.05, "$0.050"],
    [0.1, "$0.10"],
    [3, "$3.00"],
    [12.345, "$12.35"],
  ]);
});

it("sizes are in steps of 1024, with three digits at most", () => {
  table(formatBytes, [
    [0, "0 bytes"],
    [1, "1 byte"],
    [1023, "1,023 bytes"],
    [1024, "1 kB"],
    [421_888, "412 kB"],
    [1_048_575, "1 MB"],
    [1_258_291, "1.2 MB"],
    [50 * 1024 ** 2, "50 MB"],
    [3 * 1024 ** 3, "3 GB"],
    [5000 * 1024 ** 3, "5000 GB"],
  ]);
});

describe("times", () => {
  const now = new Date(2026, 10, 22, 15, 0);

  it("are a clock today and a date otherwise", () => {
    assert.equal(formatTime(new Date(2026, 10, 22, 9, 5).toISOString(), now), "09:05");
    assert.equal(formatTime(new Date(2026, 10, 3, 14, 5).toISOString(), now), "3 Nov, 14:05");
    const before = new Date(2023, 10, 3, 14, 5).toISOString();
    assert.equal(formatTime(before, now), "3 Nov 2023, 14:05");
    assert.equal(formatTime("never", now), "");
  });

  it("fall into the sidebar's groups", () => {
    assert.equal(dateGroup(new Date(2026, 10, 22, 0, 0).toISOString(), now), "Today");
    assert.equal(dateGroup(new Date(2026, 10, 21, 23, 59).toISOString(), now), "Yesterday");
    assert.equal(dateGroup(new Date(2026, 10, 21, 0, 0).toISOString(), now), "Yesterday");
    assert.equal(dateGroup(new Date(2026, 10, 20, 23, 59).toISOString(), now), "Previous 7 days");
    assert.equal(dateGroup(new Date(2026, 10, 15, 0, 0).toISOString(), now), "Previous 7 days");
    assert.equal(dateGroup(new Date(2026, 10, 14, 23, 0).toISOString(), now), "Previous 30 days");
    assert.equal(dateGroup(new Date(2026, 9, 23, 0, 0).toISOString(), now), "Previous 30 days");
    assert.equal(dateGroup(new Date(2026, 9, 22, 23, 0).toISOString(), now), "October");
    assert.equal(dateGroup(new Date(2025, 9, 22, 23, 0).toISOString(), now), "October 2025");
  });
});

it("bytes on the wire are those of UTF-8", () =>
  table(byteLength, [
    ["", 0],
    ["abc", 3],
    ["é", 2],
    ["👍🏽", 8],
  ]));

it("words are counted between blanks", () =>
  table(countWords, [
    ["", 0],
    ["  ", 0],
    ["one", 1],
    [" a\n b\tc ", 3],
  ]));

it("phrases become sentences", () =>
  table(capitalize, [
    ["", ""],
    ["last 3", "Last 3"],
    ["élan", "Élan"],
  ]));

describe("a long text", () => {
  it("is cut to one line", () => {
    assert.equal(shorten("two\nlines  here"), "two lines here");
    assert.equal(shorten("abcdef", 4), "abc…");
    assert.equal(shorten("ab cdef", 4), "ab…");
    assert.equal(shorten("abcd", 4), "abcd");
  });

  it("is never cut within a character", () => assert.equal(shorten("𝔘𝔫𝔦𝔠", 3), "𝔘𝔫…"));
});

it("waiting names the seconds where they are known", () => {
  assert.equal(describeWaiting("It is busy.", 3), "It is busy. Trying again in 3 s.");
  assert.equal(describeWaiting("It is busy.", 0), "It is busy. Trying again.");
  assert.equal(describeWaiting("It is busy.", -1), "It is busy. Trying again.");
});
