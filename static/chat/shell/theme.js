/** The theme: light, dark, or the system's; `start.js` applies the choice before the first paint. */

import { loadItem, storeItem } from "../net/storage.js";

export const THEMES = ["system", "light", "dark"];

export const currentTheme = () => {
  const chosen = loadItem("theme");
  return chosen && THEMES.includes(chosen) ? chosen : "system";
};

/** @param {string} chosen */
export function setTheme(chosen) {
  storeItem("theme", chosen === "system" ? null : chosen);
  if (chosen === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
}
