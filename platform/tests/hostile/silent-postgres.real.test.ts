/** PostgreSQL stays connected but is silent: callers get an error in time, nothing is reported missing, and nothing is done twice. */
import { expect, onTestFailed, test } from "vitest";
import { cuttableProxy } from "../cuttable-proxy.ts";
import { freshDatabase } from "../database.ts";
import { millrace, ownerKey, startServer, temporaryFolder } from "../process.ts";

const SUBMITTED = Array.from({ length: 30 }, (_, i) => `key-${i}`);

test("while PostgreSQL is silent every request is answered with 503, and afterwards all is as it was", async () => {
  await using folder = await temporaryFolder();
  await using database = await freshDatabase();
  await using proxy = await cuttableProxy(database.url);
  const env = { MILLRACE_DATABASE_URL: proxy.url, MILLRACE_DATABASE_TIMEOUT_S: "4", MILLRACE_LOG_LEVEL: "warn" };
  await using server = await startServer(folder.path, { env });
  onTestFailed(() => console.log(server.log().slice(-3000)));
  const key = await ownerKey(folder.path);
  const create = async (type: string) => {
    const body = { name: type, type, image: "host", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
    return (await server.call("POST", "/v2/serverless", { key, body })).json.id as string;
  };
  const [queue, app] = [await create("QUEUE"), await create("LOAD_BALANCER")];
  const place = { data: folder.path, database: database.url };
  const { MILLRACE_WORKER_KEY: worker } = await millrace(place, "worker-env", queue);
  const submit = (name: string) =>
    server.call("POST", `/v2/${queue}/run`, { key, body: { input: {} }, headers: { "idempotency-key": name } });
  expect((await submit("before")).status).toBe(200);

  proxy.silence();
  const asked = () => [
    ...SUBMITTED.map(submit),
    ...[`/v2/serverless/${queue}`, `/v2/serverless/${app}`, "/v2/serverless", `/v2/${queue}/health`].map((path) =>
      server.call("GET", path, { key }),
    ),
    server.call("GET", `/v2/${app}/hello`, { key }),
    server.call("GET", `/v2/${queue}/job-take/w1?gpu=none`, { key: worker }),
    server.call("PATCH", `/v2/serverless/${queue}`, { key, body: { name: "renamed" } }),
  ];
  // The first round may use what the server remembers for a second; the second cannot.
  for (let round = 0; round < 2; round++) {
    const answers = await Promise.all(asked());
    for (const { status, text } of answers)
      expect([status, text]).toEqual([503, expect.stringMatching(/database|remembered/)]);
  }

  proxy.speak();
  const again = await Promise.all(SUBMITTED.map(async (name) => untilDone(() => submit(name))));
  expect(new Set(again.map(({ json }) => json.id)).size).toBe(SUBMITTED.length);
  const { json } = await untilDone(() => server.call("GET", `/v2/${queue}/requests?limit=100`, { key }));
  expect(json.requests).toHaveLength(SUBMITTED.length + 1);
  expect((await server.call("GET", `/v2/serverless/${app}`, { key })).status).toBe(200);

  proxy.silence();
  expect(await server.end("SIGTERM")).toBe(0);
});

async function untilDone<T extends { status: number; text: string }>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    const answer = await ask();
    if (answer.status === 200) return answer;
    expect([answer.status, answer.text]).toEqual([503, expect.any(String)]);
  }
}
