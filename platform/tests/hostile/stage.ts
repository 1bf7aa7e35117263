/** A real server with two accounts: one attacks it, and a witness just uses it. */
import { chmod, cp, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { millrace, ownerKey, type Server, type StartOptions, startServer, temporaryFolder } from "../process.ts";
import type { Answer } from "../world.ts";
import { Witness } from "./witness.ts";

const FIXTURES = fileURLToPath(new URL("../fixtures/", import.meta.url));
const HOSTILE_WORKER = fileURLToPath(new URL("./worker/", import.meta.url));

/** Somebody with a key. */
export interface Party {
  key: string;
  call(method: string, path: string, body?: unknown): Promise<Answer>;
}

export interface Stage extends AsyncDisposable {
  server: Server;
  data: string;
  owner: Party;
  /** A second account with the usual rate limits. */
  hostile: Party;
  /** An account without rate limits. It makes at once what another account could only make over a long time. */
  patient(): Promise<Party>;
  witness: Witness;
  /** An endpoint of the hostile account, or of another, whose workers behave as a file of `worker/` says. */
  hostileEndpoint(behaviour: string, more?: object, party?: Party): Promise<string>;
  /** Removes an endpoint, however its workers resist. */
  remove(endpoint: string): Promise<void>;
}

/** One attack, from its beginning until nothing of it is left, so that it can be repeated for an hour. */
export interface Scene {
  name: string;
  attack(stage: Stage): Promise<void>;
}

export const CPU = { cpu: [{ id: "cpu3c", vcpuCount: 2 }] };

/** The one address of this machine that webhooks may reach. The targets of scenes listen there. */
export const WEBHOOK_HOST = "127.0.0.9";

/** The server's memory for bodies and results. It is small, so that little is enough to fill it. */
export const BODIES_MB = 256;

/** Programs of the second account may run here, since scenes are about what they can do from inside their sandbox. */
const SETTINGS = {
  MILLRACE_COMPUTE: "host",
  MILLRACE_HOST_IMAGES: "on",
  MILLRACE_LOG_LEVEL: "warn",
  MILLRACE_BODIES_MB: `${BODIES_MB}`,
  MILLRACE_REACHABLE: `${WEBHOOK_HOST}/32`,
};

export async function openStage({ env, ...options }: StartOptions = {}): Promise<Stage> {
  await using opened = new AsyncDisposableStack();
  const folder = opened.use(await temporaryFolder());
  const data = join(folder.path, "data");
  const apps = join(folder.path, "apps");
  await mkdir(apps);
  await Promise.all([
    cp(HOSTILE_WORKER, join(apps, "hostile"), { recursive: true }),
    cp(join(FIXTURES, "small-worker.mjs"), join(apps, "witness", "small-worker.mjs")),
    cp(join(FIXTURES, "small-app.mjs"), join(apps, "witness", "small-app.mjs")),
  ]);
  // Programs run as other users and must be able to read these folders.
  for (const path of [folder.path, apps]) await chmod(path, 0o755);
  const server = opened.use(await startServer(data, { ...options, env: { ...SETTINGS, ...env } }));
  // Ends the server in order, so that its programs end with it.
  opened.defer(async () => {
    if (server.process.exitCode === null) await server.end("SIGTERM");
  });
  const party = (key: string): Party => ({
    key,
    call: (method, path, body) => server.call(method, path, { key, body }),
  });
  const owner = party(await ownerKey(data));
  const hostile = party((await millrace(data, "accounts", "create", "hostile")).key);
  const witness = opened.use(
    await Witness.open(server.url, await unlimitedKey(data, "witness"), join(apps, "witness")),
  );
  const kept = opened.move();
  let patient: Promise<Party> | undefined;
  return {
    server,
    data,
    owner,
    hostile,
    witness,
    patient: () => (patient ??= unlimitedKey(data, "patient").then(party)),
    async hostileEndpoint(behaviour, more = {}, of = hostile) {
      const program = { image: `host:${join(apps, "hostile")}`, cmd: ["node", "main.mjs", behaviour] };
      const { status, json, text } = await of.call("POST", "/v2/serverless", {
        name: behaviour,
        ...program,
        ...CPU,
        ...more,
      });
      if (status !== 201) throw new Error(`the hostile endpoint was not made: ${text}`);
      return json.id;
    },
    async remove(endpoint) {
      const { status, text } = await hostile.call("DELETE", `/v2/serverless/${endpoint}`);
      if (status !== 204) throw new Error(`the hostile endpoint was not removed: ${status} ${text}`);
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** Plays a scene. Afterwards it removes the scene's endpoints, since those of a failed scene would go on attacking during the next ones. */
export async function play(scene: Scene, stage: Stage): Promise<void> {
  const left = new Map<string, Party>();
  try {
    await scene.attack({
      ...stage,
      async hostileEndpoint(behaviour, more, party = stage.hostile) {
        const id = await stage.hostileEndpoint(behaviour, more, party);
        left.set(id, party);
        return id;
      },
      async remove(id) {
        await stage.remove(id);
        left.delete(id);
      },
    });
  } finally {
    for (const [id, party] of left) await party.call("DELETE", `/v2/serverless/${id}`);
  }
}

/** The key is exempt, since rate limits are not what is measured. */
async function unlimitedKey(data: string, account: string): Promise<string> {
  await millrace(data, "accounts", "create", account);
  return (await millrace(data, "keys", "create", "--account", account, "--scopes", "all", "--exempt")).key;
}
