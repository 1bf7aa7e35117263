/** Runs the shell blocks of the documents on a real server, and compares each answer with the one that the document shows. */
import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Step, stepsIn } from "../../scripts/documents/blocks.ts";
import { differences } from "../../scripts/documents/pattern.ts";
import { openBash } from "./documents/bash.ts";
import { type Folder, ownerKey, root, type Server, startServer, temporaryFolder } from "./process.ts";

const guides = (await readdir(join(root, "docs/guides"))).map((name) => `docs/guides/${name}`).sort();
const named = ["README.md", "docs/jobs.md", "docs/examples.md", ...guides];
const stepsOf = async (path: string) => stepsIn(await readFile(join(root, path), "utf8"));
const steps = await Promise.all(named.map(async (path) => [path, await stepsOf(path)] as const));
/** A page of words alone has nothing to run. */
const documents = steps.filter(([, each]) => each.length > 0);

/** The folder is a reader's home: the server's data folder is where a reader's is. */
let home: Folder;
let server: Server;

beforeAll(async () => {
  home = await temporaryFolder();
  await mkdir(join(home.path, ".millrace"));
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

test.each(documents)("%s does what it says", async (path, each) => {
  const { PATH = "" } = process.env;
  await using bash = await openBash(root, { PATH, HOME: home.path });
  for (const step of each) {
    if (step.notRun !== undefined) continue;
    const place = `${path}:${step.line}`;
    const { output, failed } = await bash.run(onServer(step.code));
    expect(failed && `${place}: ${failed}${output}`).toBe("");
    expect(wrongIn(step, output).map((wrong) => `${place}: ${wrong}\n${output}`)).toEqual([]);
  }
});

/** Documents speak of the port that a reader's server has. */
const onServer = (code: string) => code.replaceAll("127.0.0.1:7420", new URL(server.url).host);

function wrongIn({ answer }: Step, output: string): string[] {
  if (!answer) return [];
  const last = output.split("\n").at(-1)!;
  const text = [output, last].find((one) => parsed(one) !== undefined);
  return text === undefined ? ["the answer is not JSON"] : differences(answer.code, parsed(text));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

test("most blocks run; of the others each says why not", () => {
  const all = documents.flatMap(([path, each]) => each.map((step) => ({ path, ...step })));
  const notRun = all.filter((step) => step.notRun !== undefined);
  for (const { path, line, notRun: reason } of notRun) console.log(`${path}:${line} does not run: ${reason}`);
  console.log(`${all.length - notRun.length} blocks run, ${notRun.length} do not`);
  expect(notRun.length).toBeLessThan(all.length / 2);
});
