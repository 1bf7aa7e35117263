/** Enforces network policies on the nodes of the test cluster, since Debian has no network plugin that does. */
import { spawn } from "node:child_process";
import { isIPv4 } from "node:net";
import { KubeApi } from "../../platform/src/adapters/kubernetes/kube-api.ts";
import type { KubeObject, Pod } from "../../platform/src/adapters/kubernetes/kube-objects.ts";
import { Followed } from "../../platform/src/adapters/kubernetes/kube-watch.ts";
import { realClock } from "../../platform/src/kernel/clock.ts";

interface Peer {
  podSelector?: { matchLabels?: Record<string, string> };
  namespaceSelector?: { matchLabels?: Record<string, string> };
  ipBlock?: { cidr: string; except?: string[] };
}

interface Rule {
  from?: Peer[];
  to?: Peer[];
  ports?: { protocol?: string; port?: number }[];
}

interface Policy extends KubeObject {
  spec: {
    podSelector: { matchLabels?: Record<string, string> };
    policyTypes: string[];
    ingress?: Rule[];
    egress?: Rule[];
  };
}

/** The arguments are `network-namespace=node` for each node. */
const nodes = process.argv.slice(2).map((text) => text.split("=") as [string, string]);
const api = new KubeApi({ clock: realClock });
const failed = (error: unknown) => console.error(String(error));
const follow = { api, clock: realClock, failed, heard: () => soon() };
const pods = new Followed<Pod>({ ...follow, path: "/api/v1/pods" });
const policies = new Followed<Policy>({ ...follow, path: "/apis/networking.k8s.io/v1/networkpolicies" });

let isDirty = false;
let isBusy = false;

/** Changes that come together are applied together. */
function soon(): void {
  isDirty = true;
  if (!isBusy) setImmediate(() => void apply());
}

async function apply(): Promise<void> {
  if (isBusy || !isDirty) return;
  isBusy = true;
  isDirty = false;
  await Promise.all(nodes.map(([namespace, node]) => write(namespace, rulesOf(node))));
  isBusy = false;
  if (isDirty) soon();
}

const lastWritten = new Map<string, string>();

async function write(namespace: string, text: string): Promise<void> {
  if (lastWritten.get(namespace) === text) return;
  const nft = spawn("nsenter", [`--net=/run/netns/${namespace}`, "nft", "-f", "-"], {
    stdio: ["pipe", "inherit", "inherit"],
  });
  nft.stdin.end(text);
  const code = await new Promise((resolve) => nft.on("close", resolve));
  if (code === 0) lastWritten.set(namespace, text);
  else console.error(`nft ended with ${code}:\n${text}`);
}

const matches = (selector: { matchLabels?: Record<string, string> } | undefined, { metadata }: Pod) =>
  Object.entries(selector?.matchLabels ?? {}).every(([name, value]) => metadata.labels?.[name] === value);

const alive = () =>
  pods.copy.all().filter(({ status }) => status?.podIP && status.phase !== "Succeeded" && status.phase !== "Failed");

/** Knows what Millrace's policies use: labels of Pods, ranges of addresses, and ports. Each Pod of the node that a policy selects has a chain for each direction. What no rule of it allows is refused. */
function rulesOf(node: string): string {
  const here = alive().filter(({ spec, status }) => spec.nodeName === node && isIPv4(status!.podIP!));
  const chains: string[] = [];
  const jumps: Record<"Ingress" | "Egress", string[]> = { Ingress: [], Egress: [] };
  for (const [index, pod] of here.entries())
    for (const direction of ["Ingress", "Egress"] as const) {
      const selecting = policies.copy
        .all()
        .filter(
          ({ metadata, spec }) =>
            metadata.namespace === pod.metadata.namespace &&
            spec.policyTypes.includes(direction) &&
            matches(spec.podSelector, pod),
        );
      if (selecting.length === 0) continue;
      const name = `pod${index}_${direction}`;
      const rules = selecting.flatMap((policy) => allowed(policy, direction));
      chains.push(`chain ${name} {\n${[...rules, "reject"].map((rule) => `    ${rule}`).join("\n")}\n  }`);
      jumps[direction].push(`ip ${direction === "Ingress" ? "daddr" : "saddr"} ${pod.status!.podIP} jump ${name}`);
    }
  // As Kubernetes demands, a Pod is isolated before it begins: until its policies are known here, nothing that it sends gets out.
  const known = here.map(({ status }) => status!.podIP!);
  const unknown = `iifname != { "eth0", "lo" } ${known.length > 0 ? `ip saddr != { ${known.join(", ")} } ` : ""}drop`;
  return [
    "table inet millrace_policies",
    "delete table inet millrace_policies",
    "table inet millrace_policies {",
    ...chains.map((chain) => `  ${chain}`),
    // A chain returns to the next jump, so a packet between two Pods has to be allowed by both.
    hooked("forward", [unknown, ...jumps.Ingress, ...jumps.Egress]),
    // What a Pod sends to its own node is not forwarded.
    hooked("input", [unknown, ...jumps.Egress]),
    "}\n",
  ].join("\n");
}

const hooked = (hook: string, jumps: readonly string[]) =>
  `  chain ${hook} {\n    type filter hook ${hook} priority 10; policy accept;\n    ct state established,related accept\n${jumps.map((jump) => `    ${jump}`).join("\n")}\n  }`;

function allowed({ metadata, spec }: Policy, direction: "Ingress" | "Egress"): string[] {
  const side = direction === "Ingress" ? "saddr" : "daddr";
  return ((direction === "Ingress" ? spec.ingress : spec.egress) ?? []).flatMap(({ from, to, ports }) => {
    const peers = direction === "Ingress" ? from : to;
    const ends = (ports ?? [undefined]).map((port) =>
      port?.port ? `${(port.protocol ?? "TCP").toLowerCase()} dport ${port.port} ` : "",
    );
    const places = peers === undefined ? [""] : peers.flatMap((peer) => placesOf(peer, metadata.namespace!, side));
    return places.flatMap((place) => ends.map((end) => `${place}${end}return`));
  });
}

function placesOf({ podSelector, namespaceSelector, ipBlock }: Peer, namespace: string, side: string): string[] {
  if (ipBlock) {
    if (!isIPv4(ipBlock.cidr.split("/")[0]!)) return [];
    const except = ipBlock.except?.length ? `ip ${side} != { ${ipBlock.except.join(", ")} } ` : "";
    return [`ip ${side} ${ipBlock.cidr} ${except}`];
  }
  const wanted =
    namespaceSelector?.matchLabels?.["kubernetes.io/metadata.name"] ?? (namespaceSelector ? undefined : namespace);
  const there = alive().filter(
    (pod) => (wanted === undefined || pod.metadata.namespace === wanted) && matches(podSelector, pod),
  );
  return there.map(({ status }) => `ip ${side} ${status!.podIP} `);
}

await Promise.all([pods.ready, policies.ready]);
soon();
