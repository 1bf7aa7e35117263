/** The site as it is built: every page is there, every link leads somewhere, and the search finds it. */
import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { runInNewContext } from "node:vm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { addressOf, linkFrom } from "./places.ts";

/** The page shows twelve results. People look at the upper half. */
const FIRST = 6;

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

/** What people type, and the page that they hope for. */
const WANTED: Record<string, string> = {
  install: "/docs/install",
  docker: "/docs/containers",
  gpu: "/docs/guides/several-gpus",
  "python handler": "/docs/dev#python",
  vllm: "/docs/guides/vllm",
  openai: "/docs/clients/openai",
  webhook: "/docs/jobs#webhooks",
  timeout: "/docs/guides/troubleshooting#a-job-failed-or-timed_out",
  "cancel job": "/docs/jobs#ending-a-running-job",
  retry: "/docs/jobs#lifecycle",
  secret: "/docs/keys#secrets",
  registry: "/docs/keys#registries",
  "api key": "/docs/keys",
  "rate limit": "/docs/jobs#rate-limits",
  quota: "/docs/keys#quotas",
  postgresql: "/docs/operating",
  backup: "/docs/operating#back-up",
  upgrade: "/docs/operating#upgrade",
  https: "/docs/operating#https",
  systemd: "/docs/operating#start-with-the-machine",
  ssh: "/docs/ssh",
  jupyter: "/docs/templates#public-templates",
  "upload file": "/docs/files",
  volume: "/docs/storage#network-volumes",
  billing: "/docs/billing",
  price: "/docs/billing#prices",
  "scale to zero": "/docs/workers#scaling",
  "cold start": "/docs/workers#flashboot",
  autoscaling: "/docs/workers#scaling",
  "environment variables": "/docs/workers#environment-variables",
  "job stuck": "/docs/guides/troubleshooting",
  "no capacity": "/docs/guides/troubleshooting",
  "migrate from runpod": "/docs/guides/moving",
  "multiple nodes": "/docs/installation",
  prometheus: "/docs/metrics",
  logs: "/docs/cli#logs",
  "github actions": "/docs/guides/ci",
  "forgot password": "/docs/guides/troubleshooting#i-cannot-sign-in-to-the-console",
  invite: "/docs/people",
  "crash-loop": "/docs/reasons",
  MILLRACE_PORT: "/docs/settings",
  "Create a Pod": "/docs/api/v2-pods#createPod",
};

test("the search finds what people type among its first results", async () => {
  const search = await searchField();
  const missed: unknown[] = [];
  for (const [words, url] of Object.entries(WANTED)) {
    const found = (await search(words)).slice(0, FIRST);
    if (!found.some((one) => one.startsWith(url))) missed.push([words, url, found]);
  }
  expect(missed).toEqual([]);
});

/** Runs the page's own script on as much of a page as it uses. Types words, and returns where the results lead. */
async function searchField(): Promise<(words: string) => Promise<string[]>> {
  let input = async () => {};
  let results: { href: string }[] = [];
  const field = { value: "", addEventListener: (_: string, on: typeof input) => (input = on) };
  const found = {
    hidden: true,
    replaceChildren: (...entries: { link: { href: string } }[]) => (results = entries.map(({ link }) => link)),
  };
  const document = {
    getElementById: (id: string) => (id === "search" ? field : found),
    createElement: (name: string) =>
      name === "a"
        ? { href: "" }
        : {
            append(link: unknown) {
              Object.assign(this, { link });
            },
          },
    addEventListener: () => {},
  };
  const MiniSearch = createRequire(import.meta.url)("minisearch");
  const fetch = async (url: string) => new Response(await readFile(join(folder, url.replace("/docs/", ""))));
  runInNewContext(await readFile(join(folder, "search.js"), "utf8"), { document, fetch, MiniSearch });
  return async (words) => {
    field.value = words;
    await input();
    return results.map(({ href }) => href);
  };
}

test("a button copies a block of code", async () => {
  const copied: string[] = [];
  const made: { className: string; click?: () => Promise<void>; parts?: unknown[] }[] = [];
  const element = () => {
    const one = {
      className: "",
      addEventListener: (_: string, on: () => Promise<void>) => Object.assign(one, { click: on }),
      append: (...parts: unknown[]) => Object.assign(one, { parts }),
    };
    made.push(one);
    return one;
  };
  const block = { querySelector: () => ({ textContent: "./millrace serve" }), replaceWith: () => {} };
  const navigator = { clipboard: { writeText: async (text: string) => void copied.push(text) } };
  const document = { querySelectorAll: () => [block], createElement: element };
  const script = await readFile(join(folder, "copy.js"), "utf8");
  runInNewContext(script, { document, navigator, setTimeout: () => {} });
  const [button, frame] = made;
  expect([button!.className, frame!.parts]).toEqual(["copy", [block, button]]);
  await button!.click!();
  expect(copied).toEqual(["./millrace serve"]);
  runInNewContext(script, { document, navigator: {}, setTimeout: () => {} });
  expect(made.length).toBe(2);
});

test("every page begins with a paragraph that says what it is for", () => {
  const silent = [...pages].filter(([address, html]) => {
    const begins = /<h1[^>]*>.*?<\/h1>\s*<(\w+)/s.exec(html)?.[1];
    return begins !== "p" && !/\/(api|decisions)\/|\/docs\/recipes\/$/.test(address);
  });
  expect(silent.map(([address]) => address)).toEqual([]);
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
