/**
 * Finds texts in the page's modules that look like words for people and aren't in the catalogue:
 * `node scripts/stray_words.mjs FILE...` prints `file:line: text` for each, and its exit code is 1 if there are any.
 */

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { parse } from "acorn";
import { ancestor } from "acorn-walk";

/** Calls whose texts are said already, or are no words: selectors, names, types, log lines. */
const CALLS = new Set([
    "say",
    "sayCount",
    "querySelector",
    "querySelectorAll",
    "closest",
    "matches",
    "matchMedia",
    "byId",
    "icon",
    "addEventListener",
    "removeEventListener",
    "loadItem",
    "storeItem",
    "getItem",
    "setItem",
    "removeItem",
    "RegExp",
    "createElement",
    "createElementNS",
    "add",
    "remove",
    "toggle",
    "contains",
    "startsWith",
    "endsWith",
    "includes",
    "split",
    "join",
    "warn",
    "error",
    "debug",
    "has",
    "get",
    "set",
    "delete",
    "removeAttribute",
    "hasAttribute",
    "getAttribute",
    "mark",
    "measure",
    "replace",
    "replaceAll",
    "setProperty",
    "Late",
    "Intl",
    "NumberFormat",
    "DateTimeFormat",
    "BroadcastChannel",
    "CustomEvent",
    "Event",
    "encodeURIComponent",
    "fetch",
    "sendChange",
    "getJson",
]);
/** Attributes whose texts people read or hear. */
const SPOKEN =
    /^(title|placeholder|alt|label|aria-(label|description|placeholder|roledescription|valuetext))$/;
/** Properties whose texts are for the machine. */
const CODE =
    /^(class|className|type|id|for|role|href|src|d|viewBox|method|rel|name|code|key|keys|kind|event|easing|transform|mode|shape|state|align|credentials|headers|about|query|part|autocomplete|inputmode|rootMargin|aria-(?!label$|description$|placeholder$|roledescription$|valuetext$).*|data-.*)$/;
