/** Groups of the fake driver: addresses that nobody really has. */
import type { InstanceSpec } from "./compute.ts";
import type { FakeInstance } from "./fake-instance.ts";
import { checkFellows, checkMembership, groupKey, namesOf, RangeTaken } from "./groups.ts";

const keyOf = ({ account, group }: InstanceSpec) => group && groupKey(account, group);

/** One that nobody of any group has: each group has a range of its own, and none of those that strangers use. */
export function chooseAddress(
  spec: InstanceSpec,
  members: readonly FakeInstance[],
  strangers: ReadonlySet<string>,
): string {
  const group = spec.group!;
  checkMembership(group);
  const fellows = members.filter((one) => keyOf(one.spec) === keyOf(spec));
  checkFellows(
    group,
    fellows.map((one) => one.spec.group!),
  );
  if (group.at) {
    const { range, address } = group.at;
    const isOthers = members.some((one) => one.spec.group!.at?.range === range && !fellows.includes(one));
    if (isOthers || strangers.has(range)) throw new RangeTaken(range);
    return address;
  }
  const lastOf = (address: string) => Number(address.split(".")[3]);
  const ranges = new Set(members.map(({ address }) => Number(address!.split(".")[2])));
  const range = fellows[0]?.address?.split(".")[2] ?? [...Array(256).keys()].find((n) => !ranges.has(n));
  return `10.0.${range}.${1 + Math.max(0, ...fellows.map(({ address }) => lastOf(address!)))}`;
}

/** The member that an address or a name means to an instance. */
export function reachedIn(
  from: FakeInstance,
  members: readonly FakeInstance[],
  host: string,
): FakeInstance | undefined {
  const fellows = members.filter(({ spec }) => from.spec.group && keyOf(spec) === keyOf(from.spec));
  return fellows.find(({ address, spec }) => address === host || namesOf(spec.group!).includes(host));
}
