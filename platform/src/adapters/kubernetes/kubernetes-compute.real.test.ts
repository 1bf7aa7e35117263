/** The Kubernetes driver keeps the port's promises on a real cluster. */
import { rm } from "node:fs/promises";
import { afterAll } from "vitest";
import { CREDENTIAL, startRegistry } from "../../../tests/image-registry.ts";
import {
  groupsLeft,
  kubernetesProgram,
  MACHINE,
  NODE,
  openApi,
  openDriver,
  remainsOf,
  SHARED,
} from "../../../tests/kubernetes-world.ts";
import { stay } from "../../kernel/clock.ts";
import { computeConformance } from "../../ports/compute/compute.conformance.ts";
import { type OpenedCompute, reachAt, type TestRegistry } from "../../ports/compute/conformance-world.ts";
import { volumesConformance } from "../../ports/compute/volumes.conformance.ts";
import type { KubernetesOptions } from "./kubernetes-options.ts";

/** Each test has an installation of its own, since it would otherwise hear of other tests' instances. Later tests reuse them. */
const installations: number[] = [];
let made = 0;

async function openKubernetes(more: Partial<KubernetesOptions> = {}): Promise<OpenedCompute> {
  const number = installations.pop() ?? made++;
  const installation = `conformance-${process.pid}-${number}`;
  const api = openApi();
  const open = () => openDriver(installation, { gpuResource: `millrace.test/gpu-${number}`, ...more });
  let compute = await open();
  return {
    compute,
    program: kubernetesProgram,
    openRegistry,
    command: (steps) => ["node", "/conformance-program.mjs", JSON.stringify(steps)],
    folder: "/",
    disk: "",
    reach,
    smallestVolumeMb: 1,
    missingImage: "millrace.test/none:1",
    async reopen() {
      await compute[Symbol.asyncDispose]();
      compute = await open();
      return compute;
    },
    remains: (id) => remainsOf(api, id),
    groupsLeft: () => groupsLeft(api, installation),
    pass: stay,
    async [Symbol.asyncDispose]() {
      await compute[Symbol.asyncDispose]();
      api[Symbol.dispose]();
      installations.push(number);
    },
  };
}

/** A node opens its port a moment after the program listens. */
async function reach(outside: number) {
  for (let tries = 1; ; tries++) {
    try {
      return await reachAt(NODE, outside);
    } catch (error) {
      if (tries >= 10 || (error as NodeJS.ErrnoException).code !== "ECONNREFUSED") throw error;
      await stay(300);
    }
  }
}

const ports = new Set(Array.from({ length: 16 }, (_, n) => 5001 + n));

/** At an address that the nodes reach, and at one of the ports that they ask without TLS. */
async function openRegistry(): Promise<TestRegistry> {
  const [port] = ports;
  ports.delete(port!);
  const registry = await startRegistry({ at: `${MACHINE}:${port}` });
  return {
    credential: CREDENTIAL,
    put: registry.put,
    program: (image) => ({ image, entrypoint: [], cmd: [] }),
    leave: registry.stop,
    async [Symbol.asyncDispose]() {
      await registry[Symbol.asyncDispose]();
      ports.add(port!);
    },
  };
}

afterAll(() => rm(SHARED, { recursive: true, force: true }));

computeConformance("KubernetesCompute", () => openKubernetes());
volumesConformance("KubernetesCompute with a claim for each volume", () =>
  openKubernetes({ volumes: { storageClass: "millrace-test", sharedClass: "millrace-test-shared" } }),
);
