/** A server killed with kill -9 during a stream of writes: everything that it answered is there after the restart. */
import { expect, test } from "vitest";
import { resourceId } from "../src/kernel/ids.ts";
import { realRandom, SeededRandom } from "../src/kernel/random.ts";
import { openInstallation } from "../src/main.ts";
import { settingsFrom } from "../src/settings/settings.ts";
import { ownerKey, type Server, startServer, temporaryFolder } from "./process.ts";

const KILLS = 10;
const WRITERS = 6;
const SECRETS = "/v2/account/secrets";
const seed = Number(process.env.MILLRACE_TEST_SEED ?? Buffer.from(realRandom.bytes(4)).readUInt32LE());

/** One secret as its only writer knows it. `pending` was sent but not answered, so it may or may not have happened. */
interface Known {
  name: string;
  id?: string;
  answered?: string;
  pending?: string;
  /** How many of its changes were answered. */
  changes: number;
}

test(`kill -9, ${KILLS} times: everything answered is there after the restart (seed ${seed})`, async () => {
  await using folder = await temporaryFolder();
  const random = new SeededRandom(seed);
  const known: Known[] = [];
  for (let round = 0; round < KILLS; round++) {
    await using server = await startServer(folder.path, { args: ["--rate-limits", "off"] });
    const key = await ownerKey(folder.path);
    await expectKept(server, key, known);
    await writeUntilKilled(server, key, known, random);
  }
  await using server = await startServer(folder.path, { args: ["--rate-limits", "off"] });
  await expectKept(server, await ownerKey(folder.path), known);
  await expectWrittenDown(server, await ownerKey(folder.path), known);
  expect(await server.end("SIGTERM")).toBe(0);
  await expectValues(folder.path, known);
  const answered = known.filter(({ answered }) => answered !== undefined);
  console.log(`${KILLS} kills, ${answered.length} secrets answered, ${known.length - answered.length} never answered`);
}, 600_000);

/** Several writers at once create and update secrets of their own, until the server dies. */
async function writeUntilKilled(server: Server, key: string, known: Known[], random: SeededRandom): Promise<void> {
  let answersLeft = 10 + random.below(120);
  const answered = () => {
    if (--answersLeft === 0) server.process.kill("SIGKILL");
  };
  await Promise.all(Array.from({ length: WRITERS }, () => writer(server, key, known, random, answered)));
  expect(await server.end("SIGKILL")).toBe("SIGKILL");
}

async function writer(server: Server, key: string, known: Known[], random: SeededRandom, answered: () => void) {
  for (;;) {
    const secret: Known = { name: `s_${resourceId(random)}`, changes: 0 };
    known.push(secret);
    const updates = random.below(4);
    for (let i = 0; i <= updates; i++) {
      secret.pending = `${secret.name} version ${i}`;
      const body = { value: `value of ${secret.pending}`, description: secret.pending };
      // No answer means that the server is gone.
      const isNew = secret.id === undefined;
      const answer = await (!isNew
        ? server.call("PATCH", `${SECRETS}/${secret.id}`, { key, body })
        : server.call("POST", SECRETS, { key, body: { name: secret.name, ...body } })
      ).catch(() => undefined);
      if (!answer) return;
      expect(answer.status).toBe(isNew ? 201 : 200);
      secret.id = answer.json.id;
      secret.answered = secret.pending;
      secret.pending = undefined;
      secret.changes++;
      answered();
    }
  }
}

/** What may be stored: the last answered version, or the one in transit when the server died. */
const possible = ({ answered, pending }: Known) => [answered, pending].filter((text) => text !== undefined);

async function expectKept(server: Server, key: string, known: Known[]): Promise<void> {
  const { secrets } = (await server.call("GET", SECRETS, { key })).json;
  const found = new Map<string, { id: string; description: string }>(
    secrets.map((secret: { name: string }) => [secret.name, secret]),
  );
  for (const secret of known) {
    const kept = found.get(secret.name);
    found.delete(secret.name);
    if (!kept) {
      expect([secret, secret.answered]).toEqual([secret, undefined]);
      continue;
    }
    if (secret.id) expect(kept.id).toBe(secret.id);
    expect(possible(secret)).toContain(kept.description);
  }
  expect([...found.keys()]).toEqual([]);
}

/** The audit log has every answered change, at most one unanswered change per secret, and no value. */
async function expectWrittenDown(server: Server, key: string, known: Known[]): Promise<void> {
  const entries: { operation: string; outcome: string; resource: { id: string } }[] = [];
  for (let cursor = ""; ; ) {
    const { json, text } = await server.call("GET", `/v2/account/audit?limit=500${cursor}`, { key });
    expect(text).not.toContain("value of");
    entries.push(...json.entries);
    if (!json.pagination.hasNextPage) break;
    cursor = `&cursor=${json.pagination.nextCursor}`;
  }
  const about = Map.groupBy(entries, ({ resource }) => resource.id);
  const { secrets } = (await server.call("GET", SECRETS, { key })).json as { secrets: { id: string; name: string }[] };
  for (const { id, name } of secrets) {
    const { changes, pending } = known.find((secret) => secret.name === name)!;
    const found = about.get(id) ?? [];
    expect(found.filter(({ operation }) => operation === "createSecret")).toHaveLength(1);
    expect(found.filter(({ outcome }) => outcome === "done").length).toBeGreaterThanOrEqual(changes);
    expect(found.length).toBeLessThanOrEqual(changes + (pending === undefined ? 0 : 1));
  }
}

/** An update is two writes, the value first. So the value may be one version ahead of the description, but never behind. */
async function expectValues(data: string, known: Known[]): Promise<void> {
  await using installation = await openInstallation(settingsFrom({}, { data }), { thread: false });
  const { account } = await installation.accounts.firstOwner();
  for (const secret of known.filter(({ answered }) => answered !== undefined)) {
    const value = await installation.secrets.reveal(account, secret.name);
    expect(possible(secret).map((text) => `value of ${text}`)).toContain(value);
  }
}
