/** What every Store guarantees about leases: there is one holder at a time, and the fence never goes back. */
import { expect, test } from "vitest";
import type { OpenStore } from "./store.conformance.ts";

const ask = (holder: string, now: number, until: number) => ({ name: "sweeper", holder, now, until });

export function leaseConformance(open: OpenStore): void {
  test("a free lease is granted, refused to others while held, and renewed with the same fence", async () => {
    await using opened = await open();
    const fence = await opened.store.lease(ask("n1", 0, 10));
    expect(fence).toBeTypeOf("number");
    expect(await opened.store.lease(ask("n2", 9, 19))).toBeUndefined();
    expect(await opened.store.lease(ask("n1", 9, 19))).toBe(fence);
    expect(await opened.store.lease(ask("n2", 18, 28))).toBeUndefined();
  });

  test("a lapsed lease is taken over with a higher fence, and its old holder is refused", async () => {
    await using opened = await open();
    const fence = await opened.store.lease(ask("n1", 0, 10));
    expect(await opened.store.lease(ask("n2", 10, 20))).toBeGreaterThan(fence!);
    expect(await opened.store.lease(ask("n1", 11, 21))).toBeUndefined();
  });

  test("a holder that let its lease lapse gets a higher fence, for another may have acted in between", async () => {
    await using opened = await open();
    const fence = await opened.store.lease(ask("n1", 0, 10));
    expect(await opened.store.lease(ask("n1", 10, 20))).toBeGreaterThan(fence!);
  });

  test("a released lease is free at once, and its next fence is higher", async () => {
    await using opened = await open();
    const fence = await opened.store.lease(ask("n1", 0, 10));
    await opened.store.release("sweeper", "n1");
    expect(await opened.store.lease(ask("n2", 1, 11))).toBeGreaterThan(fence!);
  });

  test("a release by someone who does not hold the lease changes nothing", async () => {
    await using opened = await open();
    await opened.store.release("sweeper", "n2");
    const fence = await opened.store.lease(ask("n1", 0, 10));
    await opened.store.release("sweeper", "n2");
    expect(await opened.store.lease(ask("n2", 1, 11))).toBeUndefined();
    expect(await opened.store.lease(ask("n1", 1, 11))).toBe(fence);
  });

  test("a lease that nobody holds is removed, so that the name is as new, and one that is held stays", async () => {
    await using opened = await open();
    const { store } = opened;
    const first = await store.lease(ask("n1", 0, 10));
    await store.removeLease("sweeper", 9);
    expect(await store.lease(ask("n2", 9, 19))).toBeUndefined();
    expect(await store.lease(ask("n2", 10, 20))).toBeGreaterThan(first!);
    await store.removeLease("sweeper", 20);
    expect(await store.lease(ask("n1", 20, 30))).toBe(first);
    await store.release("sweeper", "n1");
    await store.removeLease("sweeper", 21);
    expect(await store.lease(ask("n2", 21, 31))).toBe(first);
    await store.removeLease("nobody's", 21);
  });

  test("leases of different names are apart", async () => {
    await using opened = await open();
    await opened.store.lease(ask("n1", 0, 10));
    expect(await opened.store.lease({ ...ask("n2", 0, 10), name: "scaler" })).toBeTypeOf("number");
  });

  test("of 20 askers at once, one gets the lease", async () => {
    await using opened = await open();
    const asks = Array.from({ length: 20 }, (_, i) => opened.store.lease(ask(`n${i}`, 0, 10)));
    const fences = (await Promise.all(asks)).filter((fence) => fence !== undefined);
    expect(fences).toHaveLength(1);
  });
}
