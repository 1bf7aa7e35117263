/** Network policies: instances reach the internet and the server, members of a group reach each other, and nobody else reaches any. */
import { isIPv4 } from "node:net";
import { SPECIAL_IPV4, SPECIAL_IPV6 } from "../../kernel/addresses.ts";
import type { Egress } from "../../ports/compute/egress.ts";
import { label, podName } from "./kube-objects.ts";

/** Whom a policy means: Pods by labels, or addresses. */
export type Peer = Readonly<Record<string, unknown>>;

interface Whose {
  installation: string;
  namespace: string;
}

const DNS = [
  { protocol: "UDP", port: 53 },
  { protocol: "TCP", port: 53 },
];
/** Where clusters with a name server on each node have it. */
const NODE_DNS = "169.254.20.10/32";

const policy = (name: string, { installation, namespace }: Whose, labels: Record<string, string>, spec: object) => ({
  apiVersion: "networking.k8s.io/v1",
  kind: "NetworkPolicy",
  metadata: { name, namespace, labels: { [label.installation]: installation, ...labels } },
  spec,
});

const tcp = (port: number) => ({ protocol: "TCP", port });
const block = (range: string) => ({ ipBlock: { cidr: range } });
const exactly = (address: string) => block(`${address}/${isIPv4(address) ? 32 : 128}`);

export const instancesPolicyName = (installation: string) => `millrace-${installation}-instances`;

/** Where the server itself is, and the ports at which instances reach it. Other things may run beside it, such as its database. */
export interface ServerPeers {
  peers: readonly Peer[];
  ports?: readonly number[] | undefined;
}

/** Holds for every instance. */
export function instancesPolicy(
  whose: Whose,
  { reachable, doors, nameServers }: Egress,
  { peers, ports = [] }: ServerPeers,
) {
  const internet = [
    { ipBlock: { cidr: "0.0.0.0/0", except: SPECIAL_IPV4 } },
    { ipBlock: { cidr: "::/0", except: SPECIAL_IPV6 } },
  ];
  return policy(
    instancesPolicyName(whose.installation),
    whose,
    {},
    {
      podSelector: { matchLabels: { [label.installation]: whose.installation } },
      policyTypes: ["Ingress", "Egress"],
      ingress: peers.length > 0 ? [{ from: peers }] : [],
      egress: [
        { to: [...internet, ...reachable.map(block)] },
        ...(peers.length > 0 && ports.length > 0 ? [{ to: peers, ports: ports.map(tcp) }] : []),
        ...doors.map(({ address, port }) => ({ to: [exactly(address)], ports: [tcp(port)] })),
        {
          to: [
            { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "kube-system" } } },
            block(NODE_DNS),
            ...nameServers.map(exactly),
          ],
          ports: DNS,
        },
      ],
    },
  );
}

export const groupPolicyName = (key: string) => `millrace-group-${key}`;

/** Policies add up, so this one allows what the first one does not. */
export function groupPolicy(whose: Whose, key: string) {
  const members = { podSelector: { matchLabels: { [label.group]: key } } };
  return policy(
    groupPolicyName(key),
    whose,
    { [label.group]: key },
    {
      ...members,
      policyTypes: ["Ingress", "Egress"],
      ingress: [{ from: [members] }],
      egress: [{ to: [members] }],
    },
  );
}

/** Lets anybody reach the published ports of an instance. */
export const publishedPolicy = (whose: Whose, id: string, ports: readonly number[]) =>
  policy(
    podName(id),
    whose,
    { [label.part]: id },
    {
      podSelector: { matchLabels: { [label.installation]: whose.installation, [label.instance]: id } },
      policyTypes: ["Ingress"],
      ingress: [{ ports: ports.map(tcp) }],
    },
  );
