/** A cluster on two real machines: its members reduce a vector over a ring, encrypted, also when a node is killed and comes back. */
import { execFile } from "node:child_process";
import { chmod, copyFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeEach, expect, test } from "vitest";
import { missingForTests } from "../src/adapters/host/machine.ts";
import { find } from "../src/adapters/machine/tools.ts";
import { stay } from "../src/kernel/clock.ts";
import { apiKeyText } from "../src/kernel/ids.ts";
import { realRandom } from "../src/kernel/random.ts";
import { freshDatabase } from "./database.ts";
import { podLines } from "./pod-lines.ts";
import { type Server, startServer, temporaryFolder } from "./process.ts";
import { type TestMachine, twoMachines } from "./two-machines.ts";
import { LOOK_MS, type ServerPlace } from "./worker-place.ts";

const missing = await missingForTests();
beforeEach(({ skip }) => skip(missing !== undefined, missing));

const key = apiKeyText(realRandom);
const MARK = "a gradient in clear text";
/** Without WireGuard on this machine the network is named as trusted, and what is sent is seen in clear. */
const isEncrypted = (await find("wg")) !== undefined && (await find("wireguard-go")) !== undefined;

const hasTorch = await promisify(execFile)("/usr/bin/python3", ["-c", "import torch.distributed"]).then(
  () => true,
  () => false,
);

async function until<T>(look: () => Promise<T>, isSo: (seen: T) => boolean): Promise<T> {
  for (;;) {
    const seen = await look();
    if (isSo(seen)) return seen;
    await stay(LOOK_MS);
  }
}

