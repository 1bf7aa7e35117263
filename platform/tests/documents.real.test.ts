/** Runs the shell blocks of the documents on a real server, and compares each answer with the one that the document shows. */
import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Step, stepsIn } from "../../scripts/documents/blocks.ts";
import { differences } from "../../scripts/documents/pattern.ts";
import { openBash } from "./documents/bash.ts";
import { type Folder, root, type Server, startServer, temporaryFolder } from "./process.ts";

const guides = (await readdir(join(root, "docs/guides"))).map((name) => `docs/guides/${name}`).sort();
const documents = ["README.md", "docs/jobs.md", "docs/examples.md", ...guides];

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

afterAll(async () => {
  await server.end("SIGTERM");
  await home[Symbol.asyncDispose]();
});

const stepsOf = async (path: string) => stepsIn(await readFile(join(root, path), "utf8"));

test.each(documents)("%s does what it says", async (path) => {
  const { PATH = "" } = process.env;
  await using bash = await openBash(root, { PATH, HOME: home.path });
  for (const step of await stepsOf(path)) {
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

test("most blocks run; of the others each says why not", async () => {
  const steps = (
    await Promise.all(documents.map(async (path) => (await stepsOf(path)).map((step) => ({ path, ...step }))))
  ).flat();
  const notRun = steps.filter((step) => step.notRun !== undefined);
  for (const { path, line, notRun: reason } of notRun) console.log(`${path}:${line} does not run: ${reason}`);
  console.log(`${steps.length - notRun.length} blocks run, ${notRun.length} do not`);
  expect(notRun.length).toBeLessThan(steps.length / 2);
});
