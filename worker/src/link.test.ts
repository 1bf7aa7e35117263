/** The connection to the server when the server closes connections, and which requests are made at all. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { idle } from "../../platform/tests/idle.ts";
import type { Clock } from "./clock.ts";
import { Link } from "./link.ts";
import { start } from "./main.ts";

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const JOB = `${JSON.stringify({ id: "job", attempt: 1, input: {} })}\n`;

/** A clock whose timers never end, so that nothing is repeated after a pause. */
const still: Clock = { monotonic: () => 0, after: () => ({ cancel: () => undefined }) };

/** A server that gives each request the next of these answers, and the last one to all others. */
async function serving(...answers: Answer[]) {
  const server = createServer((request, response) => {
    request.resume();
    request.once("end", () => (answers.length > 1 ? answers.shift()! : answers[0]!)(request, response));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

const nothing: Answer = (_, response) => void response.writeHead(204).end();
const aJob: Answer = (_, response) => void response.end(JOB);
const closes: Answer = ({ socket }) => void socket.destroy();

const linkTo = (url: string) =>
  new Link({ endpointUrl: `${url}/v2/ep`, worker: "w", key: "key", pingIntervalMs: 10_000 }, still);

test("a request on a kept connection that turns out to be closed is sent again at once on another one", async () => {
  await using server = await serving(nothing, closes, aJob);
  const link = linkTo(server.url);
  expect(await link.exchange("", 1, true)).toEqual([]);
  expect(await link.exchange("", 1, true)).toMatchObject([{ id: "job" }]);
  link.close();
});

test("a report that meets a closed connection is not sent again at once, since there may be a newer one", async () => {
  await using server = await serving(nothing, closes, aJob);
  const link = linkTo(server.url);
  await link.exchange("", 1, true);
  await expect(link.exchange("job 1 {}\n", 1, true)).rejects.toThrow("socket hang up");
  link.close();
});

test("a request on a new connection that is closed is not sent again at once", async () => {
  let asked = 0;
  await using server = await serving((request, response) => {
    asked++;
    closes(request, response);
  });
  const link = linkTo(server.url);
  await expect(link.exchange("", 1, true)).rejects.toThrow("socket hang up");
  expect(asked).toBe(1);
  link.close();
});

test("a worker asks for work first, and which jobs to stop only while it runs some", async () => {
  const asked: string[] = [];
  const waiting = Promise.withResolvers<ServerResponse>();
  const stopping = Promise.withResolvers<void>();
  await using server = await serving((request, response) => {
    const [, route] = /\/(job-\w+|ping)\//.exec(request.url!)!;
    asked.push(route!);
    if (route === "job-exchange") waiting.resolve(response);
    else if (route === "job-stop") stopping.resolve();
    else nothing(request, response);
  });
  const env = {
    MILLRACE_URL: server.url,
    MILLRACE_ENDPOINT_ID: "ep",
    MILLRACE_WORKER_ID: "w",
    MILLRACE_WORKER_KEY: "k",
  };
  const ended = Promise.withResolvers<void>();
  start({ handler: () => ended.promise, env, args: [], signals: false, clock: still, log: () => {} });
  const response = await waiting.promise;
  await idle();
  expect(asked).toEqual(["job-exchange"]);
  response.end(JOB);
  await stopping.promise;
});
