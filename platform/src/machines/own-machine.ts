/** What a node runs workers on, and what it tells them of it. */
import type { Compute } from "../ports/compute/compute.ts";
import type { WorkerSite } from "../resources/endpoints/worker-env.ts";

export interface OwnMachine {
  id: string;
  compute: Compute;
  /** Where workers of an image reach this server; asked once the image is prepared. */
  workerUrl: (image: string) => string | Promise<string>;
  site: WorkerSite;
  /** Why nothing new is begun here, such as a full disk; undefined when nothing is in the way. */
  refusal?: () => string | undefined;
}
