/** A worker that writes as much output as it can. */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { stay } from "../../../src/kernel/clock.ts";
import type { Scene, Stage } from "../stage.ts";

const FLOOD_MS = 2000;
const LOOK_MS = 50;
/** The disk space that the settings allow one program, plus the files that are kept with it. */
const MOST_BYTES = 13 * 1024 * 1024;

export const scenes: Scene[] = [
  {
    name: "a worker floods its output in every way there is",
    async attack(stage) {
      const endpoint = await stage.hostileEndpoint("flood", { workers: { min: 1, max: 1 } });
      const worker = await arrival(stage, endpoint);
      await stay(FLOOD_MS);
      const bytes = await bytesOf(join(stage.data, "instances", worker));
      if (bytes > MOST_BYTES) throw new Error(`${bytes} bytes of its output are on the disk`);
      await stage.remove(endpoint);
    },
  },
];

/** The worker whose folder exists. */
async function arrival({ data, hostile }: Stage, endpoint: string): Promise<string> {
  for (let tries = 0; tries < 200; tries++) {
    const { workers } = (await hostile.call("GET", `/v2/serverless/${endpoint}/workers`)).json;
    const there = await readdir(join(data, "instances"));
    const found = workers.find(({ id }: { id: string }) => there.includes(id));
    if (found) return found.id;
    await stay(LOOK_MS);
  }
  throw new Error("the hostile worker never began");
}

async function bytesOf(folder: string): Promise<number> {
  const stats = await Promise.all(
    (await readdir(folder)).map((name) => stat(join(folder, name)).catch(() => undefined)),
  );
  return stats.reduce((sum, one) => sum + Math.max(one?.size ?? 0, (one?.blocks ?? 0) * 512), 0);
}
