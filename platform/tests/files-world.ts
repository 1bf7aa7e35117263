/** A world with a network volume whose files a test asks for over REST, and writes as a program does. */
import { connect } from "node:net";
import type { MemoryFiles } from "../src/ports/files/memory-files.ts";
import { type FleetWorld, setupFleet } from "./fleet-world.ts";
import type { CallOptions } from "./world.ts";

export interface FilesWorld extends FleetWorld {
  volume: string;
  files: MemoryFiles;
  /** Below `/v2/network-volumes/{id}/files`. */
  ask(method: string, rest: string, options?: CallOptions): ReturnType<FleetWorld["call"]>;
  get(path: string, more?: string, headers?: Record<string, string>): ReturnType<FleetWorld["call"]>;
}

export async function setupFiles(): Promise<FilesWorld> {
  const world = await setupFleet();
  await world.pass(1);
  const body = { name: "v", size: 10, dataCenter: "EU-RO-1" };
  const volume = (await world.call("POST", "/v2/network-volumes", { body })).json.id as string;
  const files = (await world.compute.volumes!.files(volume)) as MemoryFiles;
  const ask: FilesWorld["ask"] = (method, rest, options) =>
    world.call(method, `/v2/network-volumes/${volume}/files${rest}`, options);
  const get: FilesWorld["get"] = (path, more = "", headers = {}) =>
    ask("GET", `/content?path=${encodeURIComponent(path)}${more}`, { headers });
  return { ...world, volume, files, ask, get };
}

export const put = (world: FilesWorld, path: string, body: string, more = "") =>
  world.ask("PUT", `/content?path=${encodeURIComponent(path)}${more}`, { body });

/** Sends the head of an upload, and as much of its body as is given. */
export function upload(world: FilesWorld, path: string, length: number, body = "", more = "") {
  const socket = connect(Number(new URL(world.url).port), "127.0.0.1");
  const { promise: answer, resolve } = Promise.withResolvers<string>();
  let text = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
    if (text.includes("\r\n\r\n")) resolve(text);
  });
  socket.on("close", () => resolve(text)).on("error", () => {});
  socket.write(
    `PUT /v2/network-volumes/${world.volume}/files/content?path=${path} HTTP/1.1\r\nHost: h\r\n` +
      `Authorization: Bearer ${world.key}\r\nContent-Length: ${length}\r\n${more}\r\n${body}`,
  );
  return { socket, answer };
}
