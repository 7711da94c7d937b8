/** Work beside the page: one task after another in a worker, each for a second at most. */

/**
 * Markdown to parse; code to colour, with the addresses of highlight.js and of the language; or a formula to draw, with
 * the address of KaTeX.
 * @typedef {{text: string}|{code: string, language: string, modules: string[]}|
 *   {formula: string, display: boolean, script: string}} Task
 * @typedef {{task: Task, wanted: () => boolean, done: (outcome: Outcome) => void}} Job
 * @typedef {{result: unknown}|{failed: "slow"|"impossible"}} Outcome impossible: the browser starts no worker, or the
 *   worker gets no module
 */

const LIMIT = 1_000;

let address = "";

/** @param {string} url the worker's module */
export function setWorker(url) {
  address = url;
}

/** A line of tasks with a worker of its own, so that one kind of them waits for no other. */
export class Background {
  constructor() {
    /** @type {Worker|null} */
    this.worker = null;
    /** @type {Job|null} */
    this.current = null;
    /** @type {Job[]} */
    this.waiting = [];
    this.timer = 0;
  }

  /**
   * Never rejects. Stays open if nobody wants the result any more when the task's turn comes.
   * @param {Task} task
   * @param {() => boolean} wanted
   * @returns {Promise<Outcome>}
   */
  run(task, wanted) {
    return new Promise((done) => {
      this.waiting.push({ task, wanted, done });
      // By then the element that will show the result is part of the page.
      queueMicrotask(() => this.#next());
    });
  }

  #next() {
    while (!this.current && this.waiting.length) {
      const job = /** @type {Job} */ (this.waiting.shift());
      if (!job.wanted()) continue;
      this.current = job;
      this.worker ??= this.#start();
      this.worker.postMessage(job.task);
    }
  }

  #start() {
    const started = new Worker(address, { type: "module" });
    started.addEventListener("message", ({ data }) => {
      // What it sent before it was ended may arrive afterwards.
      if (started !== this.worker) return;
      if (data.begun) this.timer = window.setTimeout(() => this.#end("slow"), LIMIT);
      else this.#finish(data);
    });
    started.addEventListener("error", (event) => {
      event.preventDefault();
      if (started === this.worker) this.#end("impossible");
    });
    return started;
  }

  /** @param {"slow"|"impossible"} failed */
  #end(failed) {
    this.worker?.terminate();
    this.worker = null;
    this.#finish({ failed });
  }

  /** @param {Outcome} outcome */
  #finish(outcome) {
    clearTimeout(this.timer);
    const job = this.current;
    this.current = null;
    job?.done(outcome);
    this.#next();
  }
}

const texts = new Background();

/**
 * @param {Task} task
 * @param {() => boolean} wanted
 */
export const runInBackground = (task, wanted) => texts.run(task, wanted);
