/** The browser's storage; a browser that refuses it only forgets, it never stops the page. */

/** @typedef {"localStorage"|"sessionStorage"} Area */

/**
 * @param {string} key
 * @param {Area} [area]
 */
export function read(key, area = "localStorage") {
  try {
    return window[area].getItem(`chatsite:${key}`);
  } catch {
    return null;
  }
}

/**
 * Keeps `value` under `key`; null forgets it.
 * @param {string} key
 * @param {string|null} value
 * @param {Area} [area]
 */
export function keep(key, value, area = "localStorage") {
  try {
    if (value === null) window[area].removeItem(`chatsite:${key}`);
    else window[area].setItem(`chatsite:${key}`, value);
  } catch {
    // Full or switched off.
  }
}

/**
 * Forgets everything whose key begins with one of `prefixes`.
 * @param {string[]} prefixes
 * @param {Area} area
 */
export function forget(prefixes, area) {
  try {
    for (const key of Object.keys(window[area])) {
      if (prefixes.some((prefix) => key.startsWith(`chatsite:${prefix}`))) window[area].removeItem(key);
    }
  } catch {
    // Nothing was kept.
  }
}
