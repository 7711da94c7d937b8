/** "Why did it forget?": when a message left the context, under which rule, and the remedies. */

import { closeButton, fillDialog } from "../elements/dialog.js";
import { byId, h, pressable, setChildren, setText } from "../elements/dom.js";
import { shorten, withoutMarkup } from "../state/format.js";
import { say } from "../words/say.js";

/**
 * @import { Item } from "../state/items.js"
 * @import { Explanation } from "../types/wire.js"
 */

/**
 * @typedef {{ask: (id: string) => Promise<Explanation>, inspects: boolean, receipt: (turn: string) => void,
 *   pin: (id: string) => void, summary: () => void, askAgain: (item: Item) => void, remember: () => void,
 *   takeBack: (id: string) => void, include: (id: string) => void, bringBack: (turns: number[]) => void}} WhyActions
 */

export class WhyWindow {
  /** @param {WhyActions} actions */
  constructor(actions) {
    this.actions = actions;
    this.dialog = byId("why", HTMLDialogElement);
    this.question = 0;
    this.explanation = h("div", { class: "why-told", role: "status" });
    this.offers = h("ul", { class: "why-offers" });
  }

  /**
   * @param {Item} item
   * @param {boolean} sent as the page shows it until the answer arrives
   */
  async open(item, sent) {
    const mine = (this.question += 1);
    this.#draw(item, sent);
    this.dialog.showModal();
    try {
      const explanation = await this.actions.ask(/** @type {string} */ (item.id));
      if (mine === this.question) this.showExplanation(explanation, item);
    } catch (error) {
      if (mine === this.question)
        setChildren(this.explanation, error instanceof Error ? error.message : String(error));
    }
  }

  /**
   * @param {Item} item
   * @param {boolean} sent
   */
  #draw(item, sent) {
    setChildren(this.explanation, h("p", { class: "quiet" }, say("Looking at what was sent…")));
    setChildren(this.offers);
    fillDialog(
      this.dialog,
      titles(sent),
      [
        h("blockquote", { class: "why-quote" }, shorten(withoutMarkup(item.content), 160)),
        this.explanation,
        this.offers,
      ],
      [closeButton("plain-button")],
    );
  }

  /**
   * @param {Explanation} explanation
   * @param {Item} item
   */
  showExplanation(explanation, item) {
    const said = item.inForce.replaceAll("\n", " ");
    setText(byId("why-title"), titles(explanation.sent));
    setChildren(
      this.explanation,
      [
        item.inForce &&
          say("In force, and sent with every message: “{said}”. As for the message itself:", {
            said,
          }),
        ...explanation.sentences,
      ].map((one) => one && h("p", {}, one)),
    );
    setChildren(
      this.offers,
      this.remedies(explanation, item).map(({ label, more, act }, index) =>
        h(
          "li",
          {},
          // The first is what most come for: it stands out, and not the way out.
          pressable(
            {
              class: index === 0 && !explanation.sent && !item.inForce ? "primary" : "plain-button",
            },
            () => (this.dialog.close(), act()),
            label,
          ),
          h("span", { class: "quiet" }, more),
        ),
      ),
    );
  }

  /**
   * @param {Explanation} explanation
   * @param {Item} item
   */
  remedies({ message, fixes, excluded, turn }, item) {
    const { actions: actions } = this;
    const all = {
      pin: {
        label: say("Pin it"),
        more: say("The question and its answer are sent with every message."),
        act: () => actions.pin(message),
      },
      summary: {
        label: say("Read the summary"),
        more: say("See what the model gets instead, change it, or undo it."),
        act: () => actions.summary(),
      },
      ask: {
        label: say("Ask again with it"),
        more: say("Your message becomes a reply to it, ready to send."),
        act: () => actions.askAgain(item),
      },
      remember: {
        label: say("Remember again"),
        more: say("The line is taken away."),
        act: () => actions.remember(),
      },
      take_back: {
        label: say("Take it back in"),
        more: say("It is no longer left out."),
        act: () => actions.takeBack(excluded ?? message),
      },
      bring_back: {
        label: say("Bring it back"),
        more: say("Its whole turn is sent again."),
        act: () => actions.bringBack([item.start]),
      },
      include: {
        label: say("Include it"),
        more: say("Later messages are sent with it, as it is."),
        act: () => actions.include(message),
      },
    };
    const offered = fixes.map((fix) => all[fix]);
    if (turn && actions.inspects) {
      offered.push({
        label: say("Open that receipt"),
        more: say("The debug panel shows what was sent with it."),
        act: () => actions.receipt(turn),
      });
    }
    return offered;
  }
}

/** @param {boolean} sent */
const titles = (sent) => (sent ? say("Why is this sent?") : say("Why did it forget?"));
