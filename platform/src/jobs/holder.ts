/** The name under which a worker holds jobs: its own, within its endpoint, so that no endpoint's workers can speak for another's. */

export function holderName(endpoint: string, worker: string): string {
  return `${endpoint}/${worker}`;
}

/** The worker as its endpoint knows it. */
export function workerOf(holder: string): string {
  return holder.slice(holder.indexOf("/") + 1);
}
