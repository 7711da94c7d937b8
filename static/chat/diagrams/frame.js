// Runs in the frame of a diagram, a classic script after Mermaid's. It gets the source from the page and tells the page
// how high the drawing is, or why there is none.

/**
 * @typedef {{initialize: (options: object) => void, render: (id: string, source: string) => Promise<{svg: string}>}} Mermaid
 * @typedef {{source: string, dark: boolean, font: string}} Wanted what the page sends
 */

{
  const { mermaid } = /** @type {{mermaid: Mermaid}} */ (/** @type {unknown} */ (globalThis));
  // More takes minutes and memory; a diagram that somebody can read has some fifty lines.
  const LIMITS = { maxTextSize: 20_000, maxEdges: 500 };

  /** @param {object} answer */
  const tell = (answer) => parent.postMessage(answer, "*");
  const tellHeight = () => tell({ height: document.body.scrollHeight });

  /** @param {Wanted} wanted */
  const draw = async ({ source, dark, font }) => {
    mermaid.initialize({
      ...LIMITS,
      startOnLoad: false,
      securityLevel: "strict",
      suppressErrorRendering: true,
      htmlLabels: false,
      flowchart: { htmlLabels: false },
      theme: dark ? "dark" : "neutral",
      fontFamily: font,
    });
    document.documentElement.style.colorScheme = dark ? "dark" : "light";
    Object.assign(document.body.style, {
      margin: "0",
      overflowX: "hidden",
      overflowY: "auto",
      textAlign: "center",
      font: `13px ${font}`,
    });
    try {
      const { svg } = await mermaid.render("drawing", source);
      document.body.innerHTML = svg;
      tellHeight();
    } catch (error) {
      tell({ error: error instanceof Error ? error.message : String(error) });
    }
  };

  addEventListener("message", ({ source, data }) => {
    if (source === parent) void draw(data);
  });
  addEventListener("resize", tellHeight);
  tell({ ready: true });
}
