/** A real Prometheus scrapes a real server with the files of `monitoring`, and its own tool checks all of them. */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { realClock, sleep } from "../src/kernel/clock.ts";
import { startChild } from "./child.ts";
import { ownerKey, root, run, startServer, temporaryFolder } from "./process.ts";

const isInstalled = ["prometheus", "promtool"].every((name) => {
  try {
    return execFileSync(name, ["--version"], { stdio: "pipe" }).length >= 0;
  } catch {
    return false;
  }
});
const monitoring = join(root, "monitoring");

// They come with Debian's package `prometheus`, which a contributor need not have. CI installs it.
test.skipIf(!isInstalled)("promtool accepts the alert rules, and their tests pass", async () => {
  const checked = await run("promtool", ["check", "rules", "alerts.yml"], { cwd: monitoring });
  expect([checked.code, checked.stderr]).toEqual([0, ""]);
  const tested = await run("promtool", ["test", "rules", "alerts.test.yml"], { cwd: monitoring });
  expect([tested.code, tested.stderr.replaceAll(/Unit Testing:.*/g, "").trim()]).toEqual([0, ""]);
});

test.skipIf(!isInstalled)(
  "Prometheus scrapes a server with a key that may do nothing else, and finds every metric in it that promtool would",
  async () => {
    await using folder = await temporaryFolder();
    await using server = await startServer(folder.path, { args: ["--metrics-address", "127.0.0.1:0"] });
    const key = await ownerKey(folder.path);
    const body = { name: "prometheus", scopes: ["installation:metrics"] };
    const made = await server.call("POST", "/v2/account/api-keys", { key, body });
    const open = /"url":"(http[^"]+)"/.exec(server.log())![1]!;
    const text = await (await fetch(open)).text();
    await writeFile(join(folder.path, "scrape"), text);
    const checked = await run("sh", ["-c", "promtool check metrics < scrape"], { cwd: folder.path });
    expect([checked.code, checked.stdout, checked.stderr]).toEqual([0, "", ""]);

    await writeFile(join(folder.path, "key"), made.json.key);
    const { host } = new URL(server.url);
    const config = {
      global: { scrape_interval: "1s", evaluation_interval: "1s" },
      rule_files: [join(monitoring, "alerts.yml")],
      scrape_configs: [
        {
          job_name: "millrace",
          authorization: { credentials_file: join(folder.path, "key") },
          static_configs: [{ targets: [host] }],
        },
      ],
    };
    await writeFile(join(folder.path, "prometheus.yml"), JSON.stringify(config));
    const port = await freePort();
    const prometheus = startChild("prometheus", [
      `--config.file=${join(folder.path, "prometheus.yml")}`,
      `--storage.tsdb.path=${join(folder.path, "tsdb")}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ]);
    try {
      const ask = async (path: string) =>
        (await (await fetch(`http://127.0.0.1:${port}/api/v1/${path}`)).json()) as {
          data: { result: { value: [number, string] }[]; groups: { rules: { health: string }[] }[] };
        };
      const query = async (text: string) => (await ask(`query?query=${encodeURIComponent(text)}`)).data.result;
      await happens("the server was scraped", async () => (await query('up{job="millrace"} == 1')).length === 1);
      expect((await query("millrace_installation_read"))[0]!.value[1]).toBe("1");
      await happens("the alert rules were evaluated", async () => {
        const rules = (await ask("rules")).data.groups.flatMap((group) => group.rules);
        return rules.length > 10 && rules.every(({ health }) => health === "ok");
      });
      expect(await query("ALERTS")).toEqual([]);
    } finally {
      const exited = once(prometheus, "exit");
      prometheus.kill("SIGKILL");
      await exited;
    }
  },
);

/** Prometheus reports nothing that could be waited for, so it is asked until it has happened. */
async function happens(what: string, check: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 300; tries++) {
    if (await check().catch(() => false)) return;
    await sleep(realClock, 200);
  }
  throw new Error(`it never happened: ${what}`);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
