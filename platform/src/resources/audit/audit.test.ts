/** The audit log: who did what, when and from where, for every change in an account. */

import { describe, expect, test } from "vitest";
import { CLUSTER_GPUS } from "../../../tests/cluster-doc.ts";
import { good } from "../../../tests/described-calls.ts";
import { idle } from "../../../tests/idle.ts";
import { InterceptedStore, setup, type World } from "../../../tests/world.ts";
import { operations } from "../../contract.ts";
import { timestamp } from "../../kernel/clock.ts";
import type { Operation } from "../../kernel/operation.ts";
import { problem } from "../../kernel/problem.ts";
import { because } from "../../kernel/reason.ts";
import { FakeCompute } from "../../ports/compute/fake-compute.ts";
import { Collection } from "../../ports/store/collection.ts";
import { type AuditEntry, auditEntries } from "./model.ts";
import { AuditSweeper } from "./sweeper.ts";

const AUDIT = "/v2/account/audit";
const SECRETS = "/v2/account/secrets";
const changes = Object.entries(operations as Record<string, Operation>).filter(([, { method }]) => method !== "GET");
/** Sign-ins leave entries of their own (`sign-in.test.ts`). What people change of themselves is done by a session. */
const known = changes.filter(([, { who }]) => who !== "anybody");
const byKeys = known.filter(([, { who }]) => who !== "person");

const listed = async (world: World, query = "", key?: string): Promise<AuditEntry[]> =>
  (await world.call("GET", `${AUDIT}${query}`, key ? { key } : {})).json.entries;

async function worldWithMachine() {
  return setup({ compute: (clock) => new FakeCompute(clock, CLUSTER_GPUS), domain: "pods.test", rateLimits: "off" });
}

describe("every operation that changes something", () => {
  test("there are some", () => expect(changes.length).toBeGreaterThan(20));

  test.each(byKeys)("%s leaves one entry: who, what, from where, and no value", async (name, op) => {
    await using world = await worldWithMachine();
    const issued = await world.services.account.issueKey(world.owner, { name: "ci", scopes: ["all"] });
    const { body, query = "", ...parameters } = await good[name]!(world);
    await idle();
    const before = await listed(world);
    const path = op.path.replace(/\{(\w+)\}/g, (_, parameter: string) => String(parameters[parameter])) + query;
    const headers = { "user-agent": "walker/1" };
    const answer = await world.call(op.method, path, { key: issued.key, body: marked(body), headers });
    expect(answer.status).toBeLessThan(300);
    await idle();
    const [entry, ...others] = (await listed(world)).filter(({ id }) => !before.some((known) => known.id === id));
    expect(others).toEqual([]);
    expect(entry).toMatchObject({
      actor: { type: "key", id: issued.id, name: "ci" },
      operation: name,
      address: "127.0.0.1",
      userAgent: "walker/1",
      outcome: "done",
      fields: Object.keys((body as object | undefined) ?? {}),
      at: timestamp(world.clock.now()),
    });
    const made = op.method === "POST" ? answer.json?.id : undefined;
    expect(entry!.resource?.id ?? null).toBe(parameters.id ?? made ?? null);
    const kept = JSON.stringify(await world.store.list({ kind: "audit-entry", limit: 1000 }));
    expect(kept).not.toContain(MARK);
    for (const secret of [answer.json?.key, answer.json?.secretAccessKey, answer.json?.url].filter(Boolean))
      expect(kept).not.toContain(secret);
  });

  test.each(known)("%s that a key may not leaves one that says so", async (name, op) => {
    await using world = await setup();
    const key = await world.newKey({ scopes: ["read-only"] });
    const { status } = await world.call(op.method, op.path.replace(/\{\w+\}/g, "aaaaaaaaaaaaaa"), { key });
    expect(status).toBe(403);
    const entries = await listed(world, "", key);
    expect(entries).toMatchObject([{ operation: name, outcome: "refused", reason: "not-allowed", fields: [] }]);
  });
});

