/** Everything that REST v2 lets people do can be done in the console: each operation is used by name, or has its reason here. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { invokeOperations, operations } from "@millrace/platform/contract.ts";
import { describe, expect, test } from "vitest";
import { type Resource, resources } from "./api/resources.ts";

/** Operations that the console has no use for. */
const EXCEPTIONS: Record<string, string> = {
  getGpuType: "The catalog page reads the whole list, which has the same records.",
  getCpuType: "The catalog page reads the whole list, which has the same records.",
  getModel: "The page of models reads the whole list, which has the same records.",
  getDataCenter: "The catalog page reads the whole list, which has the same records.",
  streamAccountEvents:
    "Every page follows it, by its address, since it begins before the console is loaded: public/start.js.",
  deletePod: "The pages of Pods terminate them by podAction, which does the same for one or many.",
  getEndpointBuild: "It is always 404: images are run here, and none is built.",
  getJobOutput: "The page of a job follows the signed URL that the record of a long output has.",
  waitForJob: "The page of a job is live by events, and holds no request open.",
  getEndpointMetrics: "It is for programs that balance by themselves; the page of an endpoint lists its workers.",
  beginCodeLogin: "It is for 'millrace login', whose code the page of codes approves.",
  collectCodeLogin: "It is for 'millrace login', whose code the page of codes approves.",
  callOpenAi: "The page to try an endpoint calls it by its address, as an OpenAI client does: use-call.ts.",
};

/** Files that name operations without using them. */
const NO_USE = new Set(["api/events.ts", "api/resources.ts"]);

const folder = import.meta.dirname;
const sources = readdirSync(folder, { recursive: true, encoding: "utf8" })
  .filter((file) => /\.tsx?$/.test(file) && !/\.test\.tsx?$/.test(file) && !NO_USE.has(file))
  .map((file) => ({ file, text: readFileSync(join(folder, file), "utf8") }));

const isNamed = (name: string) => sources.some(({ text }) => text.includes(`"${name}"`));

/** The part that uses each operation of a resource. */
const PARTS = {
  list: /\buseList\b|\bResourceList\b/,
  create: /\bCreatePage\b|\.create\b/,
  update: /\bEditForm\b|\.update\b/,
  remove: /\bDeleteDialog\b|\.remove\b/,
} as const;

/** A part that is made for any resource uses the operations of the one that a page gives it. */
function isUsedByPart(name: string): boolean {
  return Object.entries<Resource>(resources).some(([key, resource]) =>
    (Object.keys(PARTS) as (keyof typeof PARTS)[]).some(
      (role) =>
        resource[role] === name &&
        sources.some(({ text }) => text.includes(`resources.${key}`) && PARTS[role].test(text)),
    ),
  );
}

const isUsed = (name: string) => isNamed(name) || isUsedByPart(name);
const names = Object.keys({ ...operations, ...invokeOperations });

describe("operations of REST v2", () => {
  test("every one is used in the console, or has a reason not to be", () => {
    expect(names.filter((name) => !isUsed(name) && EXCEPTIONS[name] === undefined)).toEqual([]);
  });

  test("no reason stands for an operation that does not exist", () => {
    expect(Object.keys(EXCEPTIONS).filter((name) => !names.includes(name))).toEqual([]);
  });

  test("no reason stands for an operation that is used", () => {
    expect(Object.keys(EXCEPTIONS).filter(isUsed)).toEqual([]);
  });
});
