/** The documents are checked against what exists: the settings, commands, links and paths that they name. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import { describe, expect, test } from "vitest";
import { shellFor } from "../../platform/tests/cli-shell.ts";
import { recorded, versionOf, withCompatibility } from "../../scripts/compatibility.ts";
import { forgottenIn } from "../../scripts/documents/blocks.ts";
import { pages } from "../../scripts/documents/pages.ts";
import { examples, withExamples } from "../../scripts/examples.ts";
import { jobs, movesOf, shown, withLifecycle, workers } from "../../scripts/lifecycle.ts";
import { withMetrics } from "../../scripts/metrics.ts";
import { withReasons } from "../../scripts/reasons.ts";
import { withRights } from "../../scripts/rights.ts";
import { withSettings } from "../../scripts/settings.ts";
import { unsayableIn, withUnsayable } from "../../scripts/unsayable.ts";
import { verbs as allVerbs, askedFor } from "./verbs.ts";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const markdownIn = (folder: string) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith(".md"))
    .map((name) => join(folder, name))
    .sort();

const loaded = await Promise.all(allVerbs.map(({ load }) => load(shellFor().shell)));

test("the help says of a verb, without loading it, what the verb says of itself", () => {
  expect(allVerbs.map(({ name, about }) => [name, about])).toEqual(
    loaded.map((verb) => [verb.name(), verb.description()]),
  );
  expect(askedFor(["keys", "list", "--json"])).toEqual(["keys", "list"]);
  expect(askedFor(["help", "keys"])).toEqual(["keys"]);
  expect(askedFor(["--help"])).toEqual([]);
});

const decisions = markdownIn("docs/decisions");
const documents = [
  ...markdownIn("."),
  ...["docs", "docs/clients", "docs/guides", "docs/recipes"].flatMap(markdownIn),
  ...decisions,
];

test("the page of metrics has those of the server (npx node scripts/metrics.ts writes them)", () => {
  expect(read("docs/metrics.md")).toBe(withMetrics(read("docs/metrics.md")));
  expect(withMetrics("<!-- metrics -->\nold\n<!-- end of metrics -->")).toContain("millrace_jobs_ended_total");
});

test("the page of settings has those of the server (npx node scripts/settings.ts writes them)", () => {
  expect(read("docs/settings.md")).toBe(withSettings(read("docs/settings.md")));
  expect(withSettings("<!-- settings -->\nold\n<!-- end of settings -->")).toContain(
    "| `MILLRACE_PORT` | `--port` | `7420` |",
  );
});

test("the reasons are those of the catalogue (npx node scripts/reasons.ts writes them)", () => {
  const text = read("docs/reasons.md");
  expect(withReasons(text)).toBe(text);
});

test("who may set which field is as the operations say (npx node scripts/rights.ts writes it)", () => {
  expect(read("docs/keys.md")).toBe(withRights(read("docs/keys.md")));
  expect(read("docs/keys.md")).toContain("only the installation's owner: `exempt`");
});

test("what an older surface cannot say is as the table has it (npx node scripts/unsayable.ts writes it)", () => {
  for (const [path, surface] of Object.entries(unsayableIn))
    expect(read(path)).toBe(withUnsayable(read(path), surface));
  expect(read("docs/rest-v1.md")).toContain("| endpoint | `flashboot`: PRIORITY_FLASHBOOT |");
});

test("the lifecycles are those of the tables (npx node scripts/lifecycle.ts writes them)", () => {
  for (const [path, said] of Object.entries(shown)) expect(read(path)).toBe(withLifecycle(read(path), said));
  expect(read("docs/lifecycles.md")).toContain("| `startNow` | `EXITED`, `ERROR` | `STARTING` | Millrace |");
  expect(read("docs/pods.md")).toContain("| `RUNNING` | Its program runs. | `stop`, `restart`, `terminate` |");
});

test.each([
  ["docs/images/job.svg", jobs],
  ["docs/images/worker.svg", workers],
])("%s has an arrow for each move of its lifecycle, and no other", (path, life) => {
  const arrows = [...read(path).matchAll(/data-moves="([^"]+)"/g)].flatMap(([, text]) => {
    const [name, ways] = text!.split(": ");
    return ways!.split(", ").map((way) => `${name}: ${way}`);
  });
  expect(arrows.toSorted()).toEqual(movesOf(life).toSorted());
  for (const state of life.states) expect(read(path)).toContain(`>${state}<`);
});

test("every block of every page runs in a test, or says why it does not (see CONTRIBUTING.md)", () => {
  const forgotten = pages.flatMap((path) => forgottenIn(read(path)).map(({ line }) => `${path}:${line}`));
  expect(forgotten).toEqual([]);
});

test("every example is on its page, as it is (npx node scripts/examples.ts writes them)", () => {
  expect(read("docs/examples.md")).toBe(withExamples(read("docs/examples.md")));
  const folders = readdirSync(join(root, "examples")).filter((name) => !["starters", "hub"].includes(name));
  expect([...examples].sort()).toEqual(folders.sort());
});

test("the compatibility matrix is as it was recorded, with the versions and tests of today", () => {
  expect(read("docs/compatibility.md")).toBe(withCompatibility(read("docs/compatibility.md")));
  for (const { test: path, operations } of recorded()) {
    const titles = [...read(path).matchAll(/\btest(?:\.each\(.*\))?\("([^"]+)"/g)].map((found) =>
      found[1]!.split("%s"),
    );
    const isThere = (name: string) =>
      titles.some((parts) => name.startsWith(parts[0]!) && name.endsWith(parts.at(-1)!));
    expect(Object.keys(operations).filter((name) => !isThere(name))).toEqual([]);
  }
  const versions = recorded().map(({ client, version }) => `${client} ${version}`);
  for (const name of ["runpod-sdk", "openai", "@runpod/ai-sdk-provider"])
    expect(versions).toContain(`${name} ${versionOf(name)}`);
});

describe("commands in the documents exist, with their flags:", () => {
  const lines = documents.flatMap((path) =>
    [...read(path).matchAll(/^\.\/millrace ([^#\n]*)/gm)].map((match) => match[1]!),
  );

  test("some are named", () => expect(lines.length).toBeGreaterThan(5));

  test.each(lines.map((line) => [line.trim()]))("./millrace %s", (line) => {
    expect(unknownIn(loaded, line.split(/\s+/))).toEqual([]);
  });

  test("one that does not exist would be found", () => {
    expect(unknownIn(loaded, ["fly"])).toEqual(["fly"]);
    expect(unknownIn(loaded, ["keys", "forge"])).toEqual(["forge"]);
    expect(unknownIn(loaded, ["keys", "create", "--scopes", "all", "--forever"])).toEqual(["--forever"]);
    expect(unknownIn(loaded, ["keys", "create", "--scopes", "everything"])).toEqual(["everything"]);
  });
});

/** Returns the words of a command line that the commands do not know. */
function unknownIn(verbs: readonly Command[], words: string[]): string[] {
  const [name, ...rest] = words.includes("--") ? words.slice(0, words.indexOf("--")) : words;
  const command = verbs.find((verb) => verb.name() === name);
  if (!command) return [name!];
  if (command.commands.length > 0) return unknownIn(command.commands, rest);
  return rest.filter((word, i) => {
    if (word.startsWith("--")) return !command.options.some(({ long }) => long === word);
    const option = command.options.find(({ long }) => long === rest[i - 1]);
    return option?.parseArg ? !parses(() => option.parseArg!(word, undefined)) : false;
  });
}

