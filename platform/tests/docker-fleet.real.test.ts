/** Workers that the server starts in real containers: scaled, killed, recovered, frozen, and ended. */
import { afterAll, beforeAll, describe, expect, inject, type TestContext, test } from "vitest";
import { containerName, label } from "../src/adapters/docker/container.ts";
import { EngineApi } from "../src/adapters/docker/engine-api.ts";
import { stay } from "../src/kernel/clock.ts";
import { expectCalls } from "./calling.ts";
import { importImage, startEngine } from "./docker-engine.ts";
import { CREDENTIAL, startRegistry } from "./image-registry.ts";
import { SMALL_WORKER, TEST_IMAGE } from "./real-docker.ts";
import {
  expectBackOff,
  isOver,
  LOOK_MS,
  type ServerPlace,
  serverPlace,
  submit,
  TRIES,
  untilClaimsAreWritten,
} from "./worker-place.ts";

interface Listed {
  Id: string;
  State: string;
}

async function dockerPlace(onFailure: TestContext["onTestFailed"], socket = inject("dockerSocket")) {
  const engine = new EngineApi(socket);
  const program = { image: TEST_IMAGE, cmd: [SMALL_WORKER] };
  const at = await serverPlace({ program, env: { MILLRACE_DOCKER: socket }, onFailure });
  return Object.assign(at, {
    engine,
    /** The containers of the endpoint's workers, including ended ones. */
    containers: (endpoint: string) =>
      engine.call<Listed[]>("GET", "/containers/json", {
        query: { all: true, filters: { label: [`${label.owner}=${endpoint}`] } },
      }),
  });
}
type DockerPlace = Awaited<ReturnType<typeof dockerPlace>>;

async function untilContainers(
  at: DockerPlace,
  endpoint: string,
  fits: (found: Listed[]) => boolean,
): Promise<Listed[]> {
  for (let tries = 0; ; tries++) {
    const found = await at.containers(endpoint);
    if (fits(found)) return found;
    if (tries === TRIES) throw new Error(`the containers are not as expected: ${JSON.stringify(found)}`);
    await stay(LOOK_MS);
  }
}

/**
 * Long enough that a worker on a busy machine reads the answer to its poll in time. Otherwise it would lose the job, as any worker would.
 */
const POLL_MS = 10_000;

const isRunning = ({ status }: { status: string }) => status === "IN_PROGRESS";

const untilAll = (at: ServerPlace, endpoint: string, jobs: string[], fits: (record: { status: string }) => boolean) =>
  Promise.all(jobs.map((job) => at.until(endpoint, job, fits)));

const submitMany = (at: ServerPlace, endpoint: string, count: number, input: object) =>
  Promise.all(Array.from({ length: count }, () => submit(at, endpoint, input)));

const jobCounts = async (at: ServerPlace, endpoint: string) =>
  (await at.call("GET", `/v2/${endpoint}/health`)).json.jobs;

describe.concurrent("on one server", () => {
  let at: DockerPlace;
  const showLog = () => console.log(at.server.log());
  beforeAll(async () => {
    at = await dockerPlace(() => {});
  });
  afterAll(() => at[Symbol.asyncDispose]());

  test("ten jobs at once are shared by as many workers as may be, which leave no container when they are idle", async ({
    onTestFailed,
  }) => {
    onTestFailed(showLog);
    const scaling = { type: "QUEUE_DELAY", queueDelay: 0.5 };
    const endpoint = await at.endpoint({ workers: { max: 3, idleTimeout: 1 }, scaling });
    // No job finishes before the third worker has one, however late that is.
    const jobs = await submitMany(at, endpoint, 10, { together: 3 });
    const ended = await untilAll(at, endpoint, jobs, isOver);
    expect(ended.map(({ status }) => status)).toEqual(jobs.map(() => "COMPLETED"));
    expect(new Set(ended.map(({ workerId }) => workerId)).size).toBe(3);
    await untilContainers(at, endpoint, (found) => found.length === 0);
  });

  test("a worker calls another endpoint of its account, and nothing else, as long as it lives", async ({
    onTestFailed,
  }) => {
    onTestFailed(showLog);
    await expectCalls(at);
  });

  test("kill -9 of a worker in mid job: it runs again elsewhere, and the third death fails it with the reason", async ({
    onTestFailed,
  }) => {
    onTestFailed(showLog);
    const endpoint = await at.endpoint();
    const job = await submit(at, endpoint, { stuckOnce: true });
    const first = await at.until(endpoint, job, isRunning);
    await at.engine.call("POST", `/containers/${containerName(first.workerId)}/kill`, { query: { signal: "KILL" } });
    const ended = await at.until(endpoint, job, isOver);
    expect(ended).toMatchObject({ status: "COMPLETED", retries: 1 });
    expect(ended.workerId).not.toBe(first.workerId);
    expect(await jobCounts(at, endpoint)).toMatchObject({ completed: 1, retried: 1 });
    const deadly = await submit(at, endpoint, { die: true });
    expect(await at.until(endpoint, deadly, isOver)).toMatchObject({
      status: "FAILED",
      error: expect.stringMatching(/SIGKILL.*given up after 3 attempts/),
    });
    expect(await jobCounts(at, endpoint)).toMatchObject({ failed: 1, retried: 3 });
  });

  test("a handler that exits at start: the job says so with its last lines within seconds, and starts back off", async ({
    onTestFailed,
  }) => {
    onTestFailed(showLog);
    const endpoint = await at.endpoint({ env: { EXIT_AT_START: "7" } });
    const job = await submit(at, endpoint);
    const { waitReason } = await at.until(endpoint, job, (record) => /^crash loop/.test(record.waitReason));
    expect(waitReason).toBe("crash loop: exit 7, last lines: no such model");
    await expectBackOff(at, endpoint);
  });

  test("a private image is pulled with the endpoint's registry, and the job says why not without one", async ({
    onTestFailed,
  }) => {
    onTestFailed(showLog);
    await using registry = await startRegistry();
    const { id } = (await at.call("POST", "/v2/registries", { name: "private", ...CREDENTIAL })).json;
    const endpoint = await at.endpoint({ image: registry.image, cmd: [] });
    const job = await submit(at, endpoint);
    await at.until(endpoint, job, ({ waitReason }) => /cannot pull.*auth/i.test(waitReason));
    await at.call("PATCH", `/v2/serverless/${endpoint}`, { registry: id });
    await at.until(endpoint, job, ({ waitReason }) => /last lines: pulled/.test(waitReason));
    expect(at.server.log()).not.toContain(CREDENTIAL.password);
  });

  test("a worker that was frozen for longer than its own timer for a poll loses no job", async ({ onTestFailed }) => {
    onTestFailed(showLog);
    const workers = { max: 1, idleTimeout: 1 };
    const endpoint = await at.endpoint({ flashboot: "FLASHBOOT", workers, env: { TAKE_TIMEOUT_MS: String(POLL_MS) } });
    await untilAll(at, endpoint, [await submit(at, endpoint)], isOver);
    const [before] = await untilContainers(at, endpoint, ([one]) => one?.State === "paused");
    await stay(POLL_MS + 300);
    const jobs = await submitMany(at, endpoint, 5, {});
    const ended = await untilAll(at, endpoint, jobs, isOver);
    expect(ended.map(({ output }) => output.begun).sort()).toEqual([2, 3, 4, 5, 6]);
    expect(await jobCounts(at, endpoint)).toMatchObject({ completed: 6, retried: 0 });
    expect(await at.containers(endpoint)).toMatchObject([{ Id: before!.Id }]);
  });
});

