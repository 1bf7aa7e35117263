/** Divides a list into the groups of its items, such as GPU types into pools. */

export interface Grouped {
  /** Undefined if the items have no group, or if their group is scattered over the list. */
  group: string | undefined;
  members: string[];
}

/** Keeps the order of the list. If the items of a group are not all next to each other, they are not grouped. */
export function grouped(items: readonly string[], groupOf: (item: string) => string | undefined): Grouped[] {
  const runs: Grouped[] = [];
  for (const item of items) {
    const group = groupOf(item);
    const last = runs.at(-1);
    if (last && group !== undefined && last.group === group) last.members.push(item);
    else runs.push({ group, members: [item] });
  }
  const times = (group: string | undefined) => runs.filter((run) => run.group === group).length;
  const scattered = new Set(runs.filter(({ group }) => times(group) > 1).map(({ group }) => group));
  return runs.map((run) => (scattered.has(run.group) ? { ...run, group: undefined } : run));
}
