/** The host driver opened for a test, on a data folder and a program folder of its own. */
import { chmod, copyFile, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { realClock } from "../../kernel/clock.ts";
import { silentLog } from "../../kernel/log.ts";
import { realRandom } from "../../kernel/random.ts";
import { type OpenedCompute, reachAt } from "../../ports/compute/conformance-world.ts";
import { APP } from "../../ports/compute/mount-paths.ts";
import { SpanLinks } from "../machine/span-links.ts";
import { bridgeName } from "./bridge-network.ts";
import { HostCompute, type HostOptions } from "./host-compute.ts";
import { keyOf } from "./host-options.ts";
import { groupsLeftBy, remainsOf } from "./remains.ts";
import { spanNames } from "./span-names.ts";

const PROGRAM = join(import.meta.dirname, "../../ports/compute/conformance-program.mjs");

export interface HostWorld extends OpenedCompute {
  compute: HostCompute;
  data: string;
  /** The folder that programs see as `/app`. */
  app: string;
  reopen(more?: Partial<HostOptions>): Promise<HostCompute>;
}

/** The driver of a machine that others reach at this address. They trust its network. */
export async function openHostAt(address: string, port: number): Promise<HostWorld> {
  const data = await mkdtemp(join(tmpdir(), "millrace-data-"));
  const names = spanNames(join(data, "instances"));
  const spans = await SpanLinks.open({ ...names, address, port, trusts: ["0.0.0.0/0"] });
  return openHost({ spans }, data);
}

export async function openHost(more: Partial<HostOptions> = {}, given?: string): Promise<HostWorld> {
  const data = given ?? (await mkdtemp(join(tmpdir(), "millrace-data-")));
  const app = await mkdtemp(join(tmpdir(), "millrace-app-"));
  await copyFile(PROGRAM, join(app, "program.mjs"));
  await chmod(app, 0o755);
  await chmod(join(app, "program.mjs"), 0o644);
  const open = (changed: Partial<HostOptions> = {}) => HostCompute.open({ ...hostDefaults(data), ...more, ...changed });
  let compute = await open();
  const folder = compute.facts.sandbox ? APP : app;
  return {
    compute,
    data,
    app,
    program: (steps) => ({ image: `host:${app}`, entrypoint: ["node"], cmd: ["program.mjs", JSON.stringify(steps)] }),
    command: (steps) => ["node", join(folder, "program.mjs"), JSON.stringify(steps)],
    folder,
    disk: compute.facts.sandbox ? "/tmp" : app,
    reach: (outside) => reachAt(compute.link.host, outside),
    smallestVolumeMb: 320,
    missingImage: "host:/nowhere/at/all",
    async reopen(changed) {
      await compute[Symbol.asyncDispose]();
      compute = await open(changed);
      return compute;
    },
    remains: (id) => remainsOf(id, data),
    groupsLeft: async () => [
      ...(await groupsLeftBy(bridgeName(keyOf(join(data, "instances")).key))),
      ...(await readdir(join(data, "instances", ".networks")).catch(() => [])),
    ],
    pass: async () => {},
    async [Symbol.asyncDispose]() {
      // Runs even when a test failed early, since remaining programs would run for ever.
      await compute[Symbol.asyncDispose]();
      compute = await open();
      for (const { id } of await compute.list()) await compute.remove(id);
      for (const { id } of await compute.volumeFolders.list()) await compute.volumeFolders.remove(id);
      await compute[Symbol.asyncDispose]();
      await Promise.all([data, app].map((folder) => rm(folder, { recursive: true, force: true })));
    },
  };
}

export const hostDefaults = (data: string): HostOptions => ({
  folder: join(data, "instances"),
  volumes: join(data, "volumes"),
  clock: realClock,
  random: realRandom,
  log: silentLog,
  gpus: "virtual",
  gpuTypes: ["NVIDIA L4"],
  isOnlyHere: true,
  unsandboxed: false,
  writableApp: false,
  library: join(import.meta.dirname, "../../../../worker"),
  watchdogS: 60,
  egress: { reachable: ["198.51.100.2/32"], doors: [], nameServers: [] },
  output: { program: 12_000_000, machine: 1_000_000_000 },
});
