/** Two nodes on one PostgreSQL. One is frozen, then killed: the other reports it for its Pod within 15 s of its last beat. */
import { expect, test } from "vitest";
import { stay } from "../src/kernel/clock.ts";
import { apiKeyText } from "../src/kernel/ids.ts";
import { realRandom } from "../src/kernel/random.ts";
import { freshDatabase } from "./database.ts";
import { type Server, startServer, temporaryFolder } from "./process.ts";
import { LOOK_MS } from "./worker-place.ts";

const key = apiKeyText(realRandom);

async function until<T>(look: () => Promise<T>, isSo: (seen: T) => boolean): Promise<T> {
  for (;;) {
    const seen = await look();
    if (isSo(seen)) return seen;
    await stay(LOOK_MS);
  }
}

test("a Pod on a node that is frozen, heard of again, and killed is shown as what it is", async () => {
  await using database = await freshDatabase();
  await using one = await temporaryFolder();
  await using two = await temporaryFolder();
  const env = {
    MILLRACE_COMPUTE: "host",
    MILLRACE_API_KEY: key,
    MILLRACE_MASTER_KEY: Buffer.from(realRandom.bytes(32)).toString("base64"),
    MILLRACE_DATABASE_URL: database.url,
  };
  await using a = await startServer(one.path, { env });
  const body = { name: "box", image: "host", cmd: ["sleep", "600"], gpu: { id: "NVIDIA A40" } };
  const created = await a.call("POST", "/v2/pods", { key, body });
  expect([created.status, created.text]).toEqual([201, expect.anything()]);
  const { id } = created.json;
  const podOn = async (node: Server) => (await node.call("GET", `/v2/pods/${id}`, { key })).json;
  await until(
    () => podOn(a),
    ({ status }) => status === "RUNNING",
  );
  await using b = await startServer(two.path, { env });
  expect(await podOn(b)).toMatchObject({ status: "RUNNING", statusReason: null });

  a.process.kill("SIGSTOP");
  const lost = await until(
    () => podOn(b),
    ({ status }) => status !== "RUNNING",
  );
  expect(lost).toMatchObject({ status: "STARTING", statusReason: expect.stringContaining("has been silent since") });
  a.process.kill("SIGCONT");
  await until(
    () => podOn(b),
    ({ status }) => status === "RUNNING",
  );

  await a.end("SIGKILL");
  await until(
    () => podOn(b),
    ({ status }) => status === "STARTING",
  );
  const action = { action: "stop" };
  const stopped = (await b.call("POST", `/v2/pods/${id}/action`, { key, body: action })).json;
  expect(stopped.statusReason).toContain("stopped by its owner; waits for machine");
  const { nodes } = (await b.call("GET", "/v2/installation/nodes", { key })).json;
  expect(nodes.map(({ state }: { state: string }) => state).toSorted()).toEqual(["SILENT", "UP"]);
  // The machine is back, and does what was asked for meanwhile.
  await using _again = await startServer(one.path, { env });
  await until(
    () => podOn(b),
    ({ status }) => status === "EXITED",
  );
}, 240_000);
