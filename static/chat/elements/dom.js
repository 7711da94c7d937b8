/** Builds elements. Strings become text nodes; nothing here reads HTML. */

/** @typedef {Node|string|number|null|undefined|false} Child */
/** @typedef {{[E in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[E]) => unknown}} Listeners */
/** @typedef {Record<string, unknown> & {on?: Listeners}} Props */

/**
 * `on` holds listeners; `class`, `data-…`, `aria-…` and other attributes are set as they are;
 * true sets an attribute without a value, false, null and undefined leave it out.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Props} [props]
 * @param {...(Child|Child[])} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (name === "on") {
      for (const [event, listener] of Object.entries(props.on ?? {})) {
        element.addEventListener(event, /** @type {EventListener} */ (listener));
      }
    } else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(name, String(value));
    }
  }
  fill(element, children);
  return element;
}

/**
 * A button, and what it does when it is pressed.
 * @param {Props} props
 * @param {(event: MouseEvent) => unknown} act
 * @param {...(Child|Child[])} children
 */
export const pressable = (props, act, ...children) =>
  h("button", { type: "button", ...props, on: { click: act } }, ...children);

/**
 * A button that looks like a link.
 * @param {string} words
 * @param {() => unknown} act
 * @param {Props} [props]
 */
export const textButton = (words, act, props = {}) =>
  pressable({ class: "link", ...props }, act, words);

/**
 * @param {ParentNode} element
 * @param {(Child|Child[])[]} children
 */
function fill(element, children) {
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

/**
 * Follows a link in this page, unless somebody wants another tab or window for it.
 * @param {() => unknown} act
 * @returns {(event: MouseEvent) => void}
 */
export const inThisPage = (act) => (event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  act();
};

/**
 * Replaces what an element holds.
 * @param {Element} element
 * @param {...(Child|Child[])} children
 */
export function setChildren(element, ...children) {
  element.replaceChildren();
  fill(element, children);
}

/**
 * The element with this id, which the page's skeleton always has.
 * @template {HTMLElement} [T=HTMLElement]
 * @param {string} id
 * @param {new () => T} [kind] the element's class, where more than HTMLElement is needed
 * @returns {T}
 */
export function byId(id, kind) {
  const element = document.getElementById(id);
  if (!element || (kind && !(element instanceof kind))) throw new Error(`the page has no #${id}`);
  return /** @type {T} */ (element);
}

/**
 * Sets text only where it differs, so that nothing is announced or laid out twice.
 * @param {Element} element
 * @param {string} text
 */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export const reducedMotion = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
