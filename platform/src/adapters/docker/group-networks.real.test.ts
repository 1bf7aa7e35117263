/** Cluster networks on an engine that an earlier release has used, and on an engine from which somebody removed a network. */
import { expect, test } from "vitest";
import { dockerSpec, dockerWorld } from "../../../tests/docker-world.ts";
import { TEST_IMAGE } from "../../../tests/real-docker.ts";
import { linesOf, newId, type Step } from "../../ports/compute/conformance-world.ts";
import { groupKey } from "../../ports/compute/groups.ts";
import { addressesIn } from "../../ports/compute/network-ranges.ts";
import { containerName, groupNetworkName, label } from "./container.ts";

const PORT = 7_000;
const LISTENS: Step[] = [{ echoOn: PORT }];
const NAMES = ["node-0", "node-1"];

type World = Awaited<ReturnType<typeof dockerWorld>>;

const askFor = (id: string) => ({ account: "account", id, image: TEST_IMAGE, names: NAMES });
const networkOf = ({ installation }: World, id: string) => groupNetworkName(installation, groupKey("account", { id }));

/**
 * The network that the earlier release made for rank 0 of a cluster. It chose the addresses itself, and the network's labels did not name
 * its owner.
 */
async function leftByEarlierRelease(world: World, id: string, range: string): Promise<string> {
  const { installation, api } = world;
  const member = newId();
  const key = groupKey("account", { id });
  const ours = { [label.installation]: installation, [label.group]: key };
  const [address] = addressesIn(range, 1);
  const network = { Driver: "bridge", Internal: true, Labels: ours, IPAM: { Config: [{ Subnet: range }] } };
  await api.call("POST", "/networks/create", { body: { Name: networkOf(world, id), ...network } });
  const about = { [label.instance]: member, [label.kind]: "pod", [label.owner]: "pod", [label.account]: "account" };
  const seat = { [label.groupName]: "node-0", "millrace.group.range": range, [label.groupAddress]: address };
  const { cmd } = dockerSpec(LISTENS);
  const body = {
    ...{ Image: TEST_IMAGE, Cmd: cmd, Labels: { ...ours, ...about, ...seat } },
    HostConfig: { LogConfig: { Type: "local", Config: {} }, NetworkMode: networkOf(world, id) },
    NetworkingConfig: {
      EndpointsConfig: { [networkOf(world, id)]: { Aliases: ["node-0"], IPAMConfig: { IPv4Address: address } } },
    },
  };
  await api.call("POST", "/containers/create", { query: { name: containerName(member) }, body });
  await api.call("POST", `/containers/${containerName(member)}/start`);
  await linesOf(world.compute, member, { limit: 1 });
  return member;
}

test("members of an earlier release keep their addresses, others join them, and what follows is reserved", async () => {
  await using world = await dockerWorld();
  const { networks } = world.compute;
  const [id, range] = [newId(), "10.213.7.0/24"];
  const member = await leftByEarlierRelease(world, id, range);
  const told = { range, hosts: addressesIn(range, NAMES.length) };
  expect(await networks!.reserve({ ...askFor(id), range })).toEqual(told);
  const joins = newId();
  const steps: Step[] = [{ call: told.hosts[0]!, port: PORT }];
  await world.compute.start(joins, dockerSpec(steps, { group: { id, name: "node-1", isReserved: true } }));
  expect((await linesOf(world.compute, joins)).lines).toEqual(["reached"]);
  for (const one of [joins, member]) await world.compute.remove(one);
  expect(await networks!.reserve({ ...askFor(id), range })).toEqual(told);
  expect(await networks!.list()).toEqual([{ account: "account", id }]);
  await networks!.release(askFor(id));
});

test("a network that somebody took from the engine is reserved again, with the range that it had", async () => {
  await using world = await dockerWorld();
  const { networks } = world.compute;
  const id = newId();
  const told = await networks!.reserve(askFor(id));
  await world.api.call("DELETE", `/networks/${networkOf(world, id)}`);
  expect(await networks!.list()).toEqual([]);
  expect(await networks!.reserve({ ...askFor(id), range: told.range })).toEqual(told);
  await networks!.release(askFor(id));
});
