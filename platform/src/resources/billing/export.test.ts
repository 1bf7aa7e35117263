/** The usage export: its sums are the bill to the last digit, in both formats, for one account and for all. */
import { expect, test } from "vitest";
import { DAY, HOUR, nano, putSpan } from "../../../tests/billing-world.ts";
import { setup as setupWorld, type World } from "../../../tests/world.ts";
import { realRandom, SeededRandom } from "../../kernel/random.ts";
import type { ChargeFilter, Charges } from "../../ports/queue/queue.ts";

const T0 = Date.UTC(2026, 0, 1);
const at = (moment: number) => new Date(moment).toISOString();
const seed = Number(process.env.MILLRACE_TEST_SEED ?? Buffer.from(realRandom.bytes(4)).readUInt32LE());

interface Line {
  [field: string]: string | number | null;
}

async function setup() {
  const world = await setupWorld();
  const team = (await world.call("POST", "/v2/installation/accounts", { body: { name: "team" } })).json;
  const charges: Charges[] = [];
  world.services.charges.readFrom({ charges: async (filter) => charges.filter((one) => fits(filter, one)) });
  const fetched = async (path: string, query: Record<string, string> = {}, key: string = world.key) =>
    world.call("GET", `/v2${path}?${new URLSearchParams(query)}`, { key });
  return {
    ...{ world, team, charges, fetched },
    own: (query?: Record<string, string>, key?: string) => fetched("/billing/export", query, key),
    all: (query?: Record<string, string>) => fetched("/installation/billing/export", query),
    span: (account: string, span: Parameters<typeof putSpan>[2]) => putSpan(world.store, account, span),
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}

const fits = ({ caller, endpoints, from, to }: ChargeFilter, one: Charges) =>
  (caller === undefined || one.caller === caller) &&
  (endpoints === undefined || endpoints.includes(one.endpoint)) &&
  one.hour >= from &&
  one.hour < to;

const chargeOf = (given: Partial<Charges>): Charges => ({
  ...{ caller: "c", endpoint: "e", share: "a-model", hour: T0, requests: 3, executionMs: 2500 },
  ...{ inputTokens: 10, outputTokens: 5, amount: 30_000_000 },
  ...given,
});

const sumOf = (lines: Line[], field = "amount") =>
  lines.reduce((sum, line) => sum + BigInt(String(line[field]).replace(".", "")), 0n);

/** Reads CSV by RFC 4180: a field is quoted, with doubled quotes in it, or has neither quotes, commas nor line ends. */
function rowsOf(text: string): Line[] {
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/y;
  const rows: string[][] = [[]];
  while (cell.lastIndex < text.length) {
    const [, quoted, plain, end] = cell.exec(text) ?? expect.unreachable("this is no CSV");
    rows.at(-1)!.push(quoted?.replaceAll('""', '"') ?? plain!);
    if (end === "\r\n") rows.push([]);
  }
  const [head, ...lines] = rows.slice(0, -1);
  return lines.map((cells) => Object.fromEntries(head!.map((name, i) => [name, cells[i]!])));
}

async function billed(world: World, key: string, window: Record<string, string>): Promise<bigint> {
  const query = new URLSearchParams({ ...window, bucketSize: "hour" });
  const { json } = await world.call("GET", `/v2/billing?${query}`, { key });
  return nano(json.metadata.totals.totalAmount);
}

test("a line says who used what, from when to when, for how many seconds, at which price, and what it costs", async () => {
  await using s = await setup();
  const { account } = s.world.owner;
  const gpu = { gpuType: "NVIDIA A40", gpuCount: 2, owner: "pod1", instance: "i1", dataCenter: "US-KS-2" };
  await s.span(account, {
    ...gpu,
    from: T0,
    to: T0 + HOUR + 500,
    price: { gpu: 1_500_000_000, cpu: 0, disk: 0, storage: 0 },
  });
  await s.span(account, {
    ...{
      kind: "volume",
      owner: "v1",
      instance: "v1",
      diskGb: 100,
      tier: "STANDARD",
      phase: "used",
      from: T0,
      to: T0 + HOUR,
    },
    price: { gpu: 0, cpu: 0, disk: 0, storage: 7_300_000_000 },
  });
  s.world.clock.jump(DAY);
  const { json, headers } = await s.own({ startTime: at(T0), endTime: at(T0 + DAY) });
  expect(headers.get("content-disposition")).toBe('attachment; filename="usage-2026-01-01.json"');
  expect(json.lines).toHaveLength(2);
  expect(json.lines).toContainEqual({
    ...{ accountId: account, accountName: "default", kind: "pod", item: "gpu", resourceId: "pod1", resourceName: null },
    ...{ instanceId: "i1", gpuType: "NVIDIA A40", gpuCount: 2, cpuFlavor: null, vcpu: null, sizeGb: null },
    ...{
      dataCenterId: "US-KS-2",
      startTime: at(T0),
      endTime: at(T0 + HOUR + 500),
      seconds: "3600.500",
      requests: null,
    },
    ...{ unitPrice: "1.500000000", per: "hour", amount: "1.500208333", income: "0.000000000" },
  });
  expect(json.lines).toContainEqual(
    expect.objectContaining({
      ...{ kind: "network-volume", item: "storage", sizeGb: 100, unitPrice: "7.300000000", per: "month" },
      amount: "0.010000000",
    }),
  );
  expect([json.lineCount, json.totals]).toEqual([2, { amount: "1.510208333", income: "0.000000000" }]);
});

test("CSV is what RFC 4180 says, has the same lines, and no name in it is a formula", async () => {
  await using s = await setup();
  await s.world.call("PATCH", `/v2/installation/accounts/${s.team.id}`, { body: { name: '=HYPERLINK("x"),a' } });
  await s.span(s.team.id, { from: T0, to: T0 + HOUR });
  s.world.clock.jump(DAY);
  const window = { startTime: at(T0), endTime: at(T0 + DAY) };
  const { text, headers } = await s.own({ ...window, format: "csv" }, s.team.key);
  expect(headers.get("content-type")).toBe("text/csv; charset=utf-8; header=present");
  expect(text.split("\r\n")).toHaveLength(3);
  const rows = rowsOf(text);
  const { json } = await s.own(window, s.team.key);
  expect(rows[0]!.accountName).toBe(`'=HYPERLINK("x"),a`);
  const { accountName: _, ...line } = json.lines[0];
  expect(rows).toMatchObject([
    Object.fromEntries(Object.entries(line).map(([name, value]) => [name, String(value ?? "")])),
  ]);
});

test("the sums are the bill to the last digit, of each account and of all, in both formats, for any spans and charges", async () => {
  console.log(`seed ${seed}`);
  const random = new SeededRandom(seed);
  await using s = await setup();
  const accounts = [
    { id: s.world.owner.account, key: s.world.key },
    { id: s.team.id, key: s.team.key },
  ];
  for (let n = 0; n < 200; n++) {
    const from = T0 + random.below(100 * DAY);
    const to = random.chance(0.2) ? null : from + random.below(random.below(40 * DAY) + 1);
    const price = {
      gpu: random.below(5e9),
      cpu: random.below(1e9),
      disk: random.below(1e6),
      storage: random.below(1e12),
    };
    const kind = random.pick(["pod", "worker", "member", "volume"] as const);
    const free = random.chance(0.1) ? { free: "pull" } : {};
    await s.span(random.pick(accounts).id, { kind, owner: `o${random.below(5)}`, from, to, price, ...free });
  }
  const shared = (
    await s.world.call("POST", "/v2/serverless", { body: { name: "e", image: "i", gpu: { pools: ["ADA_24"] } } })
  ).json.id;
  for (let n = 0; n < 100; n++)
    s.charges.push(
      chargeOf({
        caller: random.pick(accounts).id,
        endpoint: shared,
        hour: T0 + random.below(2400) * HOUR,
        amount: random.below(1e12),
      }),
    );
  s.world.clock.jump(120 * DAY + 12_345);
  for (let n = 0; n < 5; n++) {
    const start = T0 + random.below(60 * DAY);
    const window = { startTime: at(start), endTime: at(start + random.below(60 * DAY) + 1) };
    let together = 0n;
    for (const { key } of accounts) {
      const bill = await billed(s.world, key, window);
      const { json } = await s.own(window, key);
      const rows = rowsOf((await s.own({ ...window, format: "csv" }, key)).text);
      expect([sumOf(json.lines), sumOf(rows), sumOf([json.totals])]).toEqual([bill, bill, bill]);
      together += bill;
    }
    const { json } = await s.all(window);
    expect([sumOf(json.lines), sumOf([json.totals])]).toEqual([together, together]);
    // What callers owe for public endpoints is what the account that shares them earns.
    const owed = json.lines.filter((line: Line) => line.kind === "public-endpoint" && line.income === "0.000000000");
    expect(sumOf([json.totals], "income")).toBe(sumOf(owed));
  }
});

test("a deleted endpoint's income stays, with the account that shared it", async () => {
  await using s = await setup();
  await s.span(s.team.id, { kind: "worker", owner: "gone", from: T0, to: T0 + HOUR });
  s.charges.push(chargeOf({ caller: s.world.owner.account, endpoint: "gone" }));
  s.world.clock.jump(DAY);
  const window = { startTime: at(T0), endTime: at(T0 + DAY) };
  expect((await s.own(window, s.team.key)).json.totals.income).toBe("0.030000000");
  expect((await s.own(window)).json).toMatchObject({
    totals: { amount: "0.030000000", income: "0.000000000" },
    lines: [{ kind: "public-endpoint", resourceName: "a-model", requests: 3, seconds: "2.500" }],
  });
});

test("many spans are sent in pieces while they are read, and none is missing", async () => {
  await using s = await setup();
  for (let n = 0; n < 1200; n++) await s.span(s.team.id, { owner: `p${n}`, from: T0 + n, to: T0 + n + HOUR });
  s.world.clock.jump(DAY);
  const { json } = await s.own({ startTime: at(T0), endTime: at(T0 + DAY) }, s.team.key);
  expect(new Set(json.lines.map(({ resourceId }: Line) => resourceId)).size).toBe(1200);
  const one = await s.all({ startTime: at(T0), endTime: at(T0 + DAY), accountId: s.team.id });
  expect(one.json.lineCount).toBe(1200);
});

test("wrong times, an unknown account and a key without the right are refused with the reason", async () => {
  await using s = await setup();
  const early = await s.own({ startTime: at(T0), endTime: at(T0 - DAY) });
  expect([early.status, early.json.detail]).toEqual([400, expect.stringContaining("must be before")]);
  expect((await s.own({ startTime: "yesterday" })).status).toBe(422);
  const long = await s.own({ startTime: "2020-01-01T00:00:00Z" });
  expect([long.status, long.json.detail]).toEqual([400, expect.stringContaining("ask for a shorter time")]);
  expect((await s.all({ accountId: "nobody" })).status).toBe(404);
  const narrow = await s.world.newKey({ scopes: ["pods:read"] });
  expect((await s.own({}, narrow)).status).toBe(403);
  expect((await s.fetched("/installation/billing/export", {}, s.team.key)).status).toBe(403);
});

test("a third export of one account at once is refused, and another account's is not", async () => {
  await using s = await setup();
  const open = async () => {
    const pieces = (await s.world.services.billingExport.of(s.team.id, {})).read()[Symbol.asyncIterator]();
    await pieces.next();
    return pieces;
  };
  // A client that reads slowly: the export is begun and not read to its end.
  for (let n = 0; n < 1500; n++) await s.span(s.team.id, { owner: `p${n}`, from: T0 - HOUR, to: T0 });
  const running = [await open(), await open()];
  const third = await s.own({}, s.team.key);
  expect([third.status, third.headers.get("retry-after")]).toEqual([429, "5"]);
  expect((await s.own()).status).toBe(200);
  for (const pieces of running) await pieces.return?.(undefined);
  expect((await s.own({}, s.team.key)).status).toBe(200);
});
