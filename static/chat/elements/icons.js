/** Line drawings on a 16 by 16 grid, in the colour of the text around them. */

const PATHS = {
  left: ["M10 3 5 8l5 5"],
  right: ["m6 3 5 5-5 5"],
  menu: ["M2.5 4.5h11", "M2.5 8h11", "M2.5 11.5h11"],
  down: ["m4 6.5 4 4 4-4"],
  plus: ["M8 3.5v9", "M3.5 8h9"],
  panel: [
    "M3.5 2.5h9a2 2 0 0 1 2 2v7a2 2 0 0 1-2 2h-9a2 2 0 0 1-2-2v-7a2 2 0 0 1 2-2Z",
    "M10 2.5v11",
  ],
  lock: [
    "M4.5 7h7a1 1 0 0 1 1 1v4.5a1 1 0 0 1-1 1h-7a1 1 0 0 1-1-1V8a1 1 0 0 1 1-1Z",
    "M5.5 7V5a2.5 2.5 0 0 1 5 0v2",
  ],
  more: ["M3.4 8h.01", "M8 8h.01", "M12.6 8h.01"],
  close: ["m4 4 8 8", "m12 4-8 8"],
  check: ["m3.5 8.5 3 3 6-7"],
  warn: ["M8 2.5 14.5 13.5h-13Z", "M8 6.5v3.2", "M8 11.6v.01"],
  up: ["m4 9.5 4-4 4 4"],
  pencil: ["M3 13l.8-3.2 7-7a1.4 1.4 0 0 1 2 0l.4.4a1.4 1.4 0 0 1 0 2l-7 7Z"],
  send: ["M8 13V3.5", "m4 7 4-4 4 4"],
  stop: ["M4 4h8v8H4Z"],
  arrow: ["M8 3v10", "m4 9 4 4 4-4"],
  pin: ["M8 9.5v4", "M5 2.5h6", "M6 2.5v4l-2 3h8l-2-3v-4"],
  bookmark: ["M4.5 2.5h7a.5.5 0 0 1 .5.5v10.5l-4-2.8-4 2.8V3a.5.5 0 0 1 .5-.5Z"],
  filter: ["M2.5 4h11", "M4.5 8h7", "M6.5 12h3"],
  reply: ["M6.5 4 3 7.5 6.5 11", "M3.2 7.5h5.3a4.5 4.5 0 0 1 4.5 4.5v.5"],
  copy: [
    "M6.5 5.5h6a1 1 0 0 1 1 1v6a1 1 0 0 1-1 1h-6a1 1 0 0 1-1-1v-6a1 1 0 0 1 1-1Z",
    "M3.5 10.5h-.2a.8.8 0 0 1-.8-.8V3.5a1 1 0 0 1 1-1h6.2a.8.8 0 0 1 .8.8v.2",
  ],
  again: ["M13 8a5 5 0 1 1-1.6-3.7", "M13 2.5v3h-3"],
  eye: [
    "M1.8 8S4 3.8 8 3.8 14.2 8 14.2 8 12 12.2 8 12.2 1.8 8 1.8 8Z",
    "M8 6.2a1.8 1.8 0 1 1 0 3.6 1.8 1.8 0 0 1 0-3.6Z",
  ],
  temporary: [
    "M8 2.5a5.5 5.5 0 0 1 2.1.4",
    "M12.4 4.7a5.5 5.5 0 0 1 1 2.4",
    "M13.2 9.6a5.5 5.5 0 0 1-2.4 3.1",
    "M8.4 13.5H3.2l1-1.9A5.5 5.5 0 0 1 5.6 3",
  ],
  link: [
    "M6.8 9.2a2.6 2.6 0 0 0 3.7 0l2-2a2.6 2.6 0 0 0-3.7-3.7l-.7.7",
    "M9.2 6.8a2.6 2.6 0 0 0-3.7 0l-2 2a2.6 2.6 0 0 0 3.7 3.7l.7-.7",
  ],
  slash: ["M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2Z", "m4 12 8-8"],
};

/** @typedef {keyof typeof PATHS} IconName */

/**
 * @param {IconName} name
 * @param {number} [size] in pixels
 */
export function icon(name, size = 16) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  const attributes = {
    viewBox: "0 0 16 16",
    width: size,
    height: size,
    fill: "none",
    stroke: "currentColor",
    "stroke-width": name === "more" ? 2 : 1.4,
    "stroke-linecap": "round",
    "stroke-linejoin": "round",
    "aria-hidden": "true",
  };
  for (const [key, value] of Object.entries(attributes)) svg.setAttribute(key, String(value));
  for (const d of PATHS[name]) {
    const path = document.createElementNS(space, "path");
    path.setAttribute("d", d);
    svg.append(path);
  }
  return svg;
}
