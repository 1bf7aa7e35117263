/** The world of the Docker driver's tests: drivers for separate installations, and programs for their containers. */

import { tmpdir } from "node:os";
import { join } from "node:path";
import { inject } from "vitest";
import { containerName } from "../src/adapters/docker/container.ts";
import { DockerCompute, type DockerOptions } from "../src/adapters/docker/docker-compute.ts";
import { EngineApi } from "../src/adapters/docker/engine-api.ts";
import { VolumeFolders } from "../src/adapters/machine/volume-folders.ts";
import { realClock } from "../src/kernel/clock.ts";
import { silentLog } from "../src/kernel/log.ts";
import { realRandom } from "../src/kernel/random.ts";
import type { InstanceSpec } from "../src/ports/compute/compute.ts";
import type { Step } from "../src/ports/compute/conformance-world.ts";
import { bring } from "../src/ports/compute/conformance-world.ts";
import { INTERNET_ALONE } from "../src/ports/compute/egress.ts";
import { TEST_IMAGE } from "./real-docker.ts";

/** The tests that make any remove them. */
export const TEST_VOLUMES = join(tmpdir(), `millrace-volumes-${process.pid}`);

export const dockerProgram = (steps: readonly Step[]): Pick<InstanceSpec, "image" | "entrypoint" | "cmd"> => ({
  image: TEST_IMAGE,
  entrypoint: [],
  cmd: ["/conformance-program.mjs", JSON.stringify(steps)],
});

export function dockerSpec(steps: readonly Step[], more: Partial<InstanceSpec> = {}): InstanceSpec {
  return {
    kind: "worker",
    account: "account",
    owner: "endpoint",
    ...dockerProgram(steps),
    env: {},
    limits: { vcpu: 1, memoryMb: 256, diskGb: 1 },
    ports: [],
    ...more,
  };
}

/** A program for BusyBox's shell. */
export const shell = (script: string, more: Partial<InstanceSpec> = {}): InstanceSpec =>
  dockerSpec([], { entrypoint: ["/bin/sh", "-c"], cmd: [script], ...more });

export const openDriver = (installation: string, more: Partial<DockerOptions> = {}): Promise<DockerCompute> =>
  DockerCompute.open({
    addresses: [inject("dockerSocket")],
    installation,
    volumes: new VolumeFolders({ folder: TEST_VOLUMES, clock: realClock, random: realRandom }),
    egress: INTERNET_ALONE,
    clock: realClock,
    log: silentLog,
    ...more,
  });

let installations = 0;

/** A driver of a new installation. Everything that it started is removed with it. */
export async function dockerWorld(more: Partial<DockerOptions> = {}) {
  const installation = `test${process.pid}x${++installations}`;
  const compute = await openDriver(installation, more);
  await bring(compute, TEST_IMAGE);
  const api = new EngineApi(more.addresses?.[0] ?? inject("dockerSocket"));
  return {
    installation,
    compute,
    api,
    /** The container of an instance, as the engine describes it. */
    // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects, and fails when it is not there
    inspect: (id: string) => api.call<any>("GET", `/containers/${containerName(id)}/json`),
    async [Symbol.asyncDispose]() {
      await Promise.all((await compute.list()).map(({ id }) => compute.remove(id)));
      await compute[Symbol.asyncDispose]();
      await api.call("DELETE", `/networks/millrace-${installation}`).catch(() => {});
    },
  };
}
