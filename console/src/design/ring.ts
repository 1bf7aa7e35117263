/** Which row each element of a long list shows. */

/** The rows from `first` on, in the order of their elements, of which number `turn` comes first. Row 7 of 5 elements is in element 2, always. */
export function ring(first: number, count: number, turn: number): number[] {
  return Array.from({ length: count }, (_, place) => {
    const element = (turn + place) % count;
    return first + ((element - (first % count) + count) % count);
  });
}
