/** `millrace import`: from one server to another by either API, once and again, after a break, and from sources that answer oddly. */
import { writeFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { realClock } from "@millrace/platform/kernel/clock.ts";
import { describe, expect, test } from "vitest";
import { type Ran, runWords, shellFor } from "../../platform/tests/cli-shell.ts";
import { put, setupFiles } from "../../platform/tests/files-world.ts";
import { type FleetWorld, setupFleet } from "../../platform/tests/fleet-world.ts";
import { TWO_GPUS } from "../../platform/tests/pod-world.ts";
import { temporaryFolder } from "../../platform/tests/process.ts";
import type { World } from "../../platform/tests/world.ts";
import { EXIT } from "./failure.ts";
import type { Environment } from "./shell.ts";

async function made(world: World, path: string, body: object): Promise<string> {
  const { status, json, text } = await world.call("POST", path, { body });
  if (status !== 201) throw new Error(text);
  return json.id;
}

/** A source with one of each kind, which refer to each other, and an empty target. */
async function setupMove() {
  const source = await setupFiles();
  const target = await setupFleet({ endpoint: { name: "own" }, rateLimits: "off", machine: TWO_GPUS });
  // The clock of the target is not behind that of the source, as a file that is older here counts as another.
  await target.pass(10);
  const registry = await made(source, "/v2/registries", { name: "hub", username: "u", password: "p" });
  await made(source, "/v2/account/secrets", { name: "TOKEN", value: "s" });
  const env = { LEVEL: "debug", KEY: "{{ RUNPOD_SECRET_TOKEN }}" };
  await made(source, "/v2/templates", { name: "base", image: "busybox:1", cmd: ["sleep", "9"], env, registry });
  const compute = { cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
  await made(source, "/v2/serverless", {
    name: "ep",
    image: "busybox:1",
    ...compute,
    env,
    networkVolumes: [source.volume],
  });
  const gpu = { pools: ["AMPERE_24"], excludedTypes: ["NVIDIA L4"], count: 2, minCudaVersion: "12.4" };
  const scaling = { type: "REQUEST_COUNT", requestCount: 3 };
  await made(source, "/v2/serverless", { name: "gpu", image: "busybox:1", gpu, scaling, flashboot: "FLASHBOOT" });
  const mounts = { network: [{ volumeId: source.volume, path: "/workspace" }] };
  await made(source, "/v2/pods", {
    name: "pod",
    image: "busybox:1",
    cpu: { id: "cpu3c", vcpuCount: 2 },
    mounts,
    locked: true,
  });
  await put(source, "models/a b.bin", "weights");
  await put(source, "ünï/$&.txt", "");
  await source.settle();
  const folder = await temporaryFolder();
  const values = join(folder.path, "values.json");
  await writeFile(
    values,
    JSON.stringify({ secrets: { TOKEN: "new" }, registries: { hub: { username: "a", password: "b" } } }),
  );
  const s3 = (await source.call("POST", "/v2/account/s3-keys", { body: { name: "move" } })).json;
  const env2 = { MILLRACE_URL: target.url, MILLRACE_API_KEY: target.key, MILLRACE_IMPORT_KEY: source.key };
  const keys = { AWS_ACCESS_KEY_ID: s3.accessKeyId, AWS_SECRET_ACCESS_KEY: s3.secretAccessKey };
  /** Signatures have a time, which is the source's. */
  const clock = { ...realClock, now: () => source.clock.now() };
  const run = async (env: Environment, line: string): Promise<Ran> => {
    const { shell, out, err, status, stdin } = shellFor(env);
    stdin.end();
    await runWords({ ...shell, clock }, ["import", ...line.split(" ").filter(Boolean)]);
    return { status: status(), out: out(), err: err() };
  };
  return {
    ...{ source, target, values },
    move: (more = "", url = source.url) => run({ ...env2, ...keys }, `${url} --values ${values} ${more}`),
    bare: (more = "", url = source.url) => run(env2, `${url} ${more}`),
    async [Symbol.asyncDispose]() {
      await folder[Symbol.asyncDispose]();
      await source[Symbol.asyncDispose]();
      await target[Symbol.asyncDispose]();
    },
  };
}

const listOf = async (world: World, path: string, key: string) =>
  (await world.call("GET", path)).json[key] as Record<string, unknown>[];
const named = (records: Record<string, unknown>[], name: string) => records.find((one) => one.name === name)!;

async function textOf(target: FleetWorld, volume: unknown, path: string): Promise<string> {
  const { text } = await target.call(
    "GET",
    `/v2/network-volumes/${volume}/files/content?path=${encodeURIComponent(path)}`,
  );
  return text;
}

describe.each(["v2", "v1"])("from an account that is read by REST %s", (version) => {
  test("everything comes over with its references, and a second run changes nothing and says so", async () => {
    await using at = await setupMove();
    const { target } = at;
    const first = await at.move(`--api ${version} --yes`);
    expect([first.status, first.out]).toEqual([0, expect.stringContaining("done: 8 made")]);
    const volume = named(await listOf(target, "/v2/network-volumes", "networkVolumes"), "v");
    expect(volume).toMatchObject({ size: 10, dataCenter: "EU-RO-1" });
    expect(await textOf(target, volume.id, "models/a b.bin")).toBe("weights");
    expect(await textOf(target, volume.id, "ünï/$&.txt")).toBe("");
    const registry = named(await listOf(target, "/v2/registries", "registries"), "hub");
    const env = { LEVEL: "debug", KEY: "{{ RUNPOD_SECRET_TOKEN }}" };
    const template = named(await listOf(target, "/v2/templates", "templates"), "base");
    expect(template).toMatchObject({ image: "busybox:1", cmd: ["sleep", "9"], env, registry: registry.id });
    const endpoint = named(await listOf(target, "/v2/serverless", "endpoints"), "ep");
    expect(endpoint).toMatchObject({ env, cpu: [{ id: "cpu3c", vcpuCount: 2 }], networkVolumes: [volume.id] });
    const gpu = { pools: ["AMPERE_24"], excludedTypes: ["NVIDIA L4"], count: 2, minCudaVersion: "12.4" };
    const scaling = { type: "REQUEST_COUNT", requestCount: 3 };
    const onGpus = named(await listOf(target, "/v2/serverless", "endpoints"), "gpu");
    expect(onGpus).toMatchObject({ gpu, scaling, flashboot: "FLASHBOOT", timeout: 300_000 });
    const mounts = { network: [{ volumeId: volume.id, path: "/workspace" }] };
    expect(named(await listOf(target, "/v2/pods", "pods"), "pod")).toMatchObject({
      status: "EXITED",
      mounts,
      locked: true,
    });
    expect(await listOf(target, "/v2/account/secrets", "secrets")).toMatchObject([{ name: "TOKEN" }]);
    const before = await everything(target);
    const second = await at.move(`--api ${version} --yes`);
    expect([second.status, second.out]).toEqual([0, expect.stringContaining("nothing to do")]);
    expect(await everything(target)).toEqual(before);
  });
});

const everything = async (world: World) =>
  Promise.all(
    ["registries", "account/secrets", "templates", "serverless", "pods", "network-volumes"].map(
      async (path) => (await world.call("GET", `/v2/${path}`)).json,
    ),
  );

test("the plan is shown first, and nothing is changed without a yes", async () => {
  await using at = await setupMove();
  const before = await everything(at.target);
  const { out } = await at.move("--plan");
  expect(out).toContain("files       v      copy 2 (7 B)");
  expect(out).toContain("Pods are created stopped");
  await expect(at.move()).rejects.toMatchObject({ exitCode: EXIT.wrongUse, message: expect.stringContaining("--yes") });
  expect(await everything(at.target)).toEqual(before);
});

test("without values and S3 keys it says what it leaves out, and a later run goes on with that", async () => {
  await using at = await setupMove();
  const bare = await at.bare("--yes");
  expect(bare.status).toBe(EXIT.failed);
  expect(bare.out).toContain("no files are copied: set AWS_ACCESS_KEY_ID");
  expect(bare.out).toMatch(/secrets +TOKEN +left out +no API returns its value/);
  expect(bare.out).toContain("left out templates base: it needs registry 'hub', which is not here");
  const full = await at.move("--yes");
  expect([full.status, full.out]).toEqual([0, expect.stringContaining("done: 3 made")]);
  expect(full.out).toContain("copied 2 files (7 B) to volume v");
});

test("a Pod whose import broke off is stopped and gets its name in the next run", async () => {
  await using at = await setupMove();
  const { target } = at;
  await made(target, "/v2/pods", {
    name: "pod (import unfinished)",
    image: "busybox:1",
    cpu: { id: "cpu3c", vcpuCount: 2 },
  });
  await target.settle();
  const { out } = await at.move("--yes --only pods,volumes,registries");
  expect(out).toContain("finish what was begun");
  const pods = await listOf(target, "/v2/pods", "pods");
  expect(pods.map(({ name, status }) => [name, status])).toEqual([["pod", "EXITED"]]);
});

test("what has the name here and differs stays, and is named with its fields; two of one name are left out", async () => {
  await using at = await setupMove();
  const { source, target } = at;
  await made(target, "/v2/templates", { name: "base", image: "mine:1" });
  const body = { image: "busybox:1", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
  for (let n = 0; n < 2; n++) await made(source, "/v2/serverless", { name: "twice", ...body });
  const { out, status } = await at.move("--yes");
  expect(status).toBe(EXIT.failed);
  expect(out).toMatch(/templates +base +differs here +image, cmd, env, registry; the one here stays/);
  expect(out).toMatch(/endpoints +twice +left out +2 have this name at the source: rename all but one/);
  expect(named(await listOf(target, "/v2/templates", "templates"), "base").image).toBe("mine:1");
});

test("a data center can be said for everything, and kinds can be chosen", async () => {
  await using at = await setupMove();
  const volume = { id: "vol", name: "far", size: 10, dataCenter: "XX-1", type: "STANDARD" };
  await using far = await oddSource(answering({ "/v2/network-volumes": { networkVolumes: [volume] } }));
  const lost = await at.bare("--yes", far.url);
  expect([lost.status, lost.out]).toEqual([EXIT.failed, expect.stringMatching(/left out volumes far: .*XX-1/)]);
  const placed = await at.bare("--yes --data-center EU-RO-1 --only volumes", far.url);
  expect([placed.status, placed.out]).toEqual([0, expect.stringContaining("made volumes far")]);
  const again = await at.bare("--yes --data-center EU-RO-1", far.url);
  expect(again.out).toContain("nothing to do");
});

/** A source that answers each path as it likes. */
async function oddSource(answer: RequestListener) {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const LISTS: Record<string, object> = {
  "/v2/account/secrets": { secrets: [] },
  "/v2/registries": { registries: [] },
  "/v2/network-volumes": { networkVolumes: [] },
  "/v2/templates": { templates: [] },
  "/v2/serverless": { endpoints: [] },
  "/v2/pods": { pods: [] },
};

/** Answers an empty account, except for some paths. */
const answering =
  (odd: Record<string, unknown>): RequestListener =>
  (request, response) => {
    const path = request.url!.split("?")[0]!;
    const said = path in odd ? odd[path] : LISTS[path];
    response.writeHead(said === undefined ? 404 : 200, { "content-type": "application/json" });
    response.end(typeof said === "string" ? said : JSON.stringify(said ?? {}));
  };

describe("a source that answers oddly", () => {
  const wrong: [string, RequestListener, string][] = [
    ["sends no JSON", answering({ "/v2/templates": "<html>" }), "answered with no JSON"],
    ["nests JSON without end", answering({ "/v2/templates": "[".repeat(1_000_000) }), "answered with no JSON"],
    ["sends another form", answering({ "/v2/templates": { items: [] } }), "no list 'templates'"],
    ["sends records that are none", answering({ "/v2/pods": { pods: [null] } }), "a record that is no object"],
    [
      "sends pages without end",
      answering({ "/v2/pods": { pods: [], pagination: { nextCursor: "x" } } }),
      "pages that do not end",
    ],
    ["sends too many records", answering({ "/v2/pods": { pods: Array(10_001).fill({}) } }), "more than 10000 records"],
    ["sends an endless body", (_, response) => void endless(response), "longer than 33554432 bytes"],
    [
      "redirects",
      (_, response) => void response.writeHead(302, { location: "http://127.0.0.1:1/" }).end(),
      "status 302",
    ],
    ["fails", (_, response) => void response.writeHead(500).end("boom"), "status 500"],
    ["refuses the key", (_, response) => void response.writeHead(401).end("{}"), "refused the key of the source"],
    ["has neither API", (_, response) => void response.writeHead(404).end("{}"), ""],
  ];
  test.each(wrong)("and %s changes nothing here", async (_, answer, message) => {
    await using at = await setupMove();
    await using odd = await oddSource(answer);
    const before = await everything(at.target);
    const ran = await at.bare("--yes", odd.url).catch((error: Error) => error);
    if (ran instanceof Error) expect(ran.message).toContain(message);
    else expect(ran.out).toContain("the source has no such list");
    expect(await everything(at.target)).toEqual(before);
  });

  test("records that fit nothing are named in one plain line each, and the others come over", async () => {
    await using at = await setupMove();
    const good = { image: "busybox:1", disk: 5, env: {}, ports: [], registry: null, args: "" };
    const templates = [
      { ...good, id: "1", name: "good" },
      { ...good, id: "2", name: "bad\u001b[2Jdisk", disk: "5" },
      { ...good, id: "3", name: "bad env", env: { A: { deep: [] } } },
      { ...good, id: { $ne: 1 }, name: "bad id" },
      { ...good, id: "5", name: "x".repeat(5000) },
      { ...good, id: "6", name: "no registry", registry: "gone" },
      JSON.parse('{"id": "7", "name": "odd key", "image": "busybox:1", "env": {"__proto__": "x", "constructor": "y"}}'),
    ];
    await using odd = await oddSource(answering({ "/v2/templates": { templates } }));
    const { out, status } = await at.bare("--yes", odd.url);
    expect(status).toBe(EXIT.failed);
    expect(out).not.toContain("\u001b");
    expect(Math.max(...out.split("\n").map((line) => line.length))).toBeLessThan(1000);
    for (const bad of [
      /bad \[2Jdisk +left out +\$\.disk: must be integer/,
      /bad env +left out/,
      /no usable id and name/,
    ])
      expect(out).toMatch(bad);
    expect(out).toContain("left out templates no registry: it needs registry 'gone', which is not here");
    const names = (await listOf(at.target, "/v2/templates", "templates")).map(({ name }) => name);
    expect(names.sort()).toEqual(["good", "odd key"]);
  });

  test("files with names that lead elsewhere are refused by the server, and named", async () => {
    await using at = await setupMove();
    const keys = ["../../etc/passwd", "ok.txt", "a//b", `${"x".repeat(300)}.txt`];
    const contents = keys
      .map((key) => `<Contents><Key>${encodeURIComponent(key)}</Key><Size>2</Size></Contents>`)
      .join("");
    const list = `<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>false</IsTruncated>${contents}</ListBucketResult>`;
    const volume = { id: "vol", name: "odd", size: 10, dataCenter: "EU-RO-1", type: "STANDARD" };
    await using odd = await oddSource((request, response) => {
      if (!request.url!.startsWith("/s3/"))
        answering({ "/v2/network-volumes": { networkVolumes: [volume] } })(request, response);
      else if (request.url!.includes("list-type")) response.end(list);
      else response.writeHead(200, { "content-length": 2 }).end("ok");
    });
    const { out, status } = await at.move("--yes", odd.url);
    expect(status).toBe(EXIT.failed);
    expect(out).toContain("copied 1 files (");
    expect(out).toContain("left out files odd: ../../etc/passwd");
    const { id } = named(await listOf(at.target, "/v2/network-volumes", "networkVolumes"), "odd");
    const { files } = (await at.target.call("GET", `/v2/network-volumes/${id}/files`)).json;
    expect(files.map(({ path }: { path: string }) => path)).toEqual(["ok.txt"]);
  });

  test.each([
    ["an entity bomb", '<!DOCTYPE x [<!ENTITY a "b">]><ListBucketResult/>', "no list of files"],
    [
      "pages without end",
      "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken></ListBucketResult>",
      "pages that do not end",
    ],
    [
      "a size that is none",
      "<ListBucketResult><Contents><Key>a</Key><Size>-1</Size></Contents></ListBucketResult>",
      "an odd file",
    ],
  ])("and lists files as %s is refused before anything is changed", async (_, xml, message) => {
    await using at = await setupMove();
    const volume = { id: "vol", name: "odd", size: 10, dataCenter: "EU-RO-1", type: "STANDARD" };
    await using odd = await oddSource((request, response) => {
      if (request.url!.startsWith("/s3/")) response.end(xml);
      else answering({ "/v2/network-volumes": { networkVolumes: [volume] } })(request, response);
    });
    await expect(at.move("--yes", odd.url)).rejects.toThrow(message);
    expect(await listOf(at.target, "/v2/network-volumes", "networkVolumes")).toEqual([]);
  });
});

function endless(response: Parameters<RequestListener>[1]): void {
  response.writeHead(200, { "content-type": "application/json" });
  const block = Buffer.alloc(1 << 20, "[");
  const more = () => {
    while (response.write(block));
    response.once("drain", more);
  };
  more();
}
