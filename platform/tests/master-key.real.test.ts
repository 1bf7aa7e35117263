/** A new master key: never set while a server runs, used for everything that is sealed, and safe against a crash at any moment. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { apiKeyText } from "../src/kernel/ids.ts";
import { realRandom } from "../src/kernel/random.ts";
import { openInstallation } from "../src/main.ts";
import { settingsFrom } from "../src/settings/settings.ts";
import { freshDatabase } from "./database.ts";
import { launcher, run, type Server, startServer, temporaryFolder } from "./process.ts";

const SECRETS = "/v2/account/secrets";
const ENDPOINT = { name: "attic", image: "host", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
const REGISTRY = { name: "hub", username: "reader", password: "credential of a registry" };
const key = apiKeyText(realRandom);
const newMaster = () => Buffer.from(realRandom.bytes(32)).toString("base64");
/** Sizes of bodies that are kept in a job's row, next to it, and in files or pieces of their own. */
const FILLINGS = [0, 10_000, 40_000, 400_000, 1_500_000];

interface Place {
  data: string;
  env: Record<string, string>;
}

interface Sealed {
  endpoint: string;
  batch: string;
  secrets: Record<string, string>;
  credentials: string[];
  /** The host key of SSH, if it was asked for. */
  hostKey?: Buffer;
}

const rotate = ({ data, env }: Place) =>
  run(launcher, ["master-key", "rotate", "--data", data, "--json"], { env: { MILLRACE_API_KEY: key, ...env } });

const start = ({ data, env }: Place) =>
  startServer(data, { env: { MILLRACE_API_KEY: key, ...env }, args: ["--rate-limits", "off"] });

/** Makes secrets and queued jobs with sealed texts. */
async function fill(server: Server, fillings = FILLINGS): Promise<Sealed> {
  const endpoint = (await server.call("POST", "/v2/serverless", { key, body: ENDPOINT })).json.id as string;
  const secrets = Object.fromEntries(["one", "two"].map((name) => [name, `value of ${name}`]));
  for (const [name, value] of Object.entries(secrets))
    expect((await server.call("POST", SECRETS, { key, body: { name, value } })).status).toBe(201);
  expect((await server.call("POST", "/v2/registries", { key, body: REGISTRY })).status).toBe(201);
  for (const filling of fillings) await submit(server, endpoint, filling);
  const batch = await draft(server, endpoint);
  return { endpoint, batch, secrets, credentials: [...fillings.map(credentialOf), DRAFTED] };
}

/** Returns the host key of SSH, which a server makes if it can run Pods. */
async function hostKeyOf({ data, env }: Place): Promise<Buffer> {
  await using installation = await openInstallation(settingsFrom(env, { data }), { thread: false });
  return await installation.sshHostKey.seed();
}

const DRAFTED = "credential of a draft";

async function draft(server: Server, endpoint: string): Promise<string> {
  const body = [{ input: {} }, { input: {}, s3Config: { accessId: "id", accessSecret: DRAFTED } }];
  return (await server.call("POST", `/v2/${endpoint}/batch`, { key, body })).json.id;
}

const credentialOf = (filling: number) => `credential of ${filling}`;

async function submit(server: Server, endpoint: string, filling: number): Promise<void> {
  const s3Config = { accessId: "id", accessSecret: credentialOf(filling), bucketName: "b", endpointUrl: "https://s3" };
  const body = { input: { filling: "x".repeat(filling) }, s3Config };
  expect((await server.call("POST", `/v2/${endpoint}/run`, { key, body })).status).toBe(200);
}

async function expectSecrets({ data, env }: Place, { secrets, hostKey }: Sealed): Promise<void> {
  await using installation = await openInstallation(settingsFrom(env, { data }), { thread: false });
  const { account } = await installation.accounts.firstOwner();
  const found = await Promise.all(Object.keys(secrets).map((name) => installation.secrets.reveal(account, name)));
  expect(found).toEqual(Object.values(secrets));
  const [registry] = await installation.registries.list({ account });
  const access = await installation.registries.accessTo({ account, image: "any", registry: registry!.id });
  expect(access.credential?.password).toBe(REGISTRY.password);
  if (hostKey) expect(await installation.sshHostKey.seed()).toEqual(hostKey);
}

/** Returns the credentials that a worker gets. */
async function credentialsTaken(
  place: Place,
  server: Server,
  { endpoint, batch, credentials }: Sealed,
): Promise<string[]> {
  await using installation = await openInstallation(settingsFrom(place.env, { data: place.data }), { thread: false });
  const { account } = await installation.accounts.firstOwner();
  const worker = await installation.workerKeys.issue(account, endpoint);
  const taken: string[] = [];
  await server.call("POST", `/v2/${endpoint}/batch/${batch}/finalize`, { key });
  while (taken.length < credentials.length) {
    const { json } = await server.call("GET", `/v2/${endpoint}/job-take/w1?gpu=none`, { key: worker.key });
    if (json.s3Config) taken.push(json.s3Config.accessSecret);
  }
  return taken;
}

