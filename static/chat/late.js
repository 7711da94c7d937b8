/**
 * What somebody opens, and the page shows without: loaded with the first click. One module for all of it, since the
 * bundler would make a file of whatever each two of them share, and the page would begin by loading those.
 */

export { WhyWindow } from "./message/why-window.js";
export { Panel } from "./panel/panel.js";
export { SummaryWindow } from "./transcript/summary-window.js";
