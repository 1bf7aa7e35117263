/** Loads a program's code together with what the engine compiled of it in an earlier run, and keeps that for the next one. */
"use strict";
const { subscribe } = require("node:diagnostics_channel");
const { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } = require("node:fs");
const { getCompileCacheDir } = require("node:module");
const { join } = require("node:path");
const { constants, Script } = require("node:vm");
const { isMainThread } = require("node:worker_threads");

module.exports = (name, digest, require) => {
  const filename = join(__dirname, `${name}-code.cjs`);
  // Node has made this folder. Its name depends on the version of the engine and on the user.
  const folder = getCompileCacheDir();
  const kept = folder && join(folder, `${name}-${digest}`);
  const cachedData = kept && readIfThere(kept);
  const script = new Script(readFileSync(filename, "latin1"), {
    filename,
    cachedData,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  const isKept = !kept || (cachedData !== undefined && !script.cachedDataRejected);
  if (!isKept && isMainThread) keepOnce(script, kept);
  evaluate(script.runInThisContext(), `./${name}.cjs`, require);
  if (!isKept && !isMainThread) keep(script, kept);
};

/** Evaluates a part of the program, and each part that it requires when it does so for the first time. */
function evaluate(parts, first, require) {
  const evaluated = new Map();
  const requirePart = (name) => {
    const part = parts[name];
    if (!part) return require(name);
    const known = evaluated.get(name);
    if (known) return known;
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

/** A server says when its start is over, since the engine later drops code that only a start needs. Other programs keep it at their end. */
function keepOnce(script, file) {
  let isDone = false;
  const once = () => {
    if (!isDone) keep(script, file);
    isDone = true;
  };
  subscribe("millrace:started", once);
  process.once("exit", once);
}

/** The file is on the disk before it has its name, so that no crash leaves a part of it. Without it, only the next start is slower. */
function keep(script, file) {
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
