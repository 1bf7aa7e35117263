/** Builds the documentation as a site of plain pages, with an API reference and a search: `node site/src/build.ts FOLDER`, in the repository's root. */
import { cp, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import Eleventy, { IdAttributePlugin } from "@11ty/eleventy";
import highlight from "@11ty/eleventy-plugin-syntaxhighlight";
import { readable } from "./markdown.ts";
import { navigationFrom } from "./navigation.ts";
import { addressOf, BASE, documentOf, GUESTS } from "./places.ts";
import { type OpenApi, type ReferencePage, referencePages } from "./reference.ts";
import { searchable } from "./search.ts";

const APIS = [
  { file: "openapi.json", id: "v2", title: "REST v2" },
  { file: "openapi-invoke.json", id: "invoke", title: "Endpoints" },
  { file: "openapi-v1.json", id: "v1", title: "REST v1" },
];
/** Folders whose documents are listed by name. */
const LISTED = { decisions: "Decisions", recipes: "Recipes" };

interface Rendered {
  inputPath: string;
  outputPath: string;
  rawInput: string;
  content: string;
}

interface PageData {
  page: { inputPath: string; filePathStem: string; rawInput: string };
  title?: string;
}

const textOf = (path: string) => readFile(path, "utf8");
const titleOf = (markdown: string) => /^# (.*)$/m.exec(markdown)?.[1] ?? "";
const addressFor = (inputPath: string) =>
  inputPath.includes("/api/")
    ? inputPath.replace(/^.*\/api\/(.*)\.html$/, `${BASE}api/$1`)
    : (addressOf(documentOf(inputPath)) ?? BASE);

/** Writes the site into `folder`. Its pages expect to be served below `/docs/`. */
async function siteInto(folder: string): Promise<void> {
  const reference = (await Promise.all(APIS.map(pagesOf))).flat();
  const pages = await render(folder, reference);
  for (const { outputPath, content } of pages) {
    await mkdir(dirname(outputPath), { recursive: true });
    await writeFile(outputPath, content);
  }
  const entries = pages.map(({ inputPath, rawInput, content }) => ({
    address: addressFor(inputPath),
    title: titleOf(rawInput) || (reference.find(({ name }) => inputPath.endsWith(`/api/${name}.html`))?.title ?? ""),
    html: /<main id="content">(.*)<\/main>/s.exec(content)![1]!,
  }));
  await writeFile(join(folder, "llms.txt"), await forAgents(folder, pages));
  await writeFile(join(folder, "search.json"), JSON.stringify(searchable(entries)));
  await addFiles(folder);
}

async function pagesOf({ file, id, title }: (typeof APIS)[number]): Promise<ReferencePage[]> {
  return referencePages(JSON.parse(await textOf(file)) as OpenApi, { id, title });
}

async function render(folder: string, reference: readonly ReferencePage[]): Promise<Rendered[]> {
  const entries = reference.map(({ name, title }) => ({ title, url: `${BASE}api/${name}` }));
  const navigation = navigationFrom(await textOf("docs/README.md"), entries);
  const added = await Promise.all([
    ...Object.entries(GUESTS).map(async ([name, path]) => [`${name}.md`, await textOf(path)] as const),
    ...Object.entries(LISTED).map(async ([name, title]) => [`${name}/README.md`, await listOf(name, title)] as const),
  ]);
  const eleventy = new Eleventy("docs", folder, {
    quietMode: true,
    config(config) {
      config.setUseGitIgnore(false);
      config.setIncludesDirectory("../site/layouts");
      config.setTemplateFormats(["md", "html"]);
      config.addPlugin(highlight);
      config.addPlugin(IdAttributePlugin, { slugify: slugOf, checkDuplicates: false });
      config.amendLibrary("md", readable);
      config.addGlobalData("layout", "page.njk");
      // Documents are Markdown and nothing else: what looks like a template is text of theirs.
      config.addGlobalData("templateEngineOverride", "md");
      config.addGlobalData("navigation", navigation);
      config.addGlobalData("eleventyComputed", {
        permalink: ({ page }: PageData) => `${page.filePathStem.replace(/(^|\/)README$/, "$1index")}.html`,
        address: ({ page }: PageData) => addressFor(page.inputPath),
        title: ({ page, title }: PageData) => title || titleOf(page.rawInput ?? ""),
      });
      for (const [name, text] of added) config.addTemplate(name, text);
      for (const { name, title, html } of reference)
        config.addTemplate(`api/${name}.html`, html, { title, templateEngineOverride: "html" });
    },
  });
  return eleventy.toJSON();
}

async function listOf(folder: string, title: string): Promise<string> {
  const names = (await readdir(join("docs", folder))).filter((name) => name.endsWith(".md")).sort();
  const lines = names.map(async (name) => `- [${titleOf(await textOf(join("docs", folder, name)))}](${name})`);
  return `# ${title}\n\n${(await Promise.all(lines)).join("\n")}\n`;
}

/** GitHub's names for headings, so that a link to one works in both places. */
const slugOf = (heading: string) =>
  heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(/\s/g, "-");

/** Agents read Markdown: `llms.txt` lists the documents, and each is beside its page. */
async function forAgents(folder: string, pages: readonly Rendered[]): Promise<string> {
  const documents = pages.filter(({ inputPath }) => inputPath.endsWith(".md") && !inputPath.includes("/decisions/"));
  const lines = documents.map(async ({ outputPath, rawInput }) => {
    const path = outputPath.replace(/\.html$/, ".md");
    await writeFile(path, rawInput);
    return `- [${titleOf(rawInput)}](${BASE}${relative(folder, path)})`;
  });
  const about =
    "Millrace is a self-hosted cloud for GPU and CPU work: Pods, serverless endpoints, volumes and clusters.";
  const api = APIS.map(({ file, title }) => `- [OpenAPI of ${title}](${addressOf(file)})`);
  const list = (await Promise.all(lines)).toSorted();
  return ["# Millrace", `> ${about}`, "## Documents", list.join("\n"), "## API", api.join("\n"), ""].join("\n\n");
}

async function addFiles(folder: string): Promise<void> {
  const search = join(dirname(createRequire(import.meta.url).resolve("minisearch")), "../umd/index.js");
  await cp(search, join(folder, "minisearch.js"));
  for (const script of ["search.js", "copy.js"]) await cp(join("site/public", script), join(folder, script));
  await cp("docs/images", join(folder, "images"), { recursive: true, force: true }).catch(ifMissing);
  const styles = await Promise.all(["console/src/design/tokens.css", "site/public/style.css"].map(textOf));
  await writeFile(join(folder, "style.css"), styles.join("\n"));
}

function ifMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== "ENOENT") throw error;
}

await siteInto(process.argv[2]!);
