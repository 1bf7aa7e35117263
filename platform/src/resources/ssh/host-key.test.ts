/** The SSH host key. Clients recognize the installation by it. */
import { expect, test } from "vitest";
import { EnvelopeVault } from "../../adapters/crypto/envelope-vault.ts";
import { FakeClock } from "../../kernel/clock.ts";
import { SeededRandom } from "../../kernel/random.ts";
import { MemoryStore } from "../../ports/store/memory-store.ts";
import { SshHostKey } from "./host-key.ts";

const masters = [1, 2].map((seed) => new SeededRandom(seed).bytes(32)) as [Uint8Array, Uint8Array];

function hostKey(store: MemoryStore, { keys = masters.slice(0, 1), seed = 1 } = {}) {
  const random = new SeededRandom(seed);
  const vault = new EnvelopeVault(keys, random);
  return { vault, key: new SshHostKey({ store, vault, clock: new FakeClock(), random }) };
}

test("is made once, whoever asks: two nodes that come up together, and one that comes later", async () => {
  const store = new MemoryStore();
  const nodes = [1, 2, 3].map((seed) => hostKey(store, { seed }).key);
  const [one, two] = await Promise.all(nodes.slice(0, 2).map((node) => node.seed()));
  expect(one).toHaveLength(32);
  expect(two).toEqual(one);
  expect(await nodes[2]!.seed()).toEqual(one);
});

test("stays the same when another master key seals it, and is not to be read in the store", async () => {
  const store = new MemoryStore();
  const seed = await hostKey(store).key.seed();
  const { key, vault } = hostKey(store, { keys: masters.toReversed() });
  expect(await key.reseal((sealed) => vault.rewrap(sealed))).toBe(1);
  expect(await key.reseal((sealed) => vault.rewrap(sealed))).toBe(0);
  expect(await hostKey(store, { keys: masters.slice(1) }).key.seed()).toEqual(seed);
  expect(JSON.stringify(await store.get("ssh-host-key", "only"))).not.toContain(seed.toString("base64"));
});