/** No words: addresses, storage keys, commands to copy, and what only a developer meets. */
const TECHNICAL =
    /^(https?:|wss?:|[a-z]+:($|…)|[A-Z_]+=|<!?\w+[ >]|default-src |\{\{|(preview|table)\.|the page has no #|noopener |not (valid|allowed)$|… …=|\$)/;
/** Words in any language. */
const NAMES = new Set([
    "Chatsite",
    "Accept",
    "GET",
    "POST",
    "Content-Type",
    "X-CSRFToken",
    "Escape",
    "Enter",
    "Tab",
    "Shift",
    "Ctrl",
    "Esc",
    "Delete",
    "F2",
    "Home",
    "End",
    "ArrowUp",
    "ArrowDown",
    "ArrowLeft",
    "ArrowRight",
    "GB",
    "MB",
    "kB",
    "ms",
    // A model reads it.
    "Exact values:",
    "The user's instruction:",
]);

/**
 * @param {string} source
 * @returns {{line: number, text: string, node: any}[]}
 */
export function findStrayWords(source) {
    const tree = parse(source, { ecmaVersion: "latest", sourceType: "module", locations: true });
    /** @type {{line: number, text: string, node: any}[]} */
    const found = [];
    /** @type {(node: any, state: unknown, ancestors: any[]) => void} */
    const look = (node, _, ancestors) => {
        const texts =
            node.type === "Literal"
                ? typeof node.value === "string"
                    ? [node.value]
                    : []
                : node.quasis.map((/** @type {any} */ one) => one.value.cooked);
        if (
            !texts.length ||
            isCode(node, ancestors.slice(0, -1)) ||
            !looksLikeWords(texts, node, ancestors)
        )
            return;
        found.push({ line: node.loc.start.line, text: texts.join("…"), node });
    };
    ancestor(tree, { Literal: look, TemplateLiteral: look });
    return found;
}

/**
 * @param {string[]} texts the parts between values
 * @param {any} node
 * @param {any[]} ancestors
 */
function looksLikeWords(texts, node, ancestors) {
    const whole = texts.join("…");
    if (NAMES.has(whole.trim()) || TECHNICAL.test(whole) || !/\p{L}{2}/u.test(whole)) return false;
    if (isShown(node, ancestors.slice(0, -1))) return true;
    if (
        /^[\w-]+(\s+[\w-]+)*$/.test(whole) &&
        !/\s/.test(whole) &&
        !/^\p{Lu}\p{Ll}{2,}$/u.test(whole)
    )
        return false;
    return (
        /^\p{Lu}\p{Ll}+($|[\s.,:…])/u.test(whole) ||
        /(^|\s)\p{L}{2,}[\s.,:…]|\s\p{L}{3,}/u.test(whole)
    );
}

/**
 * A child of `h` or of a button, or an attribute that is read out.
 * @param {any} node
 * @param {any[]} ancestors
 */
function isShown(node, ancestors) {
    const parent = ancestors.at(-1);
    if (parent.type === "Property" && parent.value === node) return SPOKEN.test(nameOf(parent.key));
    if (parent.type !== "CallExpression") return false;
    const at = parent.arguments.indexOf(node);
    const callee = nameOf(parent.callee);
    return (
        (["h", "pressable"].includes(callee) && at > 1) ||
        (callee === "textButton" && at === 0) ||
        (["setText", "setChildren"].includes(callee) && at > 0) ||
        (callee === "announce" && at === 0) ||
        (callee === "setAttribute" && at === 1 && SPOKEN.test(parent.arguments[0].value ?? ""))
    );
}

/**
 * @param {any} node
 * @param {any[]} ancestors
 */
function isCode(node, ancestors) {
    let child = node;
    for (const parent of ancestors.toReversed()) {
        if (
            /^(Import|Export(All|Named)Declaration|ImportExpression)/.test(parent.type) &&
            parent.source === child
        )
            return true;
        if (parent.type === "Property") {
            if (parent.key === child && !parent.computed) return true;
            if (CODE.test(nameOf(parent.key))) return true;
        }
        if (parent.type === "BinaryExpression" && /^[!=]==?$|^in$/.test(parent.operator))
            return true;
        if (parent.type === "SwitchCase" && parent.test === child) return true;
        if (parent.type === "MemberExpression" && parent.computed && parent.property === child)
            return true;
        if (
            parent.type === "AssignmentExpression" &&
            /^(className|id|type|href|download|cssText)$/.test(nameOf(parent.left))
        )
            return true;
        if (/^(Call|New)Expression$/.test(parent.type)) {
            const callee = nameOf(parent.callee);
            const at = parent.arguments.indexOf(child);
            if (callee === "h" && at === 0) return true;
            if (callee === "setAttribute")
                return at === 0 || !SPOKEN.test(parent.arguments[0].value ?? "");
            // What is said may have values, and those are looked at themselves.
            if (callee === "say" && at === 0) return true;
            if (callee === "sayCount" && at < 2) return true;
            if (at >= 0 && CALLS.has(callee) && callee !== "say" && callee !== "sayCount")
                return true;
        }
        if (
            /Function|Statement|Declaration$/.test(parent.type) &&
            parent.type !== "ExpressionStatement"
        )
            return false;
        child = parent;
    }
    return false;
}

/**
 * The last name of `a.b.c`, of a key or of a callee.
 * @param {any} node
 * @returns {string}
 */
const nameOf = (node) =>
    node.type === "MemberExpression"
        ? nameOf(node.property)
        : node.type === "PrivateIdentifier" || node.type === "Identifier"
          ? node.name
          : String(node.value ?? "");

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
    for (const file of process.argv.slice(2)) {
        for (const { line, text } of findStrayWords(readFileSync(file, "utf8"))) {
            console.log(`${file}:${line}: ${text}`);
            process.exitCode = 1;
        }
    }
}