describe.each([["SQLite"], ["PostgreSQL"]])("on %s", (kind) => {
  async function place() {
    await using opened = new AsyncDisposableStack();
    const folder = opened.use(await temporaryFolder());
    const env: Record<string, string> = {};
    if (kind === "PostgreSQL") env.MILLRACE_DATABASE_URL = opened.use(await freshDatabase()).url;
    const kept = opened.move();
    return { data: folder.path, env, [Symbol.asyncDispose]: () => kept.disposeAsync() };
  }

  test("beside a running server it is refused, and nothing that the server seals before or after is lost", async () => {
    await using at = await place();
    const server = await start(at);
    const sealed = await fill(server);
    const before = await readFile(join(at.data, "master-key"), "utf8");
    const refused = await rotate(at);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("stop it first")]);
    expect(await readFile(join(at.data, "master-key"), "utf8")).toBe(before);
    sealed.secrets.four = "sealed after the refusal";
    const body = { name: "four", value: sealed.secrets.four };
    expect((await server.call("POST", SECRETS, { key, body })).status).toBe(201);
    await server.end("SIGKILL");
    await using again = await start(at);
    await expectSecrets(at, sealed);
    expect(await credentialsTaken(at, again, sealed)).toEqual(sealed.credentials);
  });

  test("secrets and the credentials of queued jobs, of whatever size, are readable with the new key alone", async () => {
    await using at = await place();
    const server = await start(at);
    const sealed = { ...(await fill(server)), hostKey: await hostKeyOf(at) };
    await server.end("SIGTERM");
    const old = (await readFile(join(at.data, "master-key"), "utf8")).trim();
    const done = await rotate(at);
    expect([done.stderr, done.code]).toEqual(["", 0]);
    expect(JSON.parse(done.stdout)).toEqual({ rewrapped: 5 + FILLINGS.length });
    const fresh = await readFile(join(at.data, "master-key"), "utf8");
    expect(fresh).toMatch(/^[A-Za-z0-9+/]{43}=\n$/);
    expect(fresh.trim()).not.toBe(old);
    await expectSecrets(at, sealed);
    await using again = await start(at);
    expect(await credentialsTaken(at, again, sealed)).toEqual(sealed.credentials);
  });

  test("killed at any point, it leaves everything readable, and is ended by the next one", async () => {
    await using at = await place();
    const server = await start(at);
    const sealed = await fill(server, [0, 400_000]);
    await server.end("SIGTERM");
    const program = fileURLToPath(new URL("./rotation-process.ts", import.meta.url));
    // Each kill costs a process, so only every third point is tested. Each database and each run starts at another point.
    let kills = (Math.floor(realRandom.bytes(1)[0]! / 86) + (kind === "SQLite" ? 0 : 1)) % 3;
    console.log(`from point ${kills} on`);
    for (; ; kills += 3) {
      const { code, stdout, stderr } = await run(process.execPath, [program, at.data, String(kills)], { env: at.env });
      expect(stderr).toBe("");
      await expectSecrets(at, sealed);
      if (code === 0 && Number(stdout) >= 0) break;
    }
    // The steps are the key, two secrets, a registry, two bodies, a file, and what is between them.
    expect(kills).toBeGreaterThan(9);
    expect(await readFile(join(at.data, "master-key"), "utf8")).toMatch(/^\S{44}\n$/);
    await using again = await start(at);
    await expectSecrets(at, sealed);
    expect(await credentialsTaken(at, again, sealed)).toEqual(sealed.credentials);
  }, 600_000);

  test("keys from outside: the new one is put in front, and the old one is not needed after the rotation", async () => {
    await using at = await place();
    const [old, fresh] = [newMaster(), newMaster()];
    const withKeys = (...keys: string[]) => ({ ...at, env: { ...at.env, MILLRACE_MASTER_KEY: keys.join(",") } });
    const server = await start(withKeys(old));
    const sealed = { ...(await fill(server)), hostKey: await hostKeyOf(withKeys(old)) };
    await server.end("SIGTERM");
    expect(JSON.parse((await rotate(withKeys(fresh, old))).stdout)).toEqual({ rewrapped: 5 + FILLINGS.length });
    await expectSecrets(withKeys(fresh), sealed);
    await using again = await start(withKeys(fresh));
    expect(await credentialsTaken(withKeys(fresh), again, sealed)).toEqual(sealed.credentials);
  });

  test("a server whose master key is not the installation's, or was retired, does not start and says why", async () => {
    await using at = await place();
    const [old, fresh] = [newMaster(), newMaster()];
    const withKeys = (...keys: string[]) => ({ ...at, env: { ...at.env, MILLRACE_MASTER_KEY: keys.join(",") } });
    await (await start(withKeys(old))).end("SIGTERM");
    await expect(start(withKeys(fresh))).rejects.toThrow("is not known here");
    await rotate(withKeys(fresh, old));
    await expect(start(withKeys(old))).rejects.toThrow("is not known here");
    await expect(start(withKeys(old, fresh))).rejects.toThrow("was retired");
    await (await start(withKeys(fresh, old))).end("SIGTERM");
  });
});

test("on PostgreSQL a server on another machine, with a folder of its own, is noticed too", async () => {
  await using database = await freshDatabase();
  await using here = await temporaryFolder();
  await using there = await temporaryFolder();
  const env = { MILLRACE_DATABASE_URL: database.url, MILLRACE_MASTER_KEY: newMaster() };
  const server = await start({ data: there.path, env });
  const refused = await rotate({
    data: here.path,
    env: { ...env, MILLRACE_MASTER_KEY: `${newMaster()},${env.MILLRACE_MASTER_KEY}` },
  });
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("stop it first")]);
  await server.end("SIGKILL");
  const done = await rotate({ data: here.path, env });
  expect([done.stderr, done.code]).toEqual(["", 0]);
});
