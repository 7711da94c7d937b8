/** Takes the translations that the server put into the page; for English there are none. `main.js` imports it first. */

import { setCatalogue } from "./say.js";

const found = document.getElementById("words")?.textContent;
if (found) setCatalogue(JSON.parse(found));
