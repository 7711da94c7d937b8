import assert from "node:assert/strict";
import { test } from "node:test";

import { say, sayCount, setCatalogue } from "../../static/chat/words/say.js";

test("a text has its values, and keeps braces that nobody fills", () => {
  assert.equal(say("{name} wrote {what}", { name: "Ada" }), "Ada wrote {what}");
});

test("a count chooses between one and several, and is written as people read it", () => {
  assert.equal(sayCount("{count} file", "{count} files", 1), "1 file");
  assert.equal(
    sayCount("{count} file of {name}", "{count} files of {name}", 1200, { name: "Ada" }),
    "1,200 files of Ada",
  );
});

test("a catalogue translates texts and their forms", () => {
  setCatalogue({ Send: "Senden", "{count} file": ["{count} Datei", "{count} Dateien"] });
  assert.equal(say("Send"), "Senden");
  assert.equal(say("Stop"), "Stop");
  assert.equal(sayCount("{count} file", "{count} files", 2), "2 Dateien");
  setCatalogue({});
});

test("a browser's form for millions takes the catalogue's last form", () => {
  setCatalogue({ "{count} file": ["{count} fichier"] });
  assert.equal(sayCount("{count} file", "{count} files", 2), "2 fichier");
  setCatalogue({});
});
