// A classic script in the head: what can't wait for the page's modules. It imports nothing, since a browser would have to
// load that first.

// A chosen theme is there before the first paint.
try {
  const chosen = localStorage.getItem("chatsite:theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // Storage is switched off: the system's theme applies.
}

// The way to an open socket takes two round trips, and a first visit's session one more: that goes on while modules are
// loaded. `net/connection.js` takes the socket; where there is none, the page asks for both itself and says what is wrong.
globalThis.earlySocket = (async () => {
  const { socket, session } = document.currentScript?.dataset ?? {};
  if (!socket) return null;
  if (session) {
    const begin = `${document.documentElement.dataset.csrfCookie}=`;
    const cookie = document.cookie.split("; ").find((one) => one.startsWith(begin));
    if (!cookie) return null;
    const headers = { "X-CSRFToken": cookie.slice(begin.length) };
    const { ok } = await fetch(session, { method: "POST", headers });
    if (!ok) return null;
  }
  const url = new URL(socket, location.href);
  url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  return new WebSocket(url);
})().catch(() => null);
