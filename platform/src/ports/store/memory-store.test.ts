/** The memory store keeps the port's guarantees. */
import { MemoryStore } from "./memory-store.ts";
import { storeConformance } from "./store.conformance.ts";

storeConformance("MemoryStore", async () => {
  const store = new MemoryStore();
  return {
    store,
    beside: async () => ({ store, [Symbol.asyncDispose]: async () => {} }),
    reopen: { cannot: "a memory store ends with its process" },
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
});
