/** What everyone gets from a Pod, even without root: it runs, answers, outlives its server, and leaves nothing after its end. */
import { chmod, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { stay } from "../src/kernel/clock.ts";
import { askHost } from "./pod-application.ts";
import { podLines } from "./pod-lines.ts";
import { freePort } from "./postgres-server.ts";
import { temporaryFolder } from "./process.ts";
import { LOOK_MS, type ServerPlace, serverPlace } from "./worker-place.ts";

/** Prints its secret, and answers on its HTTP port with its process id. */
const PROGRAM = `
console.log("the token is " + process.env.TOKEN);
const answer = (request, response) => response.end(process.pid + " " + request.url);
require("node:http").createServer(answer).listen(Number(process.env.PORT), "127.0.0.1", () => console.log("listening"));
`;

async function until(at: ServerPlace, id: string, status: string): Promise<{ status: string; statusReason: string }> {
  for (;;) {
    const { json } = await at.call("GET", `/v2/pods/${id}`);
    if (json.status === status) return json;
    if (json.status === "ERROR") throw new Error(json.statusReason);
    await stay(LOOK_MS);
  }
}

test("a Pod runs with its secret, answers, outlives kill -9 of its server, stops, starts, and leaves nothing", async ({
  onTestFailed,
}) => {
  await using app = await temporaryFolder();
  await writeFile(join(app.path, "pod.cjs"), PROGRAM);
  // The program runs as another user, and this process may make files that only its own user can read.
  await chmod(join(app.path, "pod.cjs"), 0o644);
  await chmod(app.path, 0o755);
  const program = { image: `host:${app.path}`, cmd: ["node", "pod.cjs"] };
  await using at = await serverPlace({ program, onFailure: onTestFailed });
  await at.call("POST", "/v2/account/secrets", { name: "token", value: "one" });
  // Without root the Pod shares the machine's network, so the port must be free.
  const port = await freePort();
  const env = { PORT: String(port), TOKEN: "{{ MILLRACE_SECRET_token }}" };
  const made = await at.call("POST", "/v2/pods", {
    ...{ name: "promise", ...program, env, ports: [`${port}/http`], cpu: { id: "cpu3c", vcpuCount: 2 } },
  });
  expect([made.status, made.status === 201 ? "" : made.text]).toEqual([201, ""]);
  const { id } = made.json;
  const left = async () => (await readdir(at.data, { recursive: true })).filter((name) => name.includes(id));
  // Pods outlive their server, so the Pod of a failed test would stay.
  await using _pod = {
    async [Symbol.asyncDispose]() {
      await at.call("DELETE", `/v2/pods/${id}`);
      while ((await left()).length > 0) await stay(LOOK_MS);
    },
  };
  const headers = { "X-Millrace-Key": at.key };
  const ask = async () =>
    (await askHost(at.server.url, `${id}-${port}.localhost`, { path: "/x", headers })).text.split(" ");

  expect(await podLines(at, id, /^the token is|^listening/, 2)).toEqual(["the token is one", "listening"]);
  const [pid, path] = await ask();
  expect(path).toBe("/x");
  await at.restart("SIGKILL");
  await until(at, id, "RUNNING");
  expect(await ask()).toEqual([pid, "/x"]);

  expect((await at.call("POST", `/v2/pods/${id}/action`, { action: "stop" })).status).toBe(200);
  await until(at, id, "EXITED");
  expect((await at.call("POST", `/v2/pods/${id}/action`, { action: "start" })).status).toBe(200);
  await podLines(at, id, /^listening/, 2);
  expect((await at.call("DELETE", `/v2/pods/${id}`)).status).toBe(204);
});
