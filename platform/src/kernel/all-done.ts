/** Waits until every part has ended, and only then fails if one failed. A caller that undoes the work finds nothing still running. */
export async function allDone(work: readonly (Promise<unknown> | undefined)[]): Promise<void> {
  await Promise.allSettled(work);
  await Promise.all(work);
}
