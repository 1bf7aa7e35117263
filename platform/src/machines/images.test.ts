/** Which account may run which image, and what is remembered for when the registry does not answer. */
import { describe, expect, test } from "vitest";
import { FakeClock, turn } from "../kernel/clock.ts";
import { StartRefused } from "../ports/compute/compute.ts";
import { FakeCompute } from "../ports/compute/fake-compute.ts";
import { MemoryStore } from "../ports/store/memory-store.ts";
import { Images, LOOKUP_MS, MOST_PROOFS } from "./images.ts";

const CREDENTIAL = { username: "reader", password: "open-sesame" };
const PRIVATE = "registry.example/team/model:1";
const PUBLIC = "alpine:3";

function setup() {
  const clock = new FakeClock();
  const compute = new FakeCompute(clock);
  const store = new MemoryStore();
  const told: string[] = [];
  const open = () => new Images({ store, compute, clock });
  let images = open();
  const first = compute.registry.put(PRIVATE, "first", CREDENTIAL);
  return {
    clock,
    registry: compute.registry,
    compute,
    store,
    told,
    first,
    /** Acts like the next process of the server, or like another node. */
    restart() {
      images = open();
    },
    prepare: (account: string, image: string, credential?: typeof CREDENTIAL) =>
      images.prepare({ account, image, box: "machine", credential, progress: (line) => told.push(line) }),
  };
}

test("what the operator put on the machine runs for every account, as it is named and without a question", async () => {
  const { prepare, registry } = setup();
  expect(await prepare("a", "loaded:1")).toBe("loaded:1");
  expect(await prepare("b", "loaded:1")).toBe("loaded:1");
  expect(registry.asked).toEqual([]);
});

test("of a private image each account shows itself that it may pull it, although it is there", async () => {
  const { prepare, first } = setup();
  expect(await prepare("a", PRIVATE, CREDENTIAL)).toBe(first);
  for (const credential of [undefined, { ...CREDENTIAL, password: "a-guess" }]) {
    const refused = prepare("b", PRIVATE, credential);
    await expect(refused).rejects.toThrow(StartRefused);
    await expect(refused).rejects.toThrow(/cannot pull registry\.example\/team\/model:1.*unauthorized/);
    await expect(refused).rejects.not.toThrow("a-guess");
  }
  await expect(prepare("b", first)).rejects.toThrow(/unauthorized/);
});

test("a public image needs no credential, and is run by its digest", async () => {
  const { prepare, registry } = setup();
  const exact = registry.put(PUBLIC, "public");
  expect(await prepare("b", PUBLIC)).toBe(exact);
  expect(exact).toMatch(/^alpine@sha256:[0-9a-f]{64}$/);
});

test("a tag is looked up each time: where it has moved, the new image is run", async () => {
  const { prepare, registry, first } = setup();
  await prepare("a", PRIVATE, CREDENTIAL);
  const second = registry.put(PRIVATE, "second", CREDENTIAL);
  expect(await prepare("a", PRIVATE, CREDENTIAL)).toBe(second);
  expect(registry.asked).toEqual([PRIVATE, PRIVATE]);
  // The account may still use the earlier image by its digest.
  expect(await prepare("a", first)).toBe(first);
});

test("a digest that an account has proved is not asked for again", async () => {
  const { prepare, registry, first } = setup();
  await prepare("a", PRIVATE, CREDENTIAL);
  registry.asked.length = 0;
  expect(await prepare("a", first)).toBe(first);
  expect(registry.asked).toEqual([]);
});

