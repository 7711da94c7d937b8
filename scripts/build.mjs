/**
 * Bundles static/chat into static/built: `node scripts/build.mjs`. With `--check` nothing is written, and the exit code
 * is 1 if the built files aren't those of the sources.
 *
 * The names of built files carry a hash of their content, so a browser keeps them for ever; `built.json` says which
 * source is served as which file, and with which chunks that it imports. Source maps are left out: with DEBUG=true the
 * sources themselves are served.
 */

import { mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const BUILT = join(ROOT, "static", "built");
const MAIN = join(ROOT, "static", "chat", "main.js");

/**
 * Lets what is loaded later import the page's main module, which has run by then. esbuild puts modules into one chunk if
 * the same files need them; so all of the first load is one chunk, instead of one for each set of later files.
 */
const FIRST_LOAD = {
    name: "first-load",
    setup(bundler) {
        const later = new Set();
        bundler.onResolve({ filter: /^\./ }, ({ path, resolveDir, kind }) => {
            if (kind === "dynamic-import") later.add(join(resolveDir, path));
            return undefined;
        });
        bundler.onLoad({ filter: /static[\\/]chat[\\/].*\.js$/ }, async ({ path }) => {
            if (!later.has(path)) return undefined;
            return {
                contents: `import ${JSON.stringify(MAIN)};\n${await readFile(path, "utf8")}`,
                loader: "js",
            };
        });
    },
};

/**
 * What the server names in a page, by how it is built. Modules share chunks; the worker is one file, since it starts
 * when somebody waits for it; classic scripts run before the first paint, and in the frame of a diagram, whose origin
 * may load no module.
 */
const GROUPS = [
    {
        entries: ["chat/main.js"],
        options: { format: "esm", splitting: true, plugins: [FIRST_LOAD] },
    },
    { entries: ["chat/text/worker.js"], options: { format: "esm" } },
    {
        entries: ["chat/shell/start.js", "chat/diagrams/frame.js", "chat/preview/frame.js"],
        options: { format: "iife" },
    },
    { entries: ["chat/main.css", "chat/style/pages.css", "chat/share/shared.css"], options: {} },
];

/** What is loaded later and may be named in a page all the same, where it is needed at once. */
const LATER = ["chat/text/formatter.js"];

const check = process.argv.includes("--check");
const made = await makeFiles();
if (check) await compare(made);
else await write(made);

/** @returns {Promise<Map<string, string>>} the text of every built file by its name */
async function makeFiles() {
    const files = new Map();
    const served = {};
    for (const { entries, options } of GROUPS) {
        const { outputFiles, metafile } = await build({
            ...options,
            absWorkingDir: ROOT,
            entryPoints: entries.map((entry) => `static/${entry}`),
            outdir: "static/built",
            entryNames: "[name]-[hash]",
            chunkNames: "[name]-[hash]",
            bundle: true,
            minify: true,
            charset: "utf8",
            target: "es2022",
            loader: { ".svg": "dataurl" },
            legalComments: "eof",
            metafile: true,
            write: false,
            logLevel: "warning",
        });
        for (const { path, text } of outputFiles) files.set(basename(path), text);
        for (const [path, { entryPoint, inputs }] of Object.entries(metafile.outputs)) {
            const entry = relative("static", entryPoint ?? "");
            if (![...entries, ...LATER].includes(entry)) continue;
            const chunks = chunksOf(metafile, path);
            // All of it is in a chunk, which what is loaded later imports: a file that only imports the chunk would be
            // one more request.
            const isEmpty = Object.keys(inputs).length === 0;
            if (isEmpty) files.delete(basename(path));
            served[entry] = (isEmpty ? chunks : [path, ...chunks]).map((one) =>
                relative("static", one),
            );
        }
    }
    return files.set("built.json", `${JSON.stringify(served, null, 2)}\n`);
}

/** The chunks that come with a file: not those that are loaded later. */
function chunksOf({ outputs }, path) {
    return outputs[path].imports
        .filter(({ kind }) => kind === "import-statement")
        .map((chunk) => chunk.path);
}

/** @param {Map<string, string>} files */
async function write(files) {
    await rm(BUILT, { recursive: true, force: true });
    await mkdir(BUILT, { recursive: true });
    for (const [name, text] of files) await writeFile(join(BUILT, name), text);
}

/** @param {Map<string, string>} files */
async function compare(files) {
    const there = await readdir(BUILT).catch(() => []);
    const old = there.filter((name) => !files.has(name));
    for (const [name, text] of files) {
        if (!there.includes(name) || (await readFile(join(BUILT, name), "utf8")) !== text)
            old.push(name);
    }
    if (!old.length) return;
    console.error(
        `static/built isn't built from the sources as they are (${old.join(", ")}). Run \`make build\`.`,
    );
    process.exitCode = 1;
}
