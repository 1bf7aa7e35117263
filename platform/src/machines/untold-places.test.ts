/** Nothing that an account reads about its Pods, workers and jobs names the server's data folder, whatever fails in it. */
import { describe, expect, test } from "vitest";
import { setupFleet } from "../../tests/fleet-world.ts";
import { setupJobs } from "../../tests/job-world.ts";
import { putPod } from "../../tests/pod-doc.ts";
import { setupPods } from "../../tests/pod-world.ts";
import { putWorker, workerDoc } from "../../tests/worker-doc.ts";
import { HealthCheck } from "../balancing/health-check.ts";
import { FakeClock } from "../kernel/clock.ts";
import { because, type Reason, saying, withPlacesHidden } from "../kernel/reason.ts";
import { hideFolder } from "../kernel/tellable.ts";
import { StartRefused } from "../ports/compute/compute.ts";
import { exitsAfter } from "../ports/compute/fake-options.ts";

const DATA = "/srv/very-telling/data";
const TELLING = /telling/;
hideFolder(DATA);

/** Makes an error like Node's own. */
const systemError = (code: string, words: string, syscall: string) =>
  Object.assign(new Error(`${code}: ${words}, ${syscall} '${DATA}/instances/x'`), { code, syscall });
const programError = Object.assign(new Error(`Command failed: mkfs ${DATA}/volumes/v`), {
  ...{ code: 1, cmd: `/sbin/mkfs ${DATA}/volumes/v` },
});

const failures: [string, Error, RegExp][] = [
  ["a permission failure", systemError("EACCES", "permission denied", "mkdir"), /permission denied/],
  ["a full disk", systemError("ENOSPC", "no space left on device", "write"), /no space left on device/],
  ["a program of the server", programError, /'mkfs' failed/],
  ["words of the driver", new Error(`cannot mount ${DATA}/volumes/v: no room`), /cannot mount .*: no room/],
  ["a refusal", new StartRefused(`'${DATA}/in x' may not be used`), /the server's data folder may not be used/],
];

describe.each(failures)("%s", (_, error, words) => {
  test("shows in a worker's reason and its jobs' wait reason, on every surface, without the folder", async () => {
    await using world = await setupFleet();
    world.compute.fail("start", error);
    const job = await world.submit();
    await world.settle();
    const { workers } = (await world.call("GET", `/v2/serverless/${world.endpoint}/workers`)).json;
    const { waitReason } = await world.status(job);
    for (const reason of [workers[0].reason, waitReason]) expect(reason).toMatch(words);
    const shown = [workers, waitReason, await world.health(), await world.log(workers[0].id), await world.records()];
    shown.push((await world.call("GET", `/v1/endpoints/${world.endpoint}?includeWorkers=true`)).json);
    expect(JSON.stringify(shown)).not.toMatch(TELLING);
  });

  test("shows in a Pod's status reason without the folder", async () => {
    await using world = await setupPods();
    world.compute.fail("start", error);
    const { id } = await world.create();
    const pod = await world.pod(id);
    expect(pod).toMatchObject({ status: "ERROR", statusReason: expect.stringMatching(words) });
    const shown = [pod, await world.log(id), (await world.call("GET", `/v1/pods/${id}`)).json];
    expect(JSON.stringify(shown)).not.toMatch(TELLING);
  });
});

test("the last lines of a program are told without the folder, be they of a worker or of a Pod", async () => {
  const machine = { behaviour: exitsAfter(0, 7, [`cannot open ${DATA}/instances/x/scratch`]) };
  await using fleet = await setupFleet({ machine });
  await fleet.submit();
  await fleet.settle();
  await fleet.pass(1);
  const { workers } = (await fleet.call("GET", `/v2/serverless/${fleet.endpoint}/workers`)).json;
  expect(workers[0].reason).toBe("exit 7, last lines: cannot open the server's data folder");
  await using pods = await setupPods({ machine });
  const { id } = await pods.create();
  await pods.pass(1);
  expect((await pods.pod(id)).statusReason).toMatch(/^exit 7, last lines: cannot open the server's data folder/);
});

test("what a health check says of a worker that is not reached is told without the folder", async () => {
  const clock = new FakeClock();
  const dial = () => Promise.reject(new Error(`connect EACCES ${DATA}/instances/x/socket`));
  const { promise: said, resolve } = Promise.withResolvers<string>();
  const listener = { ready: () => {}, failed: ({ text }: Reason) => resolve(text), ailing: resolve };
  using _check = new HealthCheck(clock, { dial, healthPort: 80, healthPath: "/ping" }, listener);
  expect(await said).toBe("GET /ping on port 80: connect EACCES the server's data folder");
});

describe("what was recorded earlier", () => {
  const reason = saying("boot-failed", "boot failed: cannot write /srv/an-earlier-place/disk");

  test("of workers, jobs and Pods is shown without the folder", async () => {
    await using world = await setupJobs();
    const { endpoint: owner } = world;
    const account = world.owner.account;
    const doc = workerDoc({ owner, state: "FAILED", machine: "m1", failedAt: 1, reason });
    await putWorker(world.services.workerRecords, { id: "w1", account, createdAt: 0, doc });
    const hindrance = { kind: "unhealthy", since: 0, reason } as const;
    const hindered = workerDoc({ owner, state: "READY", machine: "m1", hindrance });
    const pod = await putPod(world, { status: "ERROR", reason });
    hideFolder("/srv/an-earlier-place");
    const list = async () => (await world.call("GET", `/v2/serverless/${owner}/workers`)).json.workers;
    expect(await list()).toMatchObject([{ reason: "boot failed: cannot write the server's data folder" }]);
    const shown = [await list(), (await world.call("GET", `/v2/pods/${pod}`)).json];
    shown.push((await world.call("GET", `/v1/pods/${pod}`)).json);
    await putWorker(world.services.workerRecords, { id: "w2", account, createdAt: 0, doc: hindered });
    shown.push(await list());
    expect(JSON.stringify(shown)).toContain("the server's data folder");
    expect(JSON.stringify(shown)).not.toContain("earlier-place");
  });

  test("as data is shown without the folder, and so are its facts", () => {
    const kept = saying("boot-failed", "at /srv/a-later-place/disk", { path: "/srv/a-later-place/disk" });
    hideFolder("/srv/a-later-place");
    const told = [withPlacesHidden(kept), because("crash-loop", { cause: kept.code, failures: 2 }, kept)];
    expect(JSON.stringify(told)).not.toContain("later-place");
    expect(withPlacesHidden(null)).toBeNull();
  });
});
