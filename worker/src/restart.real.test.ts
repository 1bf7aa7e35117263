/** A worker survives the death of its server: results finished meanwhile arrive when the server is back. */
import { expect, test } from "vitest";
import { millrace, ownerKey, startServer, temporaryFolder } from "../../platform/tests/process.ts";
import { start } from "./main.ts";

test("ask 14: a result finished while the server was dead arrives after its restart, once", async () => {
  await using data = await temporaryFolder();
  const args = ["--rate-limits", "off"];
  const first = await startServer(data.path, { args });
  const key = await ownerKey(data.path);
  const body = { name: "q", image: "host", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
  const { json: endpoint } = await first.call("POST", "/v2/serverless", { key, body });
  const env = await millrace(data.path, "worker-env", endpoint.id, "--url", first.url);
  const begun = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  const runs: string[] = [];
  const away = Promise.withResolvers<void>();
  const worker = start({
    env,
    args: [],
    signals: false,
    concurrency: 2,
    log: () => away.resolve(),
    async handler(job) {
      runs.push(job.id);
      begun.resolve();
      await go.promise;
      return `attempt ${job.attempt}`;
    },
  });
  const { json: job } = await first.call("POST", `/v2/${endpoint.id}/run`, { key, body: { input: {} } });
  await begun.promise;
  await first.end("SIGKILL");
  await away.promise;
  go.resolve();
  await using second = await startServer(data.path, { args: [...args, "--port", new URL(first.url).port] });
  const ended = await second.call("GET", `/v2/${endpoint.id}/status-sync/${job.id}`, { key });
  expect(ended.json).toMatchObject({ status: "COMPLETED", output: "attempt 1" });
  expect(runs).toEqual([job.id]);
  await worker.stop();
});
