/** The versions of a message: "‹ 2 / 3 ›" with what tells them apart, and all of them in a small menu. */

import { h, pressable, setText } from "../elements/dom.js";
import { icon } from "../elements/icons.js";
import { walkMenu } from "../elements/menu-keys.js";
import { Popover } from "../elements/popover.js";
import { formatDollars, formatTime, joinParts, shorten, withoutMarkup } from "../state/format.js";
import { say, sayCount } from "../words/say.js";

/**
 * @import { IconName } from "../elements/icons.js"
 * @import { Version } from "../types/wire.js"
 */

// So many versions are quoted in the menu, each with as many characters.
const QUOTED = 12;
const LONGEST = 60;

/**
 * "GPT-4.1 mini · 14:05 · $0.0012 · edited by you".
 * @param {Version} version
 */
export function describeVersion({ model, at, cost, tokens, edited }) {
  const price =
    cost !== null
      ? formatDollars(cost)
      : tokens
        ? sayCount("{count} token", "{count} tokens", tokens)
        : "";
  return joinParts([model, at && formatTime(at), price, edited && say("edited by you")]);
}

/**
 * @param {Version[]} versions
 * @param {number} at the one that is shown
 * @param {{show: (id: string) => void, compare: (versions: Version[], at: number, other: number) => void,
 *   text: (id: string) => Promise<string>}} doing `compare` opens the one that is shown and another one side by side;
 *   `text` is what a version says
 */
export function versionSteps(versions, at, { show, compare, text }) {
  /**
   * @param {string} act
   * @param {string} label
   * @param {IconName} drawing
   * @param {number} to
   */
  const step = (act, label, drawing, to) =>
    pressable(
      {
        "data-act": act,
        "aria-label": label,
        disabled: !versions[to],
        title: versions[to] ? `${label}: ${describeVersion(versions[to])}` : label,
      },
      () => show(versions[to].id),
      icon(drawing, 12),
    );
  const place = [say("{at} / {count}", { at: at + 1, count: versions.length }), icon("down", 10)];
  const all = h(
    "button",
    {
      type: "button",
      class: "versions-all",
      "data-act": "versions",
      "aria-label": say("Version {at} of {count}: {about}. Show all", {
        at: at + 1,
        count: versions.length,
        about: describeVersion(versions[at]),
      }),
      title: describeVersion(versions[at]),
    },
    place,
  );
  const group = h(
    "span",
    { class: "versions", role: "group", "aria-label": say("Versions of this message") },
    step("earlier", say("Earlier version"), "left", at - 1),
    all,
    step("later", say("Later version"), "right", at + 1),
  );
  const popover = new Popover(all, {
    label: say("All versions"),
    class: "menu versions-pop",
    free: true,
    fill: (box) => {
      box.append(...versions.map((_, index) => row(index)));
      void quote(box);
    },
  });
  walkMenu(popover.box);
  return group;

  /**
   * Times alone don't tell which is which: each version's own first words do.
   * @param {HTMLElement} box
   */
  async function quote(box) {
    const places = [...box.querySelectorAll(".version-text")].slice(0, QUOTED);
    await Promise.all(
      places.map(async (place, index) => {
        const said = await text(versions[index].id).catch(() => null);
        if (said && place.isConnected) setText(place, shorten(withoutMarkup(said), LONGEST));
      }),
    );
  }

  /** @param {number} index */
  function row(index) {
    const number = index + 1;
    const shown = index === at;
    return h(
      "div",
      { class: "version-row" },
      pressable(
        { "data-first": shown, "aria-current": shown && "true" },
        () => (popover.close(), shown || show(versions[index].id)),
        h("b", {}, say("Version {number}", { number })),
        h("small", { class: "version-text" }),
        h("small", {}, describeVersion(versions[index])),
      ),
      !shown &&
        pressable(
          {
            class: "version-compare",
            "aria-label": say("Compare with version {number}", { number }),
            title: say("This version and the one that is shown, side by side"),
          },
          () => (popover.close(), compare(versions, at, index)),
          say("Compare"),
        ),
    );
  }
}
