/** Actions on Pods through REST v1, and the status that the Pods show afterwards. */

import { expect, test } from "vitest";
import { setupPods, TWO_GPUS } from "../../../tests/pod-world.ts";
import { saying } from "../../kernel/reason.ts";

const PODS = "/v1/pods";
const GPU = { name: "box", imageName: "host:/app", gpuTypeIds: ["NVIDIA A40"], gpuCount: 2 };

async function world() {
  const base = await setupPods({ machine: TWO_GPUS });
  const { json } = await base.call("POST", PODS, { body: GPU });
  await base.settle();
  const act = async (word: string, id: string = json.id) => {
    const answer = await base.call("POST", `${PODS}/${id}/${word}`, {
      headers: { "content-type": "application/json" },
    });
    await base.settle();
    return answer;
  };
  return { ...base, id: json.id as string, act };
}

/** Makes the Pod's program fail for good. */
const fail = ({ services, id }: Awaited<ReturnType<typeof world>>) =>
  services.podRecords.change(id, () => ({
    move: "fail",
    set: { reason: saying("crash-loop", "crash loop: exit 7"), instance: null, crashes: null },
    instance: { move: "end" },
  }));

test.each(["stop", "restart", "reset"])("%s answers the Pod as JSON", async (word) => {
  await using there = await world();
  const { status, json } = await there.act(word);
  expect([status, json.id, json.name]).toEqual([200, there.id, "box"]);
});

test.each(["start", "resume"])("%s starts one that is stopped, and answers the Pod", async (word) => {
  await using there = await world();
  expect((await there.act("stop")).json).toMatchObject({ desiredStatus: "EXITED", costPerHr: 0 });
  expect((await there.act(word)).json).toMatchObject({ id: there.id, desiredStatus: "RUNNING" });
  expect((await there.pod(there.id)).status).toBe("RUNNING");
});

test("a Pod that was stopped says by whom", async () => {
  await using there = await world();
  expect((await there.act("stop")).json.lastStatusChange).toMatch(/^Exited by User: /);
});

test("one that waits or is being started is RUNNING, one that cannot run is EXITED with the reason", async () => {
  await using there = await world();
  expect((await there.act("restart")).json.desiredStatus).toBe("RUNNING");
  await fail(there);
  const { json } = await there.call("GET", `${PODS}/${there.id}`);
  expect(json.desiredStatus).toBe("EXITED");
  expect(json.lastStatusChange).toMatch(/^Exited by Millrace: .*crash loop: exit 7/);
});

test("one that cannot run is stopped as one that runs: REST v1 knows no ERROR", async () => {
  await using there = await world();
  await fail(there);
  const { status, json } = await there.act("stop");
  expect([status, json.desiredStatus]).toEqual([200, "EXITED"]);
  expect(json.lastStatusChange).toMatch(/^Exited by User: /);
  expect(await there.pod(there.id)).toMatchObject({ status: "EXITED", statusReasonCode: "stopped-by-owner" });
});

test("REST v2 refuses to stop one that cannot run: `actions` of an ERROR has no stop", async () => {
  await using there = await world();
  await fail(there);
  expect((await there.pod(there.id)).actions).toEqual(["start", "terminate"]);
  const { status, json } = await there.call("POST", `/v2/pods/${there.id}/action`, { body: { action: "stop" } });
  expect([status, json.detail]).toEqual([409, "cannot stop while ERROR"]);
});

test("a start that finds no room fails at once: 500 with the reason, and the Pod stays stopped", async () => {
  await using there = await world();
  await there.act("stop");
  await there.call("POST", PODS, { body: { ...GPU, name: "other", gpuCount: 1 } });
  const { status, json } = await there.act("start");
  expect(status).toBe(500);
  expect(json.message).toMatch(/^start pod: There are no instances currently available\. .*1 of 2/);
  expect((await there.pod(there.id)).status).toBe("EXITED");
});

test("an action in the wrong state: 400", async () => {
  await using there = await world();
  expect((await there.act("start")).status).toBe(400);
  await there.act("stop");
  expect((await there.act("stop")).status).toBe(400);
});

test.each(["stop", "reset"])("a locked Pod is not told to %s: 400", async (word) => {
  await using there = await world();
  await there.call("PATCH", `${PODS}/${there.id}`, { body: { locked: true } });
  const { status, json } = await there.act(word);
  expect([status, json.message]).toEqual([400, `This Pod is locked: unlock it before you ${word} it.`]);
});

test("a deleted Pod is answered with 204 and is not found from then on", async () => {
  await using there = await world();
  expect(await there.call("DELETE", `${PODS}/${there.id}`)).toMatchObject({ status: 204, text: "" });
  expect((await there.call("GET", `${PODS}/${there.id}`)).status).toBe(404);
  expect((await there.act("start")).status).toBe(404);
});

test("the audit log calls it as REST v2 does", async () => {
  await using there = await world();
  await there.act("stop");
  const { entries } = (await there.call("GET", `/v2/account/audit?resource=${there.id}`)).json;
  expect(entries).toMatchObject([
    { operation: "stopPod", resource: { type: "pods", id: there.id } },
    { operation: "createPod", resource: { type: "pods", id: there.id } },
  ]);
});

test("a Pod may look at itself and stop itself, with its own key", async () => {
  await using there = await world();
  const { key } = await there.services.podKeys.issue(there.owner.account, there.id);
  expect((await there.call("GET", `${PODS}/${there.id}`, { key })).status).toBe(200);
  expect((await there.call("GET", PODS, { key })).status).toBe(403);
  expect((await there.call("POST", `${PODS}/${there.id}/stop`, { key })).status).toBe(200);
});
