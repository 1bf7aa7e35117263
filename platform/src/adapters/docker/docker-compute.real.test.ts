/** The Docker driver keeps the port's promises on a real engine. */
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, inject } from "vitest";
import { dockerProgram, openDriver, TEST_VOLUMES } from "../../../tests/docker-world.ts";
import { CREDENTIAL, startRegistry } from "../../../tests/image-registry.ts";
import { realClock, stay } from "../../kernel/clock.ts";
import { realRandom } from "../../kernel/random.ts";
import { computeConformance } from "../../ports/compute/compute.conformance.ts";
import { bring, type OpenedCompute, reachAt, type TestRegistry } from "../../ports/compute/conformance-world.ts";
import { Devices } from "../../ports/compute/devices.ts";
import { spansConformance } from "../../ports/compute/spans.conformance.ts";
import { openHostAt } from "../host/host-world.ts";
import { linkNames } from "../machine/links.ts";
import { SpanLinks } from "../machine/span-links.ts";
import { VolumeFolders } from "../machine/volume-folders.ts";
import { VolumeImages } from "../machine/volume-images.ts";
import { containerName, label } from "./container.ts";
import { EngineApi } from "./engine-api.ts";

const GPUS = [0, 1, 2].map((n) => ({ id: `virtual-${n}`, type: "NVIDIA L4", virtual: true }));

/**
 * Each test has an installation of its own, since it would otherwise hear of other tests' instances. A network takes 50 ms to create, so
 * later tests reuse installations.
 */
const installations: string[] = [];
let made = 0;

async function openDocker(given: { installation?: string; spans?: SpanLinks } = {}): Promise<OpenedCompute> {
  const installation = given.installation ?? installations.pop() ?? `conformance${++made}`;
  const folder = join(TEST_VOLUMES, installation);
  const found = await VolumeImages.open(folder);
  const images = "cannot" in found ? undefined : found;
  const volumes = () => new VolumeFolders({ folder, images, clock: realClock, random: realRandom });
  const open = () => openDriver(installation, { devices: new Devices(GPUS), volumes: volumes(), spans: given.spans });
  let compute = await open();
  return {
    compute,
    program: dockerProgram,
    openRegistry,
    command: (steps) => ["node", "/conformance-program.mjs", JSON.stringify(steps)],
    folder: "/",
    disk: "",
    reach: (outside) => reachAt(compute.link.host, outside),
    smallestVolumeMb: 320,
    missingImage: "127.0.0.1:9/no/image:1",
    async reopen() {
      await compute[Symbol.asyncDispose]();
      compute = await open();
      return compute;
    },
    remains: async (id) => [...(await containersOf(id)), ...(await processesOf(id))],
    groupsLeft: async () => groupNetworksOf(installation),
    pass: stay,
    async [Symbol.asyncDispose]() {
      await compute[Symbol.asyncDispose]();
      installations.push(installation);
    },
  };
}

async function openRegistry(): Promise<TestRegistry> {
  const registry = await startRegistry();
  return {
    credential: CREDENTIAL,
    put: registry.put,
    program: (image) => ({ image, entrypoint: [], cmd: [] }),
    leave: registry.stop,
    [Symbol.asyncDispose]: () => registry[Symbol.asyncDispose](),
  };
}

async function groupNetworksOf(installation: string): Promise<string[]> {
  const filters = { label: [`${label.installation}=${installation}`, label.group] };
  const engine = new EngineApi(inject("dockerSocket"));
  return (await engine.call<{ Name: string }[]>("GET", "/networks", { query: { filters } })).map(({ Name }) => Name);
}

async function containersOf(id: string): Promise<string[]> {
  const query = { all: true, filters: { name: [`^/${containerName(id)}$`] } };
  const engine = new EngineApi(inject("dockerSocket"));
  const found = await engine.call<{ Id: string }[]>("GET", "/containers/json", { query });
  return found.map(({ Id }) => `container ${Id}`);
}

/** The engine puts the container's host name into the environment of each of its processes. */
async function processesOf(id: string): Promise<string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid) => {
      const environment = await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "");
      return environment.split("\0").includes(`HOSTNAME=${id}`) ? [`process ${pid}`] : [];
    }),
  );
  return found.flat();
}

afterAll(() => rm(TEST_VOLUMES, { recursive: true, force: true }));

computeConformance("DockerCompute", () => openDocker());

/** Docker gives a range to one network alone, so the other machine is one of programs. */
async function openBoth(): Promise<readonly [OpenedCompute, OpenedCompute]> {
  const prefix = "mrd0c4e7";
  const links = { prefix, table: "millrace_docker_spans", address: "127.0.0.2", port: 17_453, trusts: ["0.0.0.0/0"] };
  const docker = await openDocker({ installation: "conformancespans", spans: await SpanLinks.open(links) });
  await bring(docker.compute, docker.program([]).image);
  const ofSpans = async () => [...(await linkNames())].filter((name) => name.startsWith(prefix));
  const { groupsLeft: networksLeft } = docker;
  const groupsLeft = async () => [...(await networksLeft()), ...(await ofSpans())];
  return [await openHostAt("127.0.0.1", 17_443), Object.assign(docker, { groupsLeft })];
}

spansConformance("DockerCompute", openBoth);
