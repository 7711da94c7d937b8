// Runs in the frame of a preview. It gets a page or a drawing from the chat and shows it in a frame inside this one,
// which may not open any address: this document's own rules forbid it, and they can't be changed from in there.

/** @typedef {{source: string, scripts: boolean}} Shown what the chat sends */

{
  // Before all that the page says: inline scripts alone, so not even those of this server.
  const RULES =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; font-src data:; media-src data:";
  const DRAWING =
    "<style>body{margin:0;min-height:100vh;display:grid;place-items:center}svg{max-width:100%;height:auto}</style>";

  /** @param {Shown} shown */
  const show = ({ source, scripts }) => {
    const inner = document.createElement("iframe");
    inner.title = document.title;
    inner.setAttribute("sandbox", scripts ? "allow-scripts" : "");
    const rules = `<!doctype html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${RULES}">`;
    inner.srcdoc = `${rules}${scripts ? "" : DRAWING}${source}`;
    Object.assign(inner.style, {
      position: "fixed",
      inset: 0,
      width: "100%",
      height: "100%",
      border: 0,
    });
    document.body.replaceChildren(inner);
  };

  addEventListener("message", ({ source, data }) => {
    if (source === parent) show(data);
  });
  parent.postMessage({ ready: true }, "*");
}
