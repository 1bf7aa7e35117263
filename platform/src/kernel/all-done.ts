/** Work that is done side by side, for whoever undoes it when a part fails: nothing of it is still under way then. */
export async function allDone(work: readonly (Promise<unknown> | undefined)[]): Promise<void> {
  await Promise.allSettled(work);
  await Promise.all(work);
}
