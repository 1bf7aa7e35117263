/** Work that nobody waits for: its failure is reported, and never ends the process. */
export function floating(work: Promise<unknown>, failed: (error: unknown) => void): void {
  work.catch(failed);
}
