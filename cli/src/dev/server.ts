/** The server of `millrace dev`: a whole Millrace in this process, with a data folder of its own. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";
import type { ApiClient } from "../api.ts";
import type { Project } from "./project.ts";

export interface DevServerOptions {
  data?: string | undefined;
  port?: string | undefined;
  logLevel?: string | undefined;
  readable: readonly string[];
}

export interface DevServer extends AsyncDisposable {
  url: string;
  key: string;
  data: string;
  /** A link that signs a person in to the console, once. */
  signInLink: string | undefined;
}

const USUAL_PORT = 7420;
const HASH_DIGITS = 8;

/**
 * Each project has a data folder in the home of its developer. It cannot be in the project, since programs see the whole project and must
 * not see keys.
 */
function dataFolderOf({ folder, name }: Project): string {
  const hash = createHash("sha256").update(folder).digest("hex").slice(0, HASH_DIGITS);
  return join(homedir(), ".millrace-dev", `${name}-${hash}`);
}

export const loadServer = () => import("@millrace/platform/main.ts");

export async function startDevServer(project: Project, options: DevServerOptions): Promise<DevServer> {
  const { ownerKeyFile, processSettings, serve } = await loadServer();
  const { data = dataFolderOf(project), port = String(await freePort()), logLevel = "error", readable } = options;
  const given = processSettings({ data, port, logLevel });
  const settings = {
    ...given,
    hostReadable: [...new Set([...(given.hostReadable ?? []), ...readable])],
    // These may belong to another installation, which a developer's experiments must not touch.
    ...{ databaseUrl: undefined, databaseUrlFile: undefined, apiKey: undefined, workerUrl: undefined },
    ...{ publicUrl: undefined, nodeUrl: undefined, host: "127.0.0.1", sshPort: "off" as const },
  };
  const server = await serve(settings);
  const key = (await readFile(ownerKeyFile(settings), "utf8")).trim();
  const signInLink = await server.makeSignInLink();
  return { url: server.url, key, data, signInLink, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

/** The usual port, or any other while that one is taken. */
async function freePort(): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const server = createServer();
  server.once("error", () => resolve(0));
  server.listen(USUAL_PORT, "127.0.0.1", () => server.close(() => resolve(USUAL_PORT)));
  return promise;
}

/** A server leaves its Pods running when it ends. `millrace dev` leaves nothing. */
export async function stopPods(client: ApiClient): Promise<void> {
  const { pods } = (await client.call({ method: "GET", path: "/v2/pods" })) as {
    pods: { id: string; actions?: string[] }[];
  };
  const running = pods.filter(({ actions }) => actions?.includes("stop"));
  await Promise.all(
    running.map(({ id }) =>
      client.call({ method: "POST", path: `/v2/pods/${id}/action` }, { body: { action: "stop" } }),
    ),
  );
}
