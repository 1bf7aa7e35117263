/** `docker run` as people use it: with a network, as programs of Millrace have one. */
import type { GivenEngine } from "../../platform/tests/docker-engine.ts";

const NETWORK = "bare";

/** Returns the command that runs an image. The engine of the tests has no network of its own, so it gets one. */
export async function bareDocker({ docker, socket }: GivenEngine): Promise<[string, ...string[]]> {
  await docker("network", "create", NETWORK);
  return ["docker", "-H", `unix://${socket}`, "run", "--rm", "--init", "--network", NETWORK];
}
