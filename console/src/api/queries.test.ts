/** Reads and writes go to the server also when the browser calls itself offline, and fail at once where it is not there. */
import { MutationObserver, onlineManager, QueryObserver } from "@tanstack/react-query";
import { expect, onTestFinished, test } from "vitest";
import { cache } from "./queries.ts";
import { Refusal } from "./refusal.ts";

function goOffline(): void {
  onlineManager.setOnline(false);
  onTestFinished(() => {
    onlineManager.setOnline(true);
    cache.clear();
  });
}

test("a write made offline fails at once, and is not done later", async () => {
  goOffline();
  let writes = 0;
  const write = new MutationObserver(cache, {
    mutationFn: async () => {
      writes++;
      throw Refusal.unreachable();
    },
  });
  await expect(write.mutate()).rejects.toThrow("The server did not answer");
  onlineManager.setOnline(true);
  await cache.resumePausedMutations();
  expect(writes).toBe(1);
});

test("a read is asked for offline too, and again when the network is back", async () => {
  goOffline();
  let reads = 0;
  const queryFn = async () => {
    reads++;
    if (!onlineManager.isOnline()) throw new Refusal(403, "Forbidden", "no");
    return "there";
  };
  const read = new QueryObserver(cache, { queryKey: ["of a test"], queryFn });
  const { promise, resolve } = Promise.withResolvers<void>();
  const stop = read.subscribe(({ status }) => {
    if (status === "error") onlineManager.setOnline(true);
    if (status === "success") resolve();
  });
  cache.mount();
  await promise;
  cache.unmount();
  stop();
  expect(reads).toBe(2);
});
