/** Two servers on one store. The workers of a load-balancing endpoint run on the first's machine, and on the second's if it has one. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { WebSocketServer } from "ws";
import type { FakeInstance } from "../src/ports/compute/fake-instance.ts";
import type { FakeCan } from "../src/ports/compute/fake-options.ts";
import { MemoryLogs } from "../src/ports/logs/memory-logs.ts";
import { MemorySignals } from "../src/ports/signals/memory-signals.ts";
import { type FleetWorld, setupFleet } from "./fleet-world.ts";
import { type Answer, type CallOptions, setup, type World } from "./world.ts";

export interface Held {
  worker: string;
  request: IncomingMessage;
  response: ServerResponse;
}

export interface NodeWorld extends AsyncDisposable {
  /** Has the workers, and plans. */
  first: FleetWorld;
  /** Has a machine only if asked for. */
  second: World;
  endpoint: string;
  /** Calls the endpoint through the second server. */
  ask(path?: string, options?: CallOptions & { method?: string }): Promise<Answer>;
  /** The requests to `/slow` that reached workers. */
  held: Held[];
  reached(count: number): Promise<void>;
  /** From now on, health checks are answered with this status. */
  answerHealth(status: number): void;
  pass(seconds: number): Promise<void>;
}

/** With `each`, both nodes have a machine with room for one worker. */
export async function setupNodes(
  endpoint: object = {},
  { each = false, can = {} }: { each?: boolean; can?: Partial<FakeCan> } = {},
): Promise<NodeWorld> {
  const held: Held[] = [];
  const application = { health: 200, noticed: () => {} };
  // The two servers hear each other at once, but also check by themselves.
  const signals = Object.defineProperty(new MemorySignals(), "reliable", { value: false });
  const machine = {
    behaviour: (instance: FakeInstance) => serve(instance, held, application),
    can,
    ...(each ? { capacity: { vcpu: 2 } } : {}),
  };
  const first = await setupFleet({
    signals,
    endpoint: { type: "LOAD_BALANCER", scaling: { type: "REQUEST_COUNT", requestCount: 1 }, ...endpoint },
    machine: { name: "first", ...machine },
  });
  const beside = { signals, store: first.store, found: { ...first, logs: new MemoryLogs() } };
  const second = each
    ? await setupFleet({ ...beside, endpoint: first.endpoint, machine: { name: "second", ...machine } })
    : await setup({ ...beside, machine: "second" });
  await first.pass(1);
  return {
    first,
    second,
    endpoint: first.endpoint,
    held,
    ask: (path = "/quick", { method = "GET", ...options } = {}) =>
      second.call(method, `/v2/${first.endpoint}${path}`, options),
    async reached(count) {
      while (held.length < count) await new Promise<void>((resolve) => (application.noticed = resolve));
    },
    answerHealth(status) {
      application.health = status;
    },
    pass: (seconds) => first.pass(seconds),
    async [Symbol.asyncDispose]() {
      await second[Symbol.asyncDispose]();
      await first[Symbol.asyncDispose]();
    },
  };
}

function serve(instance: FakeInstance, held: Held[], application: { health: number; noticed: () => void }): void {
  const server = createServer((request, response) => {
    if (request.url === "/ping") return void response.writeHead(application.health).end();
    if (request.url === "/echo") return void request.pipe(response);
    if (request.url === "/quick") return void response.end(instance.id);
    held.push({ worker: instance.id, request, response });
    application.noticed();
  });
  const sockets = new WebSocketServer({ noServer: true });
  server.on("upgrade", (request, socket, head) =>
    sockets.handleUpgrade(request, socket, head, (client) =>
      client.on("message", (data, isBinary) => client.send(data, { binary: isBinary })),
    ),
  );
  instance.listen(80, (connection) => server.emit("connection", connection));
}
