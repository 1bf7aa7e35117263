/** Rules of the repository, each checked on the tree. `repository-rules.test.ts` shows that each can fail. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { libraries } from "../tests/repository-libraries.ts";
import { mayImport } from "../tests/repository-parts.ts";
import {
  comparedSentences,
  consoleWriters,
  dialectsUntested,
  environmentReaders,
  headWriters,
  importCircles,
  impureContract,
  impureModels,
  knownAdapters,
  LONGEST_FILE,
  mixedAdapters,
  needlessArrows,
  reachesNode,
  realTimeAndChance,
  strayLibraries,
  tooLong,
  withoutOpening,
  wrongDirections,
} from "../tests/repository-rules.ts";
import { readSourceTree, root } from "../tests/source-tree.ts";
import { asyncListeners, errorsUnheard, promisesLetGo } from "../tests/unguarded-rules.ts";
import { unusedExports } from "../tests/unused-exports.ts";

/** Files that may be longer than others, with the decision record that says why. */
const longFiles: Record<string, string> = {};

const decisions = readdirSync(join(root, "docs/decisions")).map((name) => `docs/decisions/${name}`);
const files = readSourceTree();

test("the tree was read", () => {
  const paths = files.map(({ path }) => path);
  expect(paths).toContain("platform/src/kernel/clock.ts");
  expect(paths).toContain("cli/src/main.ts");
  expect(paths).toContain("scripts/openapi.ts");
  expect(paths.filter((path) => path.includes("node_modules"))).toEqual([]);
});

test("imports point from surfaces to the kernel, never upwards", () => {
  expect(wrongDirections(files, mayImport)).toEqual([]);
});

test("the table of imports allows nothing that nobody needs", () => {
  expect(needlessArrows(files, mayImport)).toEqual([]);
});

test("the map of docs/architecture.md has a line for each part of the platform, and for nothing else", () => {
  const map = readFileSync(join(root, "docs/architecture.md"), "utf8").matchAll(/^\| `platform\/src\/([\w./-]+)` \|/gm);
  expect([...map].map(([, part]) => part).sort()).toEqual(Object.keys(mayImport).sort());
});

test("the arrows of CONTRIBUTING.md are those of the table: who stands below imports nobody above", () => {
  const arrows = /`(surfaces -> [^`]*)`/.exec(readFileSync(join(root, "CONTRIBUTING.md"), "utf8"))![1]!;
  const floors = arrows.split(" -> ").map((floor) => floor.split(", ") as (keyof typeof mayImport)[]);
  const wrong = floors.flatMap((floor, at) => {
    const above: string[] = floors.slice(0, at).flat();
    return floor.flatMap((part) => mayImport[part].filter((to) => above.includes(to)).map((to) => `${part} -> ${to}`));
  });
  expect(floors.length).toBeGreaterThan(4);
  expect(wrong).toEqual([]);
});

test("only main.ts and tests know an adapter", () => {
  expect(knownAdapters(files)).toEqual([]);
});

test("adapters know nothing of each other but what they share", () => {
  expect(mixedAdapters(files)).toEqual([]);
});

test("no file imports itself by way of others", () => {
  expect(importCircles(files)).toEqual([]);
});

test("models and operations are pure data", () => {
  expect(impureModels(files)).toEqual([]);
});

test("the contract gathers models, operations and lifecycles, and runs in a browser", () => {
  expect(impureContract(files)).toEqual([]);
  expect(reachesNode(files, "platform/src/contract.ts")).toEqual([]);
});

test("libraries are named where they can be replaced", () => {
  expect(strayLibraries(files, libraries)).toEqual([]);
});

test("real time and real chance come from the kernel alone", () => {
  expect(realTimeAndChance(files)).toEqual([]);
});

test("the environment is read in main.ts alone", () => {
  expect(environmentReaders(files)).toEqual([]);
});

test("the platform writes nothing to the console", () => {
  expect(consoleWriters(files)).toEqual([]);
});

test("the head of an answer is written in one place", () => {
  expect(headWriters(files)).toEqual([]);
});

test(`no file has more than ${LONGEST_FILE} lines without a decision record`, () => {
  expect(tooLong(files, longFiles, decisions)).toEqual([]);
});

test("every file opens with a sentence that says what it is for", () => {
  expect(withoutOpening(files)).toEqual([]);
});

test("every flat dialect says all of its resource", () => {
  expect(dialectsUntested(files)).toEqual([]);
});

test("no failure reaches nobody: promises are awaited or float with somebody who hears of them", () => {
  expect(promisesLetGo(files)).toEqual([]);
  expect(asyncListeners(files)).toEqual([]);
  expect(errorsUnheard(files)).toEqual([]);
});

test("codes decide, and nobody compares the sentence of a reason", () => {
  expect(comparedSentences(files)).toEqual([]);
});

test("nothing is exported that nobody imports", () => {
  expect(unusedExports(files)).toEqual([]);
});
