/** Work beside the page: one task after another in a worker, each for a second at most. */

/**
 * Markdown to parse, or code to colour, with the addresses of highlight.js and of the language.
 * @typedef {{text: string}|{code: string, language: string, modules: string[]}} Task
 * @typedef {{task: Task, wanted: () => boolean, done: (outcome: Outcome) => void}} Job
 * @typedef {{result: unknown}|{failed: "slow"|"impossible"}} Outcome impossible: the browser starts no worker
 */

const LIMIT = 1_000;

let address = "";
/** @type {Worker|null} */
let worker = null;
/** @type {Job|null} */
let current = null;
/** @type {Job[]} */
const waiting = [];
let timer = 0;

/** @param {string} url the worker's module */
export function setWorker(url) {
  address = url;
}

/**
 * Never rejects. Stays open if nobody wants the result any more when the task's turn comes.
 * @param {Task} task
 * @param {() => boolean} wanted
 * @returns {Promise<Outcome>}
 */
export function runInBackground(task, wanted) {
  return new Promise((done) => {
    waiting.push({ task, wanted, done });
    // By then the element that will show the result is part of the page.
    queueMicrotask(next);
  });
}

function next() {
  while (!current && waiting.length) {
    const job = /** @type {Job} */ (waiting.shift());
    if (!job.wanted()) continue;
    current = job;
    worker ??= start();
    worker.postMessage(job.task);
  }
}

function start() {
  const started = new Worker(address, { type: "module" });
  started.addEventListener("message", ({ data }) => {
    if (data.begun) timer = window.setTimeout(() => end("slow"), LIMIT);
    else finish(data);
  });
  started.addEventListener("error", (event) => {
    event.preventDefault();
    end("impossible");
  });
  return started;
}

/** @param {"slow"|"impossible"} failed */
function end(failed) {
  worker?.terminate();
  worker = null;
  finish({ failed });
}

/** @param {Outcome} outcome */
function finish(outcome) {
  clearTimeout(timer);
  const job = current;
  current = null;
  job?.done(outcome);
  next();
}
