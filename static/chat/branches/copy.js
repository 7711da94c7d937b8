/** Continues in a new chat: a copy of what was said up to a message, under an id of the page's own. */

import { showError, toast } from "../elements/toast.js";
import { sendChange } from "../net/http.js";
import { uuid } from "../net/ids.js";
import { say } from "../words/say.js";

/** @import { Conversation } from "../types/wire.js" */

/**
 * @param {string} path of the message
 * @param {(copy: Conversation) => void} open
 */
export async function continueInNewChat(path, open) {
  try {
    /** @type {{conversation: Conversation}} */
    const { conversation } = await sendChange("POST", `${path}/copy`, { conversation: uuid() });
    open(conversation);
    toast(say("This is a copy. The chat that it comes from stays as it is."));
  } catch (error) {
    showError(error);
  }
}
