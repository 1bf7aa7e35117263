/** A worker and an account open more connections than the server may have files. Others notice nothing, and the server goes on. */
import { once } from "node:events";
import { chmod, writeFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { expect, onTestFailed, test } from "vitest";
import { launcher, millrace, ownerKey, startServer, temporaryFolder } from "../process.ts";

const DESCRIPTORS = 500;
const OPENED = 700;

test(`of ${DESCRIPTORS} descriptors, ${OPENED} connections of one account leave enough for others`, async () => {
  await using folder = await temporaryFolder();
  const command = join(folder.path, "limited");
  await writeFile(command, `#!/bin/sh\nulimit -n ${DESCRIPTORS}\nexec ${launcher} "$@"\n`);
  await chmod(command, 0o755);
  const data = join(folder.path, "data");
  await using server = await startServer(data, { command, env: { MILLRACE_LOG_LEVEL: "warn" } });
  onTestFailed(() => console.log(server.log().slice(-3000)));
  const owner = await ownerKey(data);
  const { key: stranger } = await millrace(data, "accounts", "create", "stranger");
  const body = { name: "e", image: "host", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
  const endpoint = (await server.call("POST", "/v2/serverless", { key: owner, body })).json.id as string;
  const { MILLRACE_WORKER_KEY: worker } = await millrace(data, "worker-env", endpoint);
  const othersAreServed = async (when: string) => {
    for (let i = 0; i < 20; i++) {
      const ask = () => server.call("GET", "/v2/serverless", { key: stranger });
      // The server may close an idle connection at the moment it is used again. The client then asks once more.
      const { status } = await ask()
        .catch(ask)
        .catch((error: Error) => ({ status: `${error.cause}` }));
      expect([when, status]).toEqual([when, 200]);
    }
  };
  const requests: Record<string, (i: number) => string> = {
    "one worker's questions": () => get(`/v2/${endpoint}/job-stop/w1?gpu=none`, worker),
    "questions in the names of many workers": (i) => get(`/v2/${endpoint}/job-stop/w${i}?gpu=none`, worker),
    "requests that wait": () => post(`/v2/${endpoint}/runsync`, owner, '{"input":{}}'),
    "bodies that never end": () => post(`/v2/${endpoint}/runsync`, owner, '{"input":', 1000),
    "headers that never end": () => "GET / HTTP/1.1\r\nX-Slow: ",
    "strangers' keys": () => get(`/v2/${endpoint}/job-stop/w1?gpu=none`, "rpa_0123456789abcdef"),
    "nothing at all": () => "",
  };
  for (const [what, text] of Object.entries(requests)) {
    const opened = await openAll(server.url, text);
    await othersAreServed(`with ${what}`);
    const answers = new Set(opened.flatMap(({ status }) => status ?? []));
    // A request that waits begins its answer with 200.
    for (const answer of answers) expect(["200", "401", "408", "429", "503"], what).toContain(answer);
    for (const { socket } of opened) socket.destroy();
    await othersAreServed(`after ${what}`);
  }
  expect(server.process.exitCode).toBeNull();
  const accepted = await server.call("POST", `/v2/${endpoint}/run`, { key: owner, body: { input: {} } });
  expect(accepted.status).toBe(200);
});

const get = (path: string, key: string) => `GET ${path} HTTP/1.1\r\nHost: h\r\nAuthorization: ${key}\r\n\r\n`;

const post = (path: string, key: string, body: string, length = body.length) =>
  `POST ${path} HTTP/1.1\r\nHost: h\r\nAuthorization: ${key}\r\nContent-Length: ${length}\r\n\r\n${body}`;

interface Opened {
  socket: Socket;
  /** The status of the answer, if there was one. */
  status?: string;
}

async function openAll(url: string, text: (i: number) => string): Promise<Opened[]> {
  return Promise.all(
    Array.from({ length: OPENED }, async (_, i) => {
      const socket = connect(Number(new URL(url).port), "127.0.0.1").on("error", () => {});
      const opened: Opened = { socket };
      socket.setEncoding("utf8").on("data", (answer: string) => {
        opened.status ??= /^HTTP\/1\.1 (\d+)/.exec(answer)?.[1];
      });
      await Promise.race([once(socket, "connect"), once(socket, "close")]);
      socket.write(text(i));
      return opened;
    }),
  );
}
