/** How much memory the threads beside the main one may gather before they collect their garbage. */
import type { ResourceLimits } from "node:worker_threads";

/**
 * The memory of a helping thread. A server begins with a large young generation, for the requests of its main thread. Each other thread would
 * have one as large, and would fill it with garbage over hours. A third of this is one half of the young generation.
 */
export const THREAD_MEMORY: ResourceLimits = { maxYoungGenerationSizeMb: 12 };
