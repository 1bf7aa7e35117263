/** The lifecycle of a Pod: its record only changes status by the moves of the table. */
import { expect, test } from "vitest";
import { putPod } from "../../../tests/pod-doc.ts";
import { setup } from "../../../tests/world.ts";
import { because } from "../../kernel/reason.ts";
import { type PodMove, type PodStatus, podLifecycle } from "./lifecycle.ts";

const reason = because("about-to-start");

/** A Pod in this status, and a function that moves its record. */
async function pod(status: PodStatus) {
  const world = await setup();
  const id = await putPod(world, { status });
  const move = (move: PodMove) => world.services.podRecords.change(id, () => ({ move, set: { reason } }));
  return { ...world, id, move };
}

/** Every status of a record, combined with every move. */
const pairs = podLifecycle.states
  .filter((status) => status !== "TERMINATED")
  .flatMap((status) => (Object.keys(podLifecycle.moves) as PodMove[]).map((move) => [status, move] as const));

test.each(pairs)("while %s, %s leads where the table says, or is refused", async (status, name) => {
  await using there = await pod(status);
  if (podLifecycle.can(status, name)) {
    const moved = await there.move(name);
    expect(moved?.doc).toMatchObject({ status: podLifecycle.to(name), lastStatusChange: there.clock.now(), reason });
  } else {
    const to = podLifecycle.to(name);
    await expect(there.move(name)).rejects.toThrow(
      `Pod ${there.id} cannot ${name} from ${status} to ${to}: its lifecycle has no such move`,
    );
    expect((await there.services.podRecords.pods.get(there.id))?.doc.status).toBe(status);
  }
});

test("a status that is written by hand does not compile", async () => {
  await using there = await pod("EXITED");
  const { podRecords } = there.services;
  // @ts-expect-error a status is moved, never said
  const said: Parameters<typeof podRecords.change>[1] = () => ({ set: { status: "RUNNING" } });
  const status: PodStatus = "RUNNING";
  const item = (await podRecords.pods.get(there.id))!;
  // @ts-expect-error only a move leads to a status
  const patched: Parameters<typeof podRecords.pods.patch>[1] = { status };
  expect([typeof said, typeof patched, item.doc.status]).toEqual(["function", "object", "EXITED"]);
});
