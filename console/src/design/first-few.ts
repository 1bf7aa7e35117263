/** Draws a list a few rows at a time when it is first shown. */
import { useEffect, useState } from "react";

/** Rows of the first drawing, and of each further one until all that are in sight are there. */
const FEW = 7;

/**
 * A slow machine shows the page with a few rows and takes clicks already while it draws the others. What comes into sight later is drawn at
 * once. Only for rows that leave each other and their columns where they are.
 */
export function useFirstFew<Item>(items: readonly Item[]): readonly Item[] {
  const [most, setMost] = useState(FEW);
  const isAll = most >= items.length;
  useEffect(() => {
    if (items.length === 0 || most === Number.POSITIVE_INFINITY) return;
    if (isAll) return setMost(Number.POSITIVE_INFINITY);
    // Not within the task that drew the others.
    const timer = setTimeout(() => setMost(most + FEW));
    return () => clearTimeout(timer);
  }, [items.length, isAll, most]);
  return isAll ? items : items.slice(0, most);
}