/** Two different keys, so that setting each of them is a change. */
const KEYS = [1, 2].map((n) => `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJ${n}`);

/** Stands in every text that a body can set freely. */
const MARK = "never-to-be-kept";

/** The same body with the mark in every field that could be secret. */
function marked(body: unknown): unknown {
  const secret: Record<string, unknown> = { value: MARK, password: MARK, env: { A: MARK }, description: MARK };
  if (typeof body !== "object" || body === null) return body;
  return Object.fromEntries(Object.entries(body).map(([name, value]) => [name, secret[name] ?? value]));
}

describe("what is kept", () => {
  test("what changed nothing is not there: reads, wrong bodies, things that are not there", async () => {
    await using world = await setup();
    await world.call("GET", SECRETS);
    await world.call("POST", SECRETS, { body: { name: "x" } });
    await world.call("DELETE", `${SECRETS}/aaaaaaaaaaaaaa`);
    expect(await listed(world)).toEqual([]);
  });

  test("nor is an update by what was so already, though it is answered with success", async () => {
    await using world = await worldWithMachine();
    const { id } = (await world.call("POST", "/v2/templates", { body: { name: "t", image: "busybox" } })).json;
    const named = (name: string) => world.call("PATCH", `/v2/templates/${id}`, { body: { name } });
    const operations = async () => (await listed(world, `?resource=${id}`)).map(({ operation }) => operation);
    expect([(await named("t")).status, await operations()]).toEqual([200, ["createTemplate"]]);
    expect([(await named("u")).status, await operations()]).toEqual([200, ["updateTemplate", "createTemplate"]]);
  });

  test("a refusal for a lack of rights that only the operation itself sees, once", async () => {
    await using world = await setup();
    const key = await world.newKey({ scopes: ["api-keys:write"] });
    expect((await world.call("POST", "/v2/account/api-keys", { key, body: { scopes: ["all"] } })).status).toBe(403);
    expect(await listed(world)).toMatchObject([{ operation: "createApiKey", outcome: "refused", fields: ["scopes"] }]);
  });

  test("an action is named, and a Pod is known by its own key", async () => {
    await using world = await worldWithMachine();
    const body = { name: "p", image: "busybox", cpu: { id: "cpu3c", vcpuCount: 2 } };
    const { id } = (await world.call("POST", "/v2/pods", { body })).json;
    await idle();
    const { key } = await world.services.podKeys.issue(world.owner.account, id);
    await world.call("POST", `/v2/pods/${id}/action`, { body: { action: "stop" }, key });
    const [stop] = await listed(world, `?resource=${id}`);
    expect(stop).toMatchObject({ actor: { type: "pod", id, name: null }, operation: "podAction", action: "stop" });
  });

  test("what Millrace does by itself says why, and nothing is said where nothing was done", async () => {
    await using world = await worldWithMachine();
    const body = { name: "p", image: "busybox", cpu: { id: "cpu3c", vcpuCount: 2 } };
    const { id } = (await world.call("POST", "/v2/pods", { body })).json;
    await idle();
    const why = because("idle-stopped", { seconds: 60 });
    await world.services.pods.stopFor(id, why, 0);
    await world.services.pods.stopFor(id, why, 0);
    const [stop, create] = await listed(world, `?resource=${id}`);
    const reason = why.text;
    expect(stop).toMatchObject({ actor: { type: "system", id: null }, action: "stop", outcome: "done", reason });
    expect(create).toMatchObject({ operation: "createPod" });
  });

  test("a queue that is purged, and no job", async () => {
    await using world = await setup();
    const body = { name: "e", image: "host", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
    const { id } = (await world.call("POST", "/v2/serverless", { body })).json;
    const job = (await world.call("POST", `/v2/${id}/run`, { body: { input: { secret: MARK } } })).json.id;
    await world.call("POST", `/v2/${id}/cancel/${job}`);
    await world.call("POST", `/v2/${id}/purge-queue`);
    const entries = await listed(world, `?resource=${id}`);
    expect(entries.map(({ operation, outcome }) => [operation, outcome])).toEqual([
      ["purgeQueue", "done"],
      ["createEndpoint", "done"],
    ]);
  });

  test("an entry is as long as it may be, whatever a client calls itself or what it is after", async () => {
    await using world = await setup();
    const key = await world.newKey({ scopes: ["read-only"] });
    for (const id of ["x".repeat(2000), "a%00b", "%ED%A0%80", "short"])
      await world.call("DELETE", `${SECRETS}/${id}`, { key });
    expect((await listed(world)).map(({ resource }) => resource?.id)).toEqual(["short", null]);
    await world.call("PUT", "/v2/account/ssh-keys", {
      body: { keys: [KEYS[0]] },
      headers: { "user-agent": "x".repeat(3000) },
    });
    expect((await listed(world))[0]!.userAgent).toHaveLength(200);
  });
});

describe("who may read it", () => {
  test("nobody of another account, and no key that is narrowed; one that may only read", async () => {
    await using world = await setup();
    await world.call("POST", SECRETS, { body: { name: "token", value: "v" } });
    const [mine] = await listed(world);
    const stranger = await world.strangersKey();
    for (const query of ["", `?resource=${mine!.resource!.id}`, `?key=${mine!.actor.id}`, "?operation=createSecret"])
      expect(await listed(world, query, stranger)).toEqual([]);
    const narrowed = await world.newKey({ scopes: ["all"], endpoints: ["one"] });
    expect((await world.call("GET", AUDIT, { key: narrowed })).status).toBe(403);
    expect(await listed(world, "", await world.newKey({ scopes: ["read-only"] }))).toHaveLength(1);
  });
});

describe("finding something", () => {
  async function withHistory() {
    const world = await setup({ rateLimits: "off" });
    const other = await world.services.account.issueKey(world.owner, { scopes: ["all"] });
    for (let n = 0; n < 6; n++) {
      const { id } = (await world.call("POST", SECRETS, { body: { name: `s${n}`, value: "v" } })).json;
      if (n % 2 === 0) await world.call("PATCH", `${SECRETS}/${id}`, { body: { value: "w" }, key: other.key });
      await world.clock.advance(1000);
    }
    return { world, other: other.id };
  }

  test("in pages, the newest first, each entry once", async () => {
    const { world } = await withHistory();
    await using _ = world;
    const seen: AuditEntry[] = [];
    for (let cursor = ""; ; ) {
      const { json } = await world.call("GET", `${AUDIT}?limit=4${cursor}`);
      seen.push(...json.entries);
      if (!json.pagination.hasNextPage) break;
      cursor = `&cursor=${json.pagination.nextCursor}`;
    }
    expect(seen).toEqual(await listed(world));
    expect([seen.length, new Set(seen.map(({ id }) => id)).size]).toEqual([9, 9]);
    expect(seen.map(({ at }) => at)).toEqual(
      seen
        .map(({ at }) => at)
        .toSorted()
        .toReversed(),
    );
  });

  test("by time, operation, resource and key, together too", async () => {
    const { world, other } = await withHistory();
    await using _ = world;
    const all = await listed(world);
    const resource = all.find(({ operation }) => operation === "updateSecret")!.resource!.id!;
    expect(await listed(world, "?operation=updateSecret")).toHaveLength(3);
    expect(await listed(world, `?key=${other}`)).toHaveLength(3);
    expect(await listed(world, `?resource=${resource}`)).toHaveLength(2);
    expect(await listed(world, `?resource=${resource}&key=${other}`)).toHaveLength(1);
    expect(await listed(world, `?resource=${resource}&key=${other}&operation=createSecret`)).toEqual([]);
    const [from, to] = [all[6]!.at, all[2]!.at];
    expect(await listed(world, `?from=${from}&to=${to}`)).toEqual(all.filter(({ at }) => at >= from && at < to));
    expect((await world.call("GET", `${AUDIT}?from=yesterday`)).status).toBe(422);
  });

  test("a filter that finds little ends no page before its time, and loses nothing", async () => {
    const { world, other } = await withHistory();
    await using _ = world;
    const seen: AuditEntry[] = [];
    for (let cursor = ""; ; ) {
      const { json } = await world.call("GET", `${AUDIT}?limit=1&key=${other}&operation=updateSecret${cursor}`);
      seen.push(...json.entries);
      if (!json.pagination.hasNextPage) break;
      cursor = `&cursor=${json.pagination.nextCursor}`;
    }
    expect(seen).toHaveLength(3);
  });
});

describe("pages of the log", () => {
  test("a cursor is good for the filters that it was given for, whatever they are", async () => {
    await using world = await setup({ rateLimits: "off" });
    for (let n = 0; n < 3; n++) await world.call("POST", SECRETS, { body: { name: `s${n}`, value: "v" } });
    const first = (await world.call("GET", `${AUDIT}?limit=1&operation=createSecret`)).json;
    const next = (query: string) => world.call("GET", `${AUDIT}?${query}&cursor=${first.pagination.nextCursor}`);
    expect((await next("operation=createSecret&limit=2")).json.entries).toHaveLength(2);
    for (const other of ["", "operation=updateSecret", "operation=createSecret&key=k", "from=2020-01-01T00:00:00Z"]) {
      const { status, json } = await next(other);
      expect([status, json.errors[0]]).toEqual([422, expect.stringContaining("was given for other parameters")]);
    }
  });

  test("no page is empty while more follow, however much lies between what a filter finds", async () => {
    await using world = await setup({ rateLimits: "off" });
    const log = new Collection(world.store, auditEntries);
    const { account } = world.owner;
    const about = { account, actor: { type: "key" as const, id: "seldom" }, fields: [], outcome: "done" as const };
    const entry = (operation: string, createdAt: number) =>
      log.inserting({ id: `e${createdAt}`, account, createdAt, doc: { ...about, operation } });
    await world.store.commit([
      entry("createSecret", 0),
      ...Array.from({ length: 5600 }, (_, n) => entry("updateSecret", n + 1)),
    ]);
    const { entries, pagination } = (await world.call("GET", `${AUDIT}?limit=1&key=seldom&operation=createSecret`))
      .json;
    expect([entries.length, pagination.hasNextPage]).toEqual([1, false]);
  });
});

describe("nothing acknowledged is without its entry", () => {
  test("it is in the commit of the change, which is refused or fails with it", async () => {
    const store = new InterceptedStore();
    await using world = await setup({ store });
    const kinds: string[][] = [];
    store.beforeCommit = (writes) =>
      void kinds.push(writes.map((write) => (write.do === "insert" ? write.record.kind : write.kind)));
    await world.call("POST", SECRETS, { body: { name: "token", value: "v" } });
    expect(kinds).toEqual([["secret", "secret-value", "audit-entry"], ["audit-entry"]]);
  });

  test("a server that ends before the outcome is written leaves that it began, and what it made", async () => {
    const store = new InterceptedStore();
    await using world = await setup({ store });
    store.beforeCommit = (writes) => {
      if (writes[0]?.do === "patch" && writes[0].kind === "audit-entry") throw new Error("killed");
    };
    const { status, json } = await world.call("POST", SECRETS, { body: { name: "token", value: "v" } });
    // The change was made and its entry is written; only its outcome could not be added.
    expect(status).toBe(201);
    expect(world.logged.join()).toContain('"duty":"write audit entries"');
    store.beforeCommit = () => {};
    expect(await listed(world)).toMatchObject([{ outcome: "unknown", resource: { type: "secrets", id: json.id } }]);
  });

  test("what cannot be written down is not done", async () => {
    const store = new InterceptedStore();
    await using world = await setup({ store });
    store.beforeCommit = (writes) => {
      if (writes.some((write) => write.do === "insert" && write.record.kind === "audit-entry"))
        throw problem("unavailable", "The disk is full.");
    };
    const body = { name: "token", value: "v" };
    const { status, json } = await world.call("POST", SECRETS, { body });
    expect([status, json.detail]).toEqual([503, "The disk is full."]);
    store.beforeCommit = () => {};
    expect((await world.call("GET", SECRETS)).json.secrets).toEqual([]);
  });

  test("what failed after it had begun says so", async () => {
    const store = new InterceptedStore();
    await using world = await setup({ store });
    const { id } = (await world.call("POST", SECRETS, { body: { name: "token", value: "v" } })).json;
    let commits = 0;
    store.beforeCommit = (writes) => {
      // The first commit writes the value, the second one the description.
      if (writes.some(({ do: does }) => does === "patch") && ++commits === 2)
        throw problem("unavailable", "The disk is full.");
    };
    await world.call("PATCH", `${SECRETS}/${id}`, { body: { value: "w", description: "d" } });
    store.beforeCommit = () => {};
    expect((await listed(world))[0]).toMatchObject({
      operation: "updateSecret",
      outcome: "failed",
      reason: "unavailable",
    });
  });
});

describe("it stays within its bounds", () => {
  test("of very many refusals a few are kept, and it is said how many were not", async () => {
    await using world = await setup({ rateLimits: "off" });
    const key = await world.newKey({ scopes: ["read-only"] });
    const refuse = () => world.call("DELETE", `${SECRETS}/aaaaaaaaaaaaaa`, { key });
    for (let n = 0; n < 100; n++) await refuse();
    expect(await listed(world)).toHaveLength(60);
    await world.clock.advance(3_600_000);
    await refuse();
    expect((await listed(world))[0]!.reason).toBe("not-allowed; 40 more refusals before it were not kept");
  });

  async function many(world: World, count: number) {
    for (let n = 0; n < count; n++) {
      await world.call("PUT", "/v2/account/ssh-keys", { body: { keys: [KEYS[n % 2]] } });
      await world.clock.advance(1000);
    }
  }

  test("entries go when their time is over", async () => {
    await using world = await setup();
    await many(world, 1);
    const [recent] = await world.services.audit.entries.list({ limit: 1 });
    const before = (days: number) => world.clock.now() - days * 24 * 3_600_000;
    for (const [id, createdAt] of [["older", before(91)] as const, ["old", before(89)] as const])
      await world.services.audit.entries.insert({ ...recent!, id, createdAt });
    await world.clock.advance(600_000);
    await idle();
    expect((await listed(world)).map(({ id }) => id)).toEqual([recent!.id, "old"]);
  });

  test("an account that has too many loses its oldest, and a line says so; others keep theirs", async () => {
    await using world = await setup({ rateLimits: "off" });
    const stranger = await world.strangersKey();
    await world.call("PUT", "/v2/account/ssh-keys", { body: { keys: [KEYS[0]] }, key: stranger });
    await many(world, 25);
    const before = await listed(world);
    const failed = (error: unknown) => expect.unreachable(String(error));
    await using sweeper = new AuditSweeper({ ...world, failed, days: 90, most: 20 });
    await sweeper.sweep(world.clock.now());
    const [said, ...left] = await listed(world);
    expect(left).toEqual(before.slice(0, 18));
    expect(said).toMatchObject({
      actor: { type: "system" },
      operation: "removeAuditEntries",
      reason: "the account had more than 20 entries: the oldest 7 were removed",
    });
    expect(await listed(world, "", stranger)).toHaveLength(1);
  });

  test("it goes with its account", async () => {
    await using world = await setup();
    const key = await world.strangersKey();
    await world.call("PUT", "/v2/account/ssh-keys", { body: { keys: [] }, key });
    await world.services.accounts.delete("stranger");
    expect(await world.store.list({ kind: "audit-entry", limit: 10 })).toEqual([]);
  });
});
