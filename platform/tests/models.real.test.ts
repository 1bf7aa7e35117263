/** Models on real machines: read-only where the public worker looks, copied once, and on every node. */
import { chmod, mkdir, readdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { stay } from "../src/kernel/clock.ts";
import { apiKeyText } from "../src/kernel/ids.ts";
import { realRandom } from "../src/kernel/random.ts";
import { freshDatabase } from "./database.ts";
import { type Folder, type Server, startServer, temporaryFolder } from "./process.ts";
import { LOOK_MS, type ServerPlaceOptions, serverPlace, TRIES } from "./worker-place.ts";
import type { Answer } from "./world.ts";

const MODELS = "/v2/installation/models";
const REVISION = "0123456789abcdef0123456789abcdef01234567";

/** Finds the snapshot as the public worker does: the text of refs/main names the folder. */
const WORKER = `
import { lstatSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { start } from "millrace-worker";
const top = "/runpod-volume/huggingface-cache/hub/models--org--name";
const tried = (act) => { try { act(); return "done"; } catch (error) { return error.code; } };
start({
  handler({ input }) {
    if (input.link) return tried(() => symlinkSync(input.link, "/runpod-volume/huggingface-cache"));
    const snapshot = top + "/snapshots/" + readFileSync(top + "/refs/main", "utf8");
    const file = snapshot + "/model.bin";
    return {
      snapshot,
      text: readFileSync(file, "utf8").slice(0, 7),
      size: statSync(file).size,
      changed: statSync(file).ctimeMs,
      isLink: lstatSync(file).isSymbolicLink(),
      write: tried(() => writeFileSync(file, "mine")),
      add: tried(() => writeFileSync(top + "/mine", "mine")),
      own: input.own && tried(() => writeFileSync("/runpod-volume/own", "mine")),
    };
  },
});
`;

/** A cache as download tools make it: links to blobs. */
async function makeCache(folder: string, text: string): Promise<string> {
  const top = join(folder, "models--org--name");
  for (const part of ["blobs", "refs", `snapshots/${REVISION}`]) await mkdir(join(top, part), { recursive: true });
  await writeFile(join(top, "blobs/b1"), text);
  await writeFile(join(top, "refs/main"), REVISION);
  await symlink("../../blobs/b1", join(top, `snapshots/${REVISION}/model.bin`));
  await chmod(folder, 0o755);
  return folder;
}

async function makeApp(folder: string): Promise<string> {
  await mkdir(join(folder, "app"));
  await writeFile(join(folder, "app/worker.mjs"), WORKER);
  await chmod(folder, 0o755);
  return join(folder, "app");
}

async function until<T>(look: () => Promise<T>, fits: (found: T) => boolean): Promise<T> {
  for (let tries = 0; ; tries++) {
    const found = await look();
    if (fits(found)) return found;
    if (tries === TRIES) throw new Error(`not as expected: ${JSON.stringify(found)}`);
    await stay(LOOK_MS);
  }
}

type Call = (method: string, path: string, body?: object) => Promise<Answer>;

const settled = async (call: Call, id: string) =>
  (
    await until(
      () => call("GET", `${MODELS}/${id}`),
      ({ json }) => json.status !== "FILLING",
    )
  ).json;

async function add(call: Call, folder: string) {
  const { json } = await call("POST", MODELS, { name: "org/name", folder });
  return settled(call, json.id);
}

async function run(call: Call, endpoint: string, input: object = {}) {
  const { json } = await call("POST", `/v2/${endpoint}/run`, { input });
  const ended = await until(
    () => call("GET", `/v2/${endpoint}/status/${json.id}`),
    (status) => status.json.status === "COMPLETED" || /crash loop/.test(status.json.waitReason ?? ""),
  );
  return ended.json;
}

const place = async (app: string, onFailure: ServerPlaceOptions["onFailure"]) =>
  serverPlace({ program: { image: `host:${app}`, cmd: ["node", "worker.mjs"] }, onFailure });

test("a worker reads the snapshot read-only, each cold start the same files, also below its own volume", async ({
  onTestFailed,
}) => {
  await using folder = await temporaryFolder();
  const app = await makeApp(folder.path);
  await using at = await place(app, onTestFailed);
  const model = await add(at.call, await makeCache(folder.path, "weights"));
  expect(model).toMatchObject({ status: "READY", revision: REVISION, size: 7, files: 1 });
  const endpoint = await at.endpoint({
    modelReferences: ["https://huggingface.co/org/name:main"],
    workers: { max: 1 },
  });
  const first = await run(at.call, endpoint);
  const path = `/runpod-volume/huggingface-cache/hub/models--org--name/snapshots/${REVISION}`;
  expect(first.output).toMatchObject({ snapshot: path, text: "weights", isLink: false, write: "EROFS", add: "EROFS" });
  // A change of a variable replaces the worker.
  await at.call("PATCH", `/v2/serverless/${endpoint}`, { env: { A: "b" } });
  const second = await until(
    () => run(at.call, endpoint),
    ({ workerId }) => workerId !== first.workerId,
  );
  expect(second.output).toEqual(first.output);
  const volume = { name: "own", size: 10, dataCenter: "EU-RO-1" };
  const { json } = await at.call("POST", "/v2/network-volumes", volume);
  const beside = await at.endpoint({ modelReferences: ["org/name"], networkVolumes: [json.id], workers: { max: 1 } });
  const third = await run(at.call, beside, { own: true });
  expect(third.output).toMatchObject({ text: "weights", write: "EROFS", add: "EROFS", own: "done" });
  expect((await at.call("DELETE", `${MODELS}/${model.id}`)).json.detail).toContain("in use by endpoint");
});

test("a link that a program puts in the way leads nowhere: the worker fails with the reason, and the machine has no new folder", async ({
  onTestFailed,
}) => {
  if (process.getuid!() !== 0) return;
  await using folder = await temporaryFolder();
  const app = await makeApp(folder.path);
  await using at = await place(app, onTestFailed);
  await add(at.call, await makeCache(folder.path, "weights"));
  const target = join(folder.path, "target");
  await mkdir(target);
  await chmod(target, 0o777);
  const { json } = await at.call("POST", "/v2/network-volumes", { name: "own", size: 10, dataCenter: "EU-RO-1" });
  const plain = await at.endpoint({ networkVolumes: [json.id], workers: { max: 1 } });
  expect((await run(at.call, plain, { link: target })).output).toBe("done");
  const endpoint = await at.endpoint({ modelReferences: ["org/name"], networkVolumes: [json.id], workers: { max: 1 } });
  const { waitReason } = await run(at.call, endpoint);
  expect(waitReason).toContain("something else than a folder is at huggingface-cache; remove it");
  expect(await readdir(target)).toEqual([]);
});

test("kill -9 while it is copied: the next server copies it whole, and a file that is closed to others is refused", async ({
  onTestFailed,
}) => {
  await using folder = await temporaryFolder();
  const app = await makeApp(folder.path);
  await using at = await place(app, onTestFailed);
  const size = 200 * 2 ** 20;
  const cache = await makeCache(folder.path, `weights${"0".repeat(size - 7)}`);
  const { json } = await at.call("POST", MODELS, { name: "org/name", folder: cache });
  await until(
    () => at.call("GET", `${MODELS}/${json.id}`),
    (now) => now.json.copies.length > 0,
  );
  await at.restart("SIGKILL");
  expect(await settled(at.call, json.id)).toMatchObject({ status: "READY", size, copies: [{ bytes: size }] });
  const endpoint = await at.endpoint({ modelReferences: ["org/name"], workers: { max: 1 } });
  expect((await run(at.call, endpoint)).output).toMatchObject({ text: "weights", size });
  await chmod(join(cache, "models--org--name/blobs/b1"), 0o600);
  const closed = await add(at.call, cache);
  if (process.getuid!() === 0)
    expect(closed).toMatchObject({ status: "FAILED", statusReason: expect.stringContaining("closed to others") });
});

test("a second node on PostgreSQL gets it from the first, and its workers see it", async ({ onTestFailed }) => {
  await using database = await freshDatabase();
  await using folder = await temporaryFolder();
  const app = await makeApp(folder.path);
  const key = apiKeyText(realRandom);
  const env = {
    ...{ MILLRACE_API_KEY: key, MILLRACE_DATABASE_URL: database.url, MILLRACE_COMPUTE: "host" },
    MILLRACE_MASTER_KEY: Buffer.from(realRandom.bytes(32)).toString("base64"),
  };
  await using data = new AsyncDisposableStack();
  const start = async (): Promise<[Server, Folder]> => {
    const own = data.use(await temporaryFolder());
    const server = data.use(await startServer(own.path, { env }));
    onTestFailed(() => console.log(server.log()));
    return [server, own];
  };
  const [first] = await start();
  const [second] = await start();
  const call: Call = (method, path, body) => first.call(method, path, { key, ...(body && { body }) });
  const model = await add(call, await makeCache(folder.path, "weights"));
  const { json } = await until(
    () => second.call("GET", `${MODELS}/${model.id}`, { key }),
    (now) => now.json.copies.filter(({ status }: { status: string }) => status === "READY").length === 2,
  );
  expect(json.copies).toHaveLength(2);
  const machines = (await call("GET", "/v2/installation/machines")).json.machines;
  const nodes = (await call("GET", "/v2/installation/nodes")).json.nodes;
  const mine = nodes.find(({ url }: { url: string }) => url === first.url) ?? nodes[0];
  const drained = machines.find(({ node }: { node: string }) => node === mine.id);
  await call("POST", `/v2/installation/machines/${drained.id}/action`, { action: "drain" });
  const cpu = [{ id: "cpu3c", vcpuCount: 2 }];
  const body = { name: "e", image: `host:${app}`, cmd: ["node", "worker.mjs"], cpu, modelReferences: ["org/name"] };
  const endpoint = (await call("POST", "/v2/serverless", body)).json.id;
  expect((await run(call, endpoint)).output).toMatchObject({ text: "weights", write: "EROFS" });
});