function parses(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch {
    return false;
  }
}

test.each(documents)("links in %s lead somewhere", (path) => {
  const links = [...read(path).matchAll(/\]\((?!https?:)([^)#]+)/g)].map((match) => match[1]!);
  expect(links.filter((link) => !existsSync(join(root, dirname(path), link)))).toEqual([]);
});

test.each(documents)("files that %s names are there", (path) => {
  const named = [...read(path).matchAll(/`([\w./-]+\/[\w./-]+\.(?:ts|json|sh))`/g)].map((match) => match[1]!);
  const places = ["", "platform/src"];
  // A path of the API looks like a file but begins with a slash.
  const missing = named.filter(
    (file) => !file.startsWith("/") && !places.some((place) => existsSync(join(root, place, file))),
  );
  expect(missing).toEqual([]);
});

test.each(decisions)("%s gives context, decision and consequences on one page", (path) => {
  const text = read(path);
  expect([...text.matchAll(/^## (.*)$/gm)].map((match) => match[1])).toEqual(["Context", "Decision", "Consequences"]);
  expect(text.split("\n").length).toBeLessThan(60);
});

test("decisions are numbered without gaps, each under its own number", () => {
  const numbers = decisions.map((path) => Number(/(\d{4})-/.exec(path)![1]));
  expect(numbers).toEqual(numbers.map((_, i) => i + 1));
  expect(decisions.map((path) => Number(/^# (\d+)\. /.exec(read(path))?.[1]))).toEqual(numbers);
});

test("a line of the changelog has at most 20 words", () => {
  const lines = [...read("CHANGELOG.md").matchAll(/^- (.*)$/gm)].map((match) =>
    match[1]!.replaceAll(/ \(\[.*?\]\(.*?\)\)/g, ""),
  );
  expect(lines.length).toBeGreaterThan(50);
  expect(lines.filter((line) => line.split(" ").length > 20)).toEqual([]);
});

test("the changelog has an entry for this version", () => {
  const { version } = JSON.parse(read("platform/package.json"));
  expect(read("CHANGELOG.md")).toContain(`## [${version}]`);
});
