/** Follows docs/operating.md word for word: three servers on one PostgreSQL, with its own tools. A dump under load loses nothing. */
import { existsSync, readdirSync } from "node:fs";
import { readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { realClock } from "../src/kernel/clock.ts";
import { TestBrowser } from "./browser.ts";
import { openBash } from "./documents/bash.ts";
import { readPage, runSteps } from "./documents/page.ts";
import { signInAt } from "./identity/at-provider.ts";
import { freePort, startPostgres } from "./postgres-server.ts";
import { ownerKey, root, run, type Server, startServer, temporaryFolder } from "./process.ts";

const GUIDE = "docs/operating.md";
/** The ports that the guide speaks of. A test takes free ones in their place. */
const PORTS = ["7420", "7430", "7440", "8443", "9090", "9400"];
const DEBIAN = "/usr/lib/postgresql";
/** It is one walk with some fifty commands and nine starts of servers. Only one that hangs takes so long. */
const WALK_MS = 290_000;

/** The newest PostgreSQL of the machine that has its server beside its tools. They must be of one version. */
function installedPostgres(): string | undefined {
  if (!existsSync(DEBIAN)) return undefined;
  const folders = readdirSync(DEBIAN).map((version) => join(DEBIAN, version, "bin"));
  const whole = folders.filter((bin) =>
    ["postgres", "pg_dump", "pg_restore"].every((name) => existsSync(join(bin, name))),
  );
  return whole.sort().at(-1);
}

const bin = installedPostgres();

// Debian's package `postgresql` has them, which a contributor need not have. CI installs it.
test.skipIf(!bin)(
  "a stranger who follows the guide gets three servers that share work, a restored backup, alerts, accounts, single sign-on and invoices",
  async () => {
    await using postgres = await startPostgres(bin);
    await using home = await temporaryFolder();
    await symlink(join(root, "node_modules"), join(home.path, "node_modules"));
    const address = new URL(postgres.url);
    const ports = new Map<string, string>([["5432", address.port]]);
    for (const port of PORTS) ports.set(port, String(await freePort()));
    // The test's own PostgreSQL is one of a provider: the variables below name its administrator.
    const translated = (code: string) =>
      [...ports].reduce(
        (text, [shown, real]) => text.replaceAll(new RegExp(`\\b${shown}\\b`, "g"), real),
        code.replaceAll("sudo -u postgres ", ""),
      );
    await using bash = await openBash(root, {
      ...{ HOME: home.path, XDG_CONFIG_HOME: join(home.path, ".config") },
      PATH: `${bin}:${process.env.PATH}`,
      ...{ PGHOST: "127.0.0.1", PGPORT: address.port, PGUSER: "postgres", PGPASSWORD: address.password },
    });
    try {
      const page = await readPage(GUIDE);
      const asked = page.steps.findIndex(({ code }) => code.includes("millrace login")) + 1;
      await runSteps({ ...page, steps: page.steps.slice(0, asked) }, bash, translated);
      const said = await readFile(join(home.path, "millrace/login.log"), "utf8");
      await approve(said, `http://127.0.0.1:${ports.get("7430")}`);
      await runSteps({ ...page, steps: page.steps.slice(asked) }, bash, translated);
    } finally {
      // Servers end in order, so that their workers end too.
      await bash.run("kill $(cat ~/millrace/*.pid); wait");
    }
  },
  WALK_MS,
);

/** What the reader does in a browser: signs in by the provider, and approves the code that the command line shows. */
async function approve(said: string, server: string): Promise<void> {
  const [, origin = "", userCode] = /(http\S+)\/code#(\S+)/.exec(said)!;
  const browser = new TestBrowser(server, origin);
  const done = async (method: string, path: string, body?: object) => {
    const { status, json, text } = await browser.call(method, path, { body });
    expect([path, status < 300, text]).toEqual([path, true, text]);
    return json;
  };
  const { url } = await done("POST", "/v2/account/sign-in/provider/begin");
  const back = await signInAt(url, "mary@example.com", origin);
  const { me } = await done("POST", "/v2/account/sign-in/provider", { answer: back.search.slice(1) });
  expect([me.account.name, me.person.role]).toEqual(["lab", "member"]);
  await done("POST", "/v2/account/codes/answer", { userCode, approve: true });
}

const SUBMITTERS = 4;
/** So many jobs are acknowledged before the dump begins, and some more while it is made. */
const BEFORE = 100;
const LARGE = "x".repeat(400_000);

/** Submits small and large jobs as fast as they are taken, and keeps those that were acknowledged, with the time. */
function submit(server: Server, endpoint: string, key: string) {
  const jobs: { id: string; at: number; size: number }[] = [];
  let isOn = true;
  const submitter = async (number: number) => {
    for (let turn = number; isOn; turn++) {
      const text = turn % 5 === 0 ? LARGE : "";
      const { status, json } = await server.call("POST", `/v2/${endpoint}/run`, { key, body: { input: { text } } });
      if (status !== 200) throw new Error(`a job was refused with ${status}`);
      jobs.push({ id: json.id, at: realClock.now(), size: text.length });
    }
  };
  const all = Array.from({ length: SUBMITTERS }, (_, number) => submitter(number));
  return {
    jobs,
    async stop() {
      isOn = false;
      await Promise.all(all);
    },
  };
}

test.skipIf(!bin)(
  "a dump that is made under load has every job that was acknowledged before it began, with its input",
  async () => {
    await using postgres = await startPostgres(bin);
    const tool = async (name: string, ...args: string[]) => {
      const { code, stderr } = await run(join(bin!, name), args, {});
      expect([name, code, stderr]).toEqual([name, 0, ""]);
    };
    const restoredUrl = postgres.url.replace(/postgres$/, "restored");
    await using folder = await temporaryFolder();
    const masterKey = Buffer.alloc(32, 7).toString("base64");
    const env = (url: string) => ({
      MILLRACE_DATABASE_URL: url,
      MILLRACE_MASTER_KEY: masterKey,
      MILLRACE_COMPUTE: "none",
    });
    const data = join(folder.path, "data");
    await using server = await startServer(data, { env: env(postgres.url) });
    const key = await ownerKey(data);
    await server.call("POST", "/v2/account/secrets", { key, body: { name: "token", value: "kept" } });
    const body = { name: "e", image: "host", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
    const endpoint = (await server.call("POST", "/v2/serverless", { key, body })).json.id as string;
    const load = submit(server, endpoint, key);
    while (load.jobs.length < BEFORE) await new Promise((resolve) => setImmediate(resolve));
    const moment = realClock.now();
    await tool("pg_dump", "--format=custom", `--file=${join(folder.path, "dump")}`, postgres.url);
    await load.stop();
    await server.end("SIGKILL");

    await tool("createdb", `--maintenance-db=${postgres.url}`, "restored");
    await tool("pg_restore", "--no-owner", "--exit-on-error", `--dbname=${restoredUrl}`, join(folder.path, "dump"));
    await using restored = await startServer(join(folder.path, "other"), { env: env(restoredUrl) });
    const due = load.jobs.filter(({ at }) => at <= moment);
    expect(due.length).toBeGreaterThanOrEqual(BEFORE);
    expect(load.jobs.length).toBeGreaterThan(due.length);
    for (const { id, size } of due) {
      const { status, json } = await restored.call("GET", `/v2/${endpoint}/requests/${id}`, { key });
      expect([id, status, json.input?.text.length]).toEqual([id, 200, size]);
    }
  },
);
