/** A world with one load-balancing endpoint, whose workers are HTTP servers in this process. */
import { createServer, type RequestListener, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { type Duplex, duplexPair } from "node:stream";
import { type Answer, type CallOptions, setup, type World } from "./world.ts";

export interface BalancedWorker {
  id: string;
  server: Server;
  /** The open connections to the worker. */
  open: Set<Duplex>;
  /** How often a connection was opened. */
  dialled: number;
  /** The worker ends at once, and the balancer is told why. */
  die(reason?: string): void;
}

export interface BalancedWorld extends World {
  endpoint: string;
  /** Calls the endpoint in the path form. */
  ask(method: string, path: string, options?: CallOptions): Promise<Answer>;
  /** Begins a request on a connection of its own, which the test can write to or destroy. */
  begin(method: string, path: string, headers?: string[]): Socket;
  /** Adds a ready worker with its application. Drivers usually dial sockets, but promise only a plain stream. */
  worker(id: string, app: RequestListener, options?: { over?: "sockets" | "streams"; ready?: boolean }): BalancedWorker;
}

export interface BalancedOptions {
  domain?: string;
  corsOrigins?: string;
  env?: Record<string, string>;
  requestCount?: number;
  /** Whether requests of `ask` are read at the plain door or by Node's parser. */
  readBy?: ReadBy;
}

export type ReadBy = "the plain door" | "Node";
export const READ_BY: readonly ReadBy[] = ["the plain door", "Node"];

export async function setupBalanced({
  domain,
  corsOrigins,
  env,
  requestCount = 4,
  readBy = "the plain door",
}: BalancedOptions = {}): Promise<BalancedWorld> {
  const world = await setup({ domain, corsOrigins });
  const body = {
    name: "app",
    image: "host:/app",
    type: "LOAD_BALANCER",
    cpu: [{ id: "cpu3c", vcpuCount: 2 }],
    scaling: { type: "REQUEST_COUNT", requestCount },
    ...(env ? { env } : {}),
  };
  // A connection that has brought a request to Node stays there, so it is not used again.
  const created = await world.call("POST", "/v2/serverless", { body, headers: { connection: "close" } });
  if (created.status !== 201) throw new Error(`the endpoint was not made: ${created.text}`);
  const endpoint = created.json.id as string;
  const servers: Server[] = [];
  return {
    ...world,
    endpoint,
    ask: (method, path, options) =>
      world.call(method, `/v2/${endpoint}${path}`, {
        ...options,
        // This header is passed on to nobody, and is not plain.
        headers: { ...(readBy === "Node" && { te: "trailers" }), ...options?.headers },
      }),
    begin(method, path, headers = []) {
      const socket = connect(Number(new URL(world.url).port), "127.0.0.1");
      const lines = [`${method} /v2/${endpoint}${path} HTTP/1.1`, "Host: h", `Authorization: ${world.key}`, ...headers];
      socket.write(`${lines.join("\r\n")}\r\n\r\n`);
      return socket;
    },
    worker(id, app, { over = "sockets", ready = true } = {}) {
      const { balancer } = world.app;
      const server = createServer(app);
      servers.push(server);
      if (over === "sockets") server.listen(0);
      const worker: BalancedWorker = {
        id,
        server,
        open: new Set(),
        dialled: 0,
        die(reason = "exit 137") {
          for (const connection of worker.open) connection.destroy();
          server.close();
          balancer.remove(endpoint, id, reason);
        },
      };
      const dial = async () => {
        worker.dialled++;
        const connection = over === "sockets" ? await socketTo(server) : streamTo(server);
        worker.open.add(connection);
        connection.once("close", () => worker.open.delete(connection));
        return connection;
      };
      balancer.add(endpoint, { worker: id, dial });
      if (ready) balancer.ready(endpoint, id);
      return worker;
    },
    async [Symbol.asyncDispose]() {
      await world[Symbol.asyncDispose]();
      for (const server of servers) {
        server.closeAllConnections();
        server.close();
      }
    },
  };
}

function socketTo(server: Server): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const address = server.address() as AddressInfo | null;
    if (!address) return reject(new Error("connect ECONNREFUSED"));
    const socket = connect(address.port, "127.0.0.1", () => resolve(socket));
    socket.once("error", reject);
  });
}

function streamTo(server: Server): Duplex {
  const [near, far] = duplexPair();
  near.once("close", () => far.destroy());
  far.once("close", () => near.destroy());
  server.emit("connection", far);
  return near;
}
