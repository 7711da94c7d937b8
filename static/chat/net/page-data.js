/** The data that the server put into the page. */

/** @import { Page } from "../types/page.js" */

// The server's paths that the page doesn't name.
const URLS = {
  chat: "/chat",
  socket: "/ws",
  messages: "/messages",
  turns: "/turns",
  models: "/models",
  shares: "/shares",
};

/** @returns {Page} */
export function readPage() {
  const page = JSON.parse(/** @type {string} */ (document.getElementById("page")?.textContent));
  return { ...page, urls: { ...URLS, ...page.urls }, static: page.static ?? {} };
}
