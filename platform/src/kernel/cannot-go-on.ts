/** The one kind of failure that ends the process: what is in memory can no longer be trusted, and nobody can repair it here. */
export class CannotGoOn extends Error {}

/** Thrown where nobody can take it for the failure of a request: the last guard hears of it, and ends the process in order. */
export function cannotGoOn(reason: string, cause: unknown): void {
  queueMicrotask(() => {
    throw new CannotGoOn(reason, { cause });
  });
}
