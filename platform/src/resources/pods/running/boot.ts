/** Builds the instance of a Pod: its container with the variables, secrets and limits of this boot. */
import type { Site } from "../../../machines/own-machine.ts";
import type { InstanceSpec, Mount } from "../../../ports/compute/compute.ts";
import { plainPath } from "../../../ports/compute/mount-paths.ts";
import type { Publish } from "../../../ports/compute/publish.ts";
import { type ClusterNetwork, clusterVariables, membershipOf } from "../../clusters/network.ts";
import { computeVariables, hostName, underBothNames, type Variables } from "../../container/variables.ts";
import { type Reveal, resolveEnv } from "../../secrets/placeholders.ts";
import type { PodInstance } from "../instance.ts";
import { type KeptPod, persistentVolume } from "../model.ts";
import { internalNames, NETWORK, portsOf } from "../ports.ts";
import type { PodItem } from "../records.ts";

export interface PodBoot {
  pod: PodItem;
  instance: PodInstance;
  /** The URL at which the Pod reaches the server. */
  url: string;
  /** The key with which the Pod asks about itself. */
  key: string;
  site: Site;
  /** The account's SSH keys, one per line; empty for none. */
  sshKeys: string;
  /** The cluster's network, for a member. */
  network?: ClusterNetwork | undefined;
}

/** Uses the current values of secrets. The message of a failure names what is missing. */
export async function podSpec(boot: PodBoot, reveal: Reveal): Promise<InstanceSpec> {
  const { pod, instance } = boot;
  const { doc } = pod;
  const { vcpu, memoryMb, gpuType, gpuCount, box } = instance.doc;
  const given = await resolveEnv(pod.account, doc.env, reveal);
  return {
    kind: "pod",
    account: pod.account,
    owner: pod.id,
    image: doc.image,
    entrypoint: doc.entrypoint,
    cmd: doc.cmd,
    env: withUserEnv(podEnv(boot), given),
    limits: { vcpu, memoryMb, diskGb: doc.disk },
    ...(gpuType !== null && { gpu: { type: gpuType, count: gpuCount } }),
    ...(box !== null && { box }),
    ports: portsOf(doc).flatMap(({ inside = [] }) => inside),
    publish: publishOf(doc),
    ...groupOf(boot),
    mounts: mountsOf(pod.id, doc),
  };
}

/** The group of the Pod's cluster, or of the account's Pods with global networking. */
function groupOf({ pod: { id, doc } }: PodBoot): Pick<InstanceSpec, "group"> {
  if (doc.cluster) return { group: membershipOf(doc.cluster) };
  return doc.globalNetworking ? { group: { id: NETWORK, name: id, fullNames: internalNames(id) } } : {};
}

/** Empty if ports cannot be published. */
function publishOf(doc: KeptPod): Publish[] {
  return portsOf(doc).flatMap(({ inside, outside }) =>
    inside === undefined || outside === undefined ? [] : [{ port: inside, outside }],
  );
}

function podEnv({ pod, instance, url, key, site, sshKeys, network }: PodBoot): Variables {
  const { id, doc } = pod;
  const ports = Object.entries(doc.publicPorts).map(([name, outside]) => [`TCP_PORT_${name}`, String(outside)]);
  return {
    MILLRACE_URL: url,
    ...underBothNames({
      POD_ID: id,
      POD_HOSTNAME: hostName(id),
      API_KEY: key,
      ...computeVariables(instance.doc),
      DC_ID: instance.doc.dataCenter || site.dataCenter,
      VOLUME_ID: doc.mounts.network?.[0]?.volumeId ?? "",
      PUBLIC_IP: doc.portsAt?.ip ?? site.publicIp,
      ...Object.fromEntries(ports),
    }),
    ...(doc.cluster && network && clusterVariables(doc.cluster, network)),
    ...(doc.startSsh && sshKeys !== "" && { PUBLIC_KEY: sshKeys }),
  };
}

/** A Pod's owner can override all other variables, but not those that tell the Pod who it is. */
const OURS = ["MILLRACE_POD_ID", "RUNPOD_POD_ID", "MILLRACE_URL"] as const;

function withUserEnv(ours: Variables, given: Readonly<Variables>): Variables {
  const fixed = Object.fromEntries(OURS.map((name) => [name, ours[name]!]));
  return { ...ours, ...given, ...fixed };
}

/** A path is kept as it was sent, but drivers get it without a slash at the end. */
function mountsOf(pod: string, { mounts }: KeptPod): Mount[] {
  const network = (mounts.network ?? []).map(({ volumeId, path }) => ({ volume: volumeId, path: plainPath(path) }));
  if (!mounts.persistent) return network;
  return [{ volume: persistentVolume(pod), path: plainPath(mounts.persistent.path) }, ...network];
}