test("members on two machines reach each other, encrypted, and nobody else does, before and after a node is killed", async () => {
  await using database = await freshDatabase();
  await using folder = await temporaryFolder();
  await chmod(folder.path, 0o755);
  for (const program of ["ring-program.mjs", "sum-program.mjs", "all-reduce.py"])
    await copyFile(new URL(`./fixtures/${program}`, import.meta.url), join(folder.path, program));
  const image = `host:${folder.path}`;
  const catalog = join(folder.path, "catalog.json");
  await writeFile(catalog, JSON.stringify({ gpus: { "NVIDIA A40": { maxCount: { secure: 64 } } } }));
  await using under = await twoMachines(folder.path);
  const port = await under.forward(new URL(database.url));
  const masterKey = Buffer.from(realRandom.bytes(32)).toString("base64");
  const start = (machine: TestMachine, data: string) => {
    const url = Object.assign(new URL(database.url), { host: `${machine.tests}:${port}` });
    const env = {
      ...{ MILLRACE_COMPUTE: "host", MILLRACE_GPUS: "virtual", MILLRACE_API_KEY: key, MILLRACE_MASTER_KEY: masterKey },
      ...{
        MILLRACE_DATABASE_URL: url.href,
        MILLRACE_HOST: machine.address,
        MILLRACE_SSH_PORT: "off",
        MILLRACE_CATALOG: catalog,
      },
      ...(isEncrypted ? {} : { MILLRACE_TRUSTED_NETWORKS: "192.168.213.0/24" }),
    };
    return startServer(data, { env, command: machine.command });
  };
  const [one, two] = under.machines;
  await using first = await temporaryFolder();
  await using second = await temporaryFolder();
  await using a = await start(one, first.path);
  await using b = await start(two, second.path);
  const at = (server: Server) => ({ server, key }) as ServerPlace;
  const call = (method: string, path: string, body?: object) => a.call(method, path, { key, body });

  // Each machine has 64 virtual GPUs of a type, so there is room for one member on each.
  await until(
    async () => (await call("GET", "/v2/installation/machines")).json.machines,
    (machines) => machines?.length === 2,
  );
  const compute = { gpuTypeId: "NVIDIA A40", gpuCountPerPod: 40, podCount: 2 };
  const cluster = { name: "ring", type: "TRAINING", image, compute, disk: 5, env: { WORLD_SIZE: "2" } };
  const program = { entrypoint: ["sh", "-c"], cmd: ["RANK=$NODE_RANK exec node ring-program.mjs"] };
  const made = await call("POST", "/v2/clusters", { ...cluster, ...program });
  expect([made.status, made.text]).toEqual([201, expect.anything()]);
  const { id } = made.json;
  const pods: { id: string }[] = (await call("GET", `/v2/clusters/${id}/pods`)).json.pods;
  const sniffing = await under.sniff(MARK);
  for (const pod of pods) expect((await podLines(at(a), pod.id, /^round/, 3))[2]).toMatch(/^round 3 sum 3 in/);
  const seen = await sniffing.end();
  expect(seen.packets).toBeGreaterThan(1000);
  if (isEncrypted) expect(seen.found).toBe(0);
  else expect(seen.found).toBeGreaterThan(0);
  const { network } = (await call("GET", `/v2/clusters/${id}`)).json;
  const rankZero = network.cidr.replace("0/24", "2");

  // A Pod that is no member reaches none.
  const stranger = { name: "stranger", image, cmd: ["node", "sum-program.mjs"], cpu: { id: "cpu3c", vcpuCount: 2 } };
  const { id: other } = (await call("POST", "/v2/pods", { ...stranger, env: { CALL: `${rankZero}:29501` } })).json;
  expect(await podLines(at(a), other, /reach/)).toEqual(["unreachable"]);
  await call("DELETE", `/v2/pods/${other}`);

  // Another cluster, with real torch where this machine has it.
  if (hasTorch) {
    const terms = { ...cluster, name: "torch", compute: { ...compute, gpuCountPerPod: 20 } };
    const reduces = { entrypoint: ["sh", "-c"], cmd: ["RANK=$NODE_RANK exec /usr/bin/python3 all-reduce.py"] };
    const { json } = await call("POST", "/v2/clusters", { ...terms, ...reduces });
    for (const pod of (await call("GET", `/v2/clusters/${json.id}/pods`)).json.pods as { id: string }[]) {
      const [, , third] = await podLines(at(a), pod.id, /^torch/, 3);
      expect(third).toMatch(/^torch \S+ sum 3 to 3 in/);
      console.log(third);
    }
    await call("DELETE", `/v2/clusters/${json.id}`);
  }

  // The members go on without the second server. Then somebody removes what joins the machines. The next server puts it back.
  const ours = async (machine: TestMachine) => (await machine.links()).filter((name) => /^mr.{6}[ow]/.test(name));
  const links = await until(
    () => ours(two),
    ({ length }) => length === (isEncrypted ? 2 : 1),
  );
  const isFlowing = async () => {
    const watching = await under.sniff(MARK);
    await stay(2000);
    const { packets, found } = await watching.end();
    return packets > 300 && found > 0 !== isEncrypted;
  };
  await b.end("SIGKILL");
  expect(await isFlowing()).toBe(true);
  // With the encrypted link goes what uses it.
  for (const link of links.toReversed()) await two.tool("ip", "link", "delete", link).catch(() => {});
  expect(await isFlowing()).toBe(false);
  await using again = await start(two, second.path);
  await until(isFlowing, (isSo) => isSo);
  expect((await ours(two)).toSorted()).toEqual(links.toSorted());
  for (const line of await podLines(at(again), pods[0]!.id, /^round/)) expect(line).toContain(" sum 3 in ");

  expect((await again.call("DELETE", `/v2/clusters/${id}`, { key })).status).toBe(204);
  for (const machine of under.machines)
    await until(
      () =>
        machine.tool("sh", "-c", "ip -o link | grep -oE 'mr.{6}[gow][0-9a-f]*' ; nft list tables | grep spans; true"),
      (left) => left === "",
    );
  // Servers that end in order leave no control groups either.
  for (const server of [again, a]) await server.end("SIGTERM");
}, 240_000);
