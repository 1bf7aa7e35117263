/** The site as it is built: every page is there, every link leads somewhere, and the search finds it. */
import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { addressOf, linkFrom } from "./places.ts";
import type { SearchEntry } from "./search.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
let folder: string;
/** By their addresses. */
const pages = new Map<string, string>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-site-"));
  await promisify(execFile)(process.execPath, ["site/src/build.ts", folder], { cwd: root });
  for (const name of await readdir(folder, { recursive: true }))
    if (name.endsWith(".html"))
      pages.set(`/docs/${name.replace(/(index)?\.html$/, "")}`, await readFile(join(folder, name), "utf8"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const idsIn = (html: string) => [...html.matchAll(/ id="([^"]+)"/g)].map((match) => match[1]!);
const withSlash = (path: string) => (pages.has(path) ? path : `${path}/`);

test("every document is a page", async () => {
  const documents = (await readdir(join(root, "docs"), { recursive: true })).filter((name) => name.endsWith(".md"));
  expect(documents.filter((name) => !pages.has(addressOf(`docs/${name}`)!))).toEqual([]);
  for (const more of [
    "start",
    "worker",
    "changelog",
    "contributing",
    "decisions/",
    "api/v2-pods",
    "api/invoke-jobs",
    "api/v1-pods",
  ])
    expect([...pages.keys()]).toContain(`/docs/${more}`);
});

test("every link between pages leads to a page, and to a heading of it", async () => {
  const files = new Set((await readdir(folder, { recursive: true })).map((name) => `/docs/${name}`));
  const wrong = [...pages].flatMap(([address, html]) =>
    [...html.matchAll(/(?:href|src)="(\/docs[^"]*|#[^"]*)"/g)].flatMap(([, link]) => {
      const [path = "", anchor] = link!.split("#");
      const target = path === "" ? html : (pages.get(withSlash(path)) ?? (files.has(path) ? "" : undefined));
      const isThere = target !== undefined && (!anchor || idsIn(target).includes(decodeURIComponent(anchor)));
      return isThere ? [] : [`${address}: ${link}`];
    }),
  );
  expect([...new Set(wrong)]).toEqual([]);
});

test("no page loads anything from elsewhere, nor has a script of its own", () => {
  for (const html of pages.values()) {
    expect(html).not.toMatch(/<(script|link|img)[^>]+(src|href)="https?:/);
    expect(html).not.toMatch(/<script(?![^>]*src=)|<style|style="/);
  }
});

test("the search finds a reason code, a setting and an operation", async () => {
  const MiniSearch = createRequire(import.meta.url)("minisearch");
  const entries = JSON.parse(await readFile(join(folder, "search.json"), "utf8")) as SearchEntry[];
  const index = new MiniSearch({ fields: ["title", "heading", "text"], storeFields: ["url"] });
  index.addAll(entries);
  const found = (words: string) => index.search(words, { combineWith: "AND" }).map(({ url }: { url: string }) => url);
  expect(found("crash-loop")).toEqual(expect.arrayContaining([expect.stringMatching(/^\/docs\/reasons/)]));
  expect(found("MILLRACE_PORT")).toEqual(expect.arrayContaining([expect.stringMatching(/^\/docs\/settings/)]));
  expect(found("Create a Pod")).toContain("/docs/api/v2-pods#createPod");
});

test("agents find every document as Markdown in llms.txt", async () => {
  const text = await readFile(join(folder, "llms.txt"), "utf8");
  const links = [...text.matchAll(/\(\/docs\/([^)]+\.md)\)/g)].map((match) => match[1]!);
  expect(links).toEqual(expect.arrayContaining(["jobs.md", "reasons.md", "start.md", "clients/index.md"]));
  for (const link of links) expect((await readFile(join(folder, link), "utf8")).length).toBeGreaterThan(20);
  expect(text).toContain("(/v2/openapi.json)");
});

test("a link to a source file becomes text, and one to another document a link to its page", () => {
  expect(linkFrom("docs/jobs.md", "../platform/src/main.ts")).toBeUndefined();
  expect(linkFrom("docs/clients/mcp.md", "../jobs.md#retry")).toBe("/docs/jobs#retry");
  expect(linkFrom("README.md", "docs/README.md")).toBe("/docs/");
  expect(linkFrom("docs/jobs.md", "https://example.com")).toBe("https://example.com");
});
