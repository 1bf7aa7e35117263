/** What of a text can be seen, and so typed again. */

/** Names may have line breaks, which no field takes, spaces in a row, which look like one, and signs of no width. */
export const seenText = (text: string): string =>
  text
    .normalize()
    .replace(/\p{Cf}/gu, "")
    .replace(/\s+/g, " ")
    .trim();
