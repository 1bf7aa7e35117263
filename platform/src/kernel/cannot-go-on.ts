/** The one kind of failure that ends the process: the state in memory can no longer be trusted, and nothing here can repair it. */
export class CannotGoOn extends Error {}

/**
 * Throws in a microtask of its own, so that no caller takes it for the failure of a request. The process's last guard then shuts down in
 * order.
 */
export function cannotGoOn(reason: string, cause: unknown): void {
  queueMicrotask(() => {
    throw new CannotGoOn(reason, { cause });
  });
}
