/** Runs the blocks of the documents on a real server, and compares each answer with the one that the document shows. */
import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { pages } from "../../scripts/documents/pages.ts";
import { openBash } from "./documents/bash.ts";
import { isRun, type Page, readPage, runSteps } from "./documents/page.ts";
import { type Folder, ownerKey, root, type Server, startServer, temporaryFolder } from "./process.ts";

/** It starts servers of its own: operating.real.test.ts runs it. */
const GUIDE = "docs/operating.md";
/** A page of words alone has nothing to run. */
const documents = (await Promise.all(pages.map(readPage))).filter(
  ({ path, steps }) => path !== GUIDE && steps.some(isRun),
);
/** This one drains the machine that the others use. */
const ALONE = "docs/installation.md";

/** Pages that do not set `$api`, `$auth` and `$json` themselves say that the README does. */
const [readme] = documents;
const first = readme!.steps.find(({ code }) => code.startsWith("api="))!.code.split("\n\n")[0]!;
const prelude = ({ text }: Page) => (text.includes("/README.md#the-first-job)") ? first : "");

/** The folder is a reader's home: the server's data folder is where a reader's is. */
let home: Folder;
let server: Server;

beforeAll(async () => {
  home = await temporaryFolder();
  await mkdir(join(home.path, ".millrace"));
  // Programs that a reader writes find the packages that they would have installed.
  await symlink(join(root, "node_modules"), join(home.path, "node_modules"));
  // The example of a webhook receiver asks for the two last ones.
  const env = {
    MILLRACE_COMPUTE: "host",
    MILLRACE_WEBHOOK_SECRET: "mill-secret",
    MILLRACE_WEBHOOK_PRIVATE: "allow",
  };
  server = await startServer(join(home.path, ".millrace"), { env });
});

/** Pods outlive a server: what a failed document left ends here. */
afterAll(async () => {
  const key = await ownerKey(join(home.path, ".millrace"));
  for (const kind of ["clusters", "pods"] as const) {
    const { json } = await server.call("GET", `/v2/${kind}`, { key });
    for (const { id } of json[kind]) await server.call("DELETE", `/v2/${kind}/${id}`, { key });
  }
  await server.end("SIGTERM");
  await home[Symbol.asyncDispose]();
});

const titled = documents.map((page) => [page.path, page] as const);

/** They wait more than they compute, so several run at a time. */
test.concurrent.each(titled.filter(([path]) => path !== ALONE))("%s does what it says", (_, page) => check(page));
test.each(titled.filter(([path]) => path === ALONE))("%s does what it says", (_, page) => check(page));

async function check(page: Page): Promise<void> {
  const { PATH = "" } = process.env;
  const config = join(home.path, ".config", page.path.replaceAll("/", "-"));
  await using bash = await openBash(root, { PATH, HOME: home.path, XDG_CONFIG_HOME: config });
  await bash.run(onServer(prelude(page)));
  await runSteps(page, bash, onServer);
}

/** Documents speak of the port that a reader's server has. */
const onServer = (code: string) =>
  code
    .replaceAll("127.0.0.1:7420", new URL(server.url).host)
    .replaceAll("localhost:7420", new URL(server.url).host.replace("127.0.0.1", "localhost"));

test("most blocks run; of the others each says why not", async () => {
  const all = (await Promise.all(pages.map(readPage))).flatMap(({ path, steps }) =>
    steps.map((step) => ({ path, ...step })),
  );
  const notRun = all.filter((step) => !isRun(step));
  for (const { path, line, "not run": reason, needs } of notRun)
    console.log(`${path}:${line} does not run: ${reason ?? `${needs} is not installed here`}`);
  console.log(`${all.length - notRun.length} blocks run, ${notRun.length} do not`);
  expect(notRun.length).toBeLessThan(all.length / 3);
});
