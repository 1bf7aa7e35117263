/** Rows of names and values, as a form shows a map while somebody types it. */

export type MapRow = readonly [name: string, content: string];

/** Why a row would be lost: a map has each name once, and no value without one. */
export function faultOfRow(rows: readonly MapRow[], index: number): string | undefined {
  const [name, content] = rows[index]!;
  if (name === "") return content === "" ? undefined : "A value needs a name.";
  return rows.findIndex(([other]) => other === name) < index ? `${name} is there twice.` : undefined;
}