describe("while the registry is away", () => {
  test("who has proved before runs what the image last was, and is told so", async () => {
    const world = setup();
    await world.prepare("a", PRIVATE, CREDENTIAL);
    world.registry.away = "connection refused";
    world.restart();
    expect(await world.prepare("a", PRIVATE, CREDENTIAL)).toBe(world.first);
    expect(await world.prepare("a", world.first)).toBe(world.first);
    expect(world.told.at(-1)).toMatch(/could not be asked \(connection refused\)/);
  });

  test("who has not is refused with the reason, also by the digest", async () => {
    const { prepare, registry, first } = setup();
    await prepare("a", PRIVATE, CREDENTIAL);
    registry.away = "connection refused";
    for (const image of [PRIVATE, first]) {
      const refused = prepare("b", image, CREDENTIAL);
      await expect(refused).rejects.toThrow(StartRefused);
      await expect(refused).rejects.toThrow(
        /could not be asked \(connection refused\), and this account has not shown before/,
      );
    }
  });

  test("one that does not answer is away after some time", async () => {
    const { prepare, registry, clock, first } = setup();
    await prepare("a", PRIVATE, CREDENTIAL);
    registry.silent = true;
    const prepared = prepare("a", PRIVATE, CREDENTIAL);
    await turn();
    await clock.advance(LOOKUP_MS);
    expect(await prepared).toBe(first);
    expect(clock.waiting).toBe(0);
  });

  test("a no that came before it went is remembered like a yes", async () => {
    const { prepare, registry, first } = setup();
    await prepare("a", PRIVATE, CREDENTIAL);
    await expect(prepare("a", PRIVATE)).rejects.toThrow(/unauthorized/);
    registry.away = "connection refused";
    for (const image of [PRIVATE, first]) await expect(prepare("a", image)).rejects.toThrow(/could not be asked/);
  });
});

test("a tag that is gone is refused, and takes nothing but itself", async () => {
  const { prepare, registry, first } = setup();
  await prepare("a", PRIVATE, CREDENTIAL);
  await expect(prepare("a", "registry.example/team/model:2", CREDENTIAL)).rejects.toThrow(/manifest unknown/);
  registry.away = "connection refused";
  expect(await prepare("a", PRIVATE)).toBe(first);
});

test("many that start at once ask once, and each account for itself", async () => {
  const { prepare, registry } = setup();
  const starts = Array.from({ length: 20 }, (_, i) => prepare(i % 2 ? "a" : "b", PRIVATE, CREDENTIAL));
  await Promise.all(starts);
  expect(registry.asked).toHaveLength(2);
});

test("proofs of two nodes at once are both kept", async () => {
  const { compute, store, clock, registry } = setup();
  registry.put(PUBLIC, "public");
  const nodes = [1, 2].map(() => new Images({ store, compute, clock }));
  const ask = { account: "a", box: "machine", credential: CREDENTIAL, progress: () => {} };
  await Promise.all([nodes[0]!.prepare({ ...ask, image: PRIVATE }), nodes[1]!.prepare({ ...ask, image: PUBLIC })]);
  registry.away = "connection refused";
  for (const image of [PRIVATE, PUBLIC]) await nodes[0]!.prepare({ ...ask, image });
});

test("they go with the account", async () => {
  const { prepare, registry, store } = setup();
  await prepare("a", PRIVATE, CREDENTIAL);
  await store.removeAccount("a");
  registry.away = "connection refused";
  await expect(prepare("a", PRIVATE, CREDENTIAL)).rejects.toThrow(/has not shown before/);
});

test("an account's proofs are bounded: the oldest is forgotten first, and what is proved again is written once", async () => {
  const { prepare, registry, store } = setup();
  const tag = (n: number) => `registry.example/many:${n}`;
  for (let n = 0; n <= MOST_PROOFS; n++) {
    registry.put(tag(n), `content ${n}`);
    await prepare("a", tag(n));
  }
  const before = await store.get("image-proofs", "a");
  await prepare("a", tag(MOST_PROOFS));
  expect((await store.get("image-proofs", "a"))?.version).toBe(before?.version);
  registry.away = "connection refused";
  await prepare("a", tag(1));
  await expect(prepare("a", tag(0))).rejects.toThrow(/has not shown before/);
});

test("a failing store refuses: what cannot be remembered is not brought", async () => {
  const { compute, clock } = setup();
  const store = new MemoryStore();
  const images = new Images({ store, compute, clock });
  store.commit = () => Promise.reject(new Error("the disk is full"));
  const prepared = images.prepare({
    account: "a",
    image: PRIVATE,
    box: "machine",
    credential: CREDENTIAL,
    progress: () => {},
  });
  await expect(prepared).rejects.toThrow("the disk is full");
});