test.concurrent("kill -9 of the server while jobs run: workers are recovered, and each job is committed once", async ({
  onTestFailed,
}) => {
  await using at = await dockerPlace(onTestFailed);
  const endpoint = await at.endpoint({ workers: { min: 2, max: 2 } });
  const jobs = await submitMany(at, endpoint, 2, { together: 2, ms: 4000 });
  const begun = await untilAll(at, endpoint, jobs, isRunning);
  const before = await at.containers(endpoint);
  await untilClaimsAreWritten(at, endpoint);
  await at.restart("SIGKILL");
  const ended = await untilAll(at, endpoint, jobs, isOver);
  expect(ended.map(({ status, workerId }) => [status, workerId])).toEqual(
    begun.map(({ workerId }) => ["COMPLETED", workerId]),
  );
  expect((await at.containers(endpoint)).map(({ Id }) => Id)).toEqual(before.map(({ Id }) => Id));
  expect(await jobCounts(at, endpoint)).toMatchObject({ completed: 2, retried: 0 });
  expect(await at.server.end("SIGTERM")).toBe(0);
  expect(await at.containers(endpoint)).toEqual([]);
});

test.concurrent.for([
  { what: "keeps its containers", keepsContainers: true, retried: 0 },
  { what: "ends its containers", keepsContainers: false, retried: 2 },
])(
  "kill -9 of an engine that $what while jobs run: none is lost, and nobody else's container is touched",
  async ({ keepsContainers, retried }, { onTestFailed }) => {
    await using engine = await startEngine({ apart: true, keepsContainers });
    await importImage(engine, TEST_IMAGE);
    await using at = await dockerPlace(onTestFailed, engine.socket);
    const shell = ["--init", "--network", "none", "--entrypoint", "/bin/sh", TEST_IMAGE];
    const alien = await engine.docker("run", "--detach", "--name", "alien", ...shell, "-c", "sleep 1000");
    const endpoint = await at.endpoint({ workers: { min: 2, max: 2 } });
    // The jobs that should be lost do not finish before that, however long the engine takes to come back.
    const jobs = await submitMany(at, endpoint, 2, retried > 0 ? { stuckOnce: true } : { together: 2, ms: 5000 });
    await untilAll(at, endpoint, jobs, isRunning);
    await engine.kill();
    jobs.push(...(await submitMany(at, endpoint, 4, {})));
    await engine.start();
    const ended = await untilAll(at, endpoint, jobs, isOver);
    expect(ended.map(({ status }) => status)).toEqual(jobs.map(() => "COMPLETED"));
    expect(await jobCounts(at, endpoint)).toMatchObject({ completed: jobs.length, retried });
    const state = await engine.docker("inspect", "--format", "{{.Id}} {{.State.Status}}", "alien");
    // Without live-restore the engine itself ends all of its containers.
    expect(state).toBe(`${alien} ${keepsContainers ? "running" : "exited"}`);
  },
);
