/** Quotes a text as one word for a shell. */
export const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
