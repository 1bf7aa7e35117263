/** `millrace dev` as a person runs it: the handler's first result, a save while a job runs, and an end that leaves nothing. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFailed, test } from "vitest";
import { stay } from "../src/kernel/clock.ts";
import { launcher, root, temporaryFolder } from "./process.ts";
import { LOOK_MS } from "./worker-place.ts";
import { call } from "./world.ts";

const handler = (version: number) => `
import { start } from "millrace-worker";
import { setTimeout } from "node:timers/promises";
console.log("working with ${version}");
start({ handler: async ({ input }) => (await setTimeout(input.ms ?? 0), { version: ${version} }) });
`;

/** Does on the wire what the public package does, as far as one job at a time needs. */
const SDK = await readFile(join(root, "scripts/testing/stand-in-sdk.py"), "utf8");

/** The code that the documentation shows. */
const shown = async (language: string) => {
  const text = await readFile(join(root, "docs/dev.md"), "utf8");
  return new RegExp(`\\n\`\`\`${language}\\n(.*?)\\n\`\`\``, "s").exec(text)![1]!;
};

interface Dev extends AsyncDisposable {
  folder: string;
  shows(text: string): Promise<void>;
  lines: string[];
  end(): Promise<number>;
  call(method: string, path: string, body?: object): ReturnType<typeof call>;
}

async function dev(files: Record<string, string>, ...flags: string[]): Promise<Dev> {
  const [project, data] = [await temporaryFolder(), await temporaryFolder()];
  for (const [name, text] of Object.entries(files)) {
    await mkdir(join(project.path, name, ".."), { recursive: true });
    await writeFile(join(project.path, name), text);
  }
  await chmod(project.path, 0o755);
  const own = flags.map((flag) => flag.replace("FOLDER", project.path));
  const args = ["dev", project.path, "--data", data.path, "--port", "0", ...own];
  const { PATH = "" } = process.env;
  const child: ChildProcess = spawn(launcher, args, { env: { PATH, HOME: tmpdir(), MILLRACE_DOCKER: "off" } });
  const exited = once(child, "exit");
  const lines: string[] = [];
  for (const stream of [child.stdout!, child.stderr!]) createInterface(stream).on("line", (line) => lines.push(line));
  onTestFailed(() => console.log(lines.join("\n")));
  const end = async () => {
    child.kill("SIGINT");
    return (await exited)[0];
  };
  return {
    folder: project.path,
    lines,
    end,
    async shows(text) {
      while (!lines.some((line) => line.includes(text))) {
        if (child.exitCode !== null) throw new Error(`millrace dev ended without "${text}"`);
        await stay(LOOK_MS);
      }
    },
    call(method, path, body) {
      const [, url, endpoint, key] = /curl (\S+)\/v2\/(\w+)\/runsync .*Bearer (\S+)'/.exec(lines.join("\n"))!;
      return call(url!, method, path.replace("ENDPOINT", endpoint!), { key: key!, body });
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null) await end();
      for (const folder of [project, data]) await folder[Symbol.asyncDispose]();
    },
  };
}

/** The processes and mounts that name the folder. The launcher may still build the console for later starts, and does not count. */
async function remainsOf(folder: string): Promise<string[]> {
  const name = basename(folder);
  const pids = (await readdir("/proc")).filter((entry) => /^\d+$/.test(entry) && Number(entry) !== process.pid);
  const commands = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")));
  const mounts = (await readFile("/proc/mounts", "utf8")).split("\n");
  const launched = commands.filter((command) => !command.includes(launcher));
  return [...launched, ...mounts].filter((line) => line.includes(name));
}

test("a save while a job runs: the job ends with the code it began with, the next one gets the new code, and nothing is left", async () => {
  await using at = await dev({ "handler.ts": handler(1), "test_input.json": '{"input": {"ms": 1}}' });
  await at.shows("test_input.json: COMPLETED");
  await at.shows("working with 1");
  const slow = at.call("POST", "/v2/ENDPOINT/runsync?wait=60000", { input: { ms: 3000 } });
  while ((await at.call("GET", "/v2/ENDPOINT/health")).json.jobs.inProgress === 0) await stay(LOOK_MS);
  await writeFile(join(at.folder, "handler.ts"), handler(2));
  await at.shows("reload: handler.ts changed");
  await at.shows("runs the new code");
  const next = await at.call("POST", "/v2/ENDPOINT/runsync?wait=60000", { input: {} });
  expect(next.json).toMatchObject({ status: "COMPLETED", output: { version: 2 } });
  expect((await slow).json).toMatchObject({ status: "COMPLETED", output: { version: 1 } });
  expect(await at.end()).toBe(0);
  expect(await remainsOf(at.folder)).toEqual([]);
});

test("the Python handler of the documentation runs as it is", async () => {
  await using at = await dev({
    ...{ "handler.py": await shown("python"), "test_input.json": await shown("json") },
    "runpod/__init__.py": SDK,
  });
  await at.shows("test_input.json: COMPLETED");
  await at.shows('"hello": "mill"');
  expect(await at.end()).toBe(0);
});

test("the TypeScript handler of the documentation runs without an installation", async () => {
  await using at = await dev({ "handler.ts": await shown("ts"), "test_input.json": await shown("json") });
  await at.shows('"hello": "mill"');
});

test("--gpu, --env-file and --env reach the handler, and --env comes before the file", async () => {
  const seen = "({ model: process.env.MODEL, level: process.env.LEVEL, quoted: process.env.QUOTED })";
  await using at = await dev(
    {
      "handler.ts": `import { start } from "millrace-worker";\nstart({ handler: () => ${seen} });\n`,
      "settings.env": '# a comment\nMODEL=small\nLEVEL=info\nQUOTED="a b"\n',
      "test_input.json": "{}",
    },
    ...["--gpu", "2", "--env-file", "FOLDER/settings.env", "--env", "LEVEL=debug"],
  );
  await at.shows("test_input.json: COMPLETED");
  const done = await at.call("POST", "/v2/ENDPOINT/runsync?wait=60000", { input: {} });
  expect(done.json).toMatchObject({ status: "COMPLETED", output: { model: "small", level: "debug", quoted: "a b" } });
  const { endpoints } = (await at.call("GET", "/v2/serverless")).json;
  expect(endpoints).toMatchObject([{ gpu: { count: 2 }, env: { MODEL: "small", LEVEL: "debug" } }]);
  const { workers } = (await at.call("GET", `/v2/serverless/${endpoints[0].id}/workers`)).json;
  expect(workers[0]).toMatchObject({ gpuCount: 2 });
  expect(await at.end()).toBe(0);
  expect(await remainsOf(at.folder)).toEqual([]);
});
