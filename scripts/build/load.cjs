/** Loads a program's code together with what the engine compiled of it in an earlier run, and keeps that for the next one. */
"use strict";
const { subscribe } = require("node:diagnostics_channel");
const { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } = require("node:fs");
const { getCompileCacheDir } = require("node:module");
const { join } = require("node:path");
const { constants, Script } = require("node:vm");

/** Each command runs other functions, so each has files of its own. */
const verb = /^[a-z-]{1,20}$/.test(process.argv[2] ?? "") ? `-${process.argv[2]}` : "";

/** `digests` has the program's name and, if it has a second file for later, that one's name, each with the digest of its code. */
module.exports = (digests, require) => {
  const [first, late] = Object.entries(digests);
  // Node would say which thread this is, but commands would wait for milliseconds until it has loaded what else belongs to threads.
  const isThread = first[0].endsWith("-thread");
  const scripts = [];
  const open = (file) => file && partsOf(...file, isThread ? "" : verb, scripts);
  const parts = [open(first)];
  const find = (name) => {
    const part = parts.find((known) => name in known);
    if (part || !name.startsWith("./") || parts.length > 1 || !late) return part?.[name];
    parts.push(open(late));
    return find(name);
  };
  if (!isThread) keepOnce(scripts);
  evaluate(find, `./${first[0]}.cjs`, require);
  if (isThread) keep(scripts);
};

/** The functions in a file of code. If it was compiled anew, it is added to `scripts`. */
function partsOf(name, digest, command, scripts) {
  const filename = join(__dirname, `${name}-code.cjs`);
  // Node has made this folder. Its name depends on the version of the engine and on the user.
  const folder = getCompileCacheDir();
  const kept = folder && join(folder, `${name}-${digest}${command}`);
  const cachedData = kept && readIfThere(kept);
  const script = new Script(readFileSync(filename, "latin1"), {
    filename,
    cachedData,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  if (kept && (cachedData === undefined || script.cachedDataRejected)) scripts.push([script, kept]);
  return script.runInThisContext();
}

/** Evaluates a part of the program, and each part that it requires when it does so for the first time. */
function evaluate(find, first, require) {
  const evaluated = new Map();
  const requirePart = (name) => {
    const known = evaluated.get(name);
    if (known) return known;
    const part = find(name);
    if (!part) return require(name);
    const exports = {};
    evaluated.set(name, exports);
    part(exports, requirePart, __dirname);
    return exports;
  };
  requirePart(first);
}

function readIfThere(file) {
  try {
    return readFileSync(file);
  } catch {
    return undefined;
  }
}

/**
 * A server says when its start is over, since the engine later drops code that only a start needs. Other programs keep it at their end,
 * unless they failed: mistyped commands leave no files.
 */
function keepOnce(scripts) {
  subscribe("millrace:started", () => keep(scripts));
  process.once("exit", (code) => code === 0 && keep(scripts));
}

/** A file is on the disk before it has its name, so that no crash leaves a part of it. Without it, only the next start is slower. */
function keep(scripts) {
  for (const [script, file] of scripts.splice(0)) {
    try {
      const draft = `${file}.${process.pid}`;
      const descriptor = openSync(draft, "w", 0o600);
      writeSync(descriptor, script.createCachedData());
      fsyncSync(descriptor);
      closeSync(descriptor);
      renameSync(draft, file);
    } catch {
      // The folder may be read-only, or the disk full.
    }
  }
}
