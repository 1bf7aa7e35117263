/** A list as the groups that its items stand in, such as GPU types in pools. */

export interface Grouped {
  /** Undefined where the items stand for themselves: they have no group, or are scattered. */
  group: string | undefined;
  members: string[];
}

/** In the order of the list. Items of one group that do not follow each other stand for themselves. */
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
