/** A worker holds jobs under its own name within its endpoint, so that it cannot speak for workers of other endpoints. */

export function holderName(endpoint: string, worker: string): string {
  return `${endpoint}/${worker}`;
}

/** Returns the worker's name within its endpoint. */
export function workerOf(holder: string): string {
  return holder.slice(holder.indexOf("/") + 1);
}
