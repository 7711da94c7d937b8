/** The browser's storage. Where the browser refuses it, nothing is stored and the page goes on. */

/** @typedef {"localStorage"|"sessionStorage"} Area */

/**
 * @param {string} key
 * @param {Area} [area]
 * @returns {string|null} null where nothing is stored
 */
export function loadItem(key, area = "localStorage") {
  try {
    return window[area].getItem(`chatsite:${key}`);
  } catch {
    return null;
  }
}

/**
 * Stores `value` under `key`; null removes it.
 * @param {string} key
 * @param {string|null} value
 * @param {Area} [area]
 */
export function storeItem(key, value, area = "localStorage") {
  try {
    if (value === null) window[area].removeItem(`chatsite:${key}`);
    else window[area].setItem(`chatsite:${key}`, value);
  } catch {
    // Full or switched off.
  }
}

/**
 * Removes everything whose key begins with one of `prefixes`.
 * @param {string[]} prefixes
 * @param {Area} area
 */
export function removeItems(prefixes, area) {
  try {
    for (const key of Object.keys(window[area])) {
      if (prefixes.some((prefix) => key.startsWith(`chatsite:${prefix}`)))
        window[area].removeItem(key);
    }
  } catch {
    // Nothing is stored.
  }
}
