/** Work on many things, of which only so many are under way at once. */

/** Rejects with the first failure; what was begun by then goes on, and nothing more is begun. */
export async function eachOf<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  const left = items.values();
  let hasFailed = false;
  const hand = async () => {
    for (const item of left) {
      if (hasFailed) return;
      try {
        await work(item);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, hand));
}
