/** The data that the server put into the page. */

/** @import { Page } from "../types/page.js" */

// The server's paths, as they are where the page doesn't name others.
const URLS = {
  chat: "/chat",
  socket: "/ws",
  conversations: "/conversations",
  diagram: "/diagram",
  import: "/conversations/import",
  messages: "/messages",
  turns: "/turns",
  models: "/models",
  login: "/accounts/login/",
  logout: "/accounts/logout/",
  signup: "/accounts/signup/",
  account: "/accounts/",
};

/** @returns {Page} */
export function readPage() {
  const page = JSON.parse(/** @type {string} */ (document.getElementById("page")?.textContent));
  return { ...page, urls: { ...URLS, ...page.urls }, static: page.static ?? {} };
}
