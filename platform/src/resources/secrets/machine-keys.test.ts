/** The keys with which machines encrypt what they send to each other. */
import { expect, test } from "vitest";
import { EnvelopeVault } from "../../adapters/crypto/envelope-vault.ts";
import { FakeClock } from "../../kernel/clock.ts";
import { SeededRandom } from "../../kernel/random.ts";
import { MemoryStore } from "../../ports/store/memory-store.ts";
import { MachineKeys } from "./machine-keys.ts";

const masters = [1, 2].map((seed) => new SeededRandom(seed).bytes(32)) as [Uint8Array, Uint8Array];

function keysOf(store: MemoryStore, { keys = masters.slice(0, 1), seed = 1 } = {}) {
  const random = new SeededRandom(seed);
  const vault = new EnvelopeVault(keys, random);
  return { vault, keys: new MachineKeys({ store, vault, clock: new FakeClock(), random }) };
}

test("each machine has its own, which is made once, whoever asks", async () => {
  const store = new MemoryStore();
  const [one, two] = [1, 2].map((seed) => keysOf(store, { seed }).keys) as [MachineKeys, MachineKeys];
  const made = await Promise.all([one.of("a"), two.of("a"), two.of("b")]);
  expect(Buffer.from(made[0], "base64")).toHaveLength(32);
  expect([made[1], await one.of("b")]).toEqual([made[0], made[2]]);
  expect(made[2]).not.toBe(made[0]);
});

test("it stays the same when another master key seals it, is not to be read in the store, and opens for its machine alone", async () => {
  const store = new MemoryStore();
  const made = await keysOf(store).keys.of("a");
  const { keys, vault } = keysOf(store, { keys: masters.toReversed() });
  expect(await keys.reseal((sealed) => vault.rewrap(sealed))).toBe(1);
  expect(await keys.reseal((sealed) => vault.rewrap(sealed))).toBe(0);
  const later = keysOf(store, { keys: masters.slice(1) });
  expect(await later.keys.of("a")).toBe(made);
  const record = (await store.get("machine-key", "a"))!;
  expect(JSON.stringify(record)).not.toContain(made);
  const { sealed } = record.doc as { sealed: Parameters<typeof later.vault.open>[0] };
  await expect(later.vault.open(sealed, "machine-key b")).rejects.toThrow();
});
