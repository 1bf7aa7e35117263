/** Instant Clusters: Pods that are placed together, know each other by rank, and share a network that nobody else reaches. */
import type { Kept } from "../../kernel/document.ts";
import { lifecycle } from "../../kernel/lifecycle.ts";
import { type KeptOf, type RecordOf, resource } from "../../kernel/resource.ts";
import { closed, dateTime, name, oneOf, type Static, t } from "../../kernel/schema.ts";
import { containerFields } from "../container/model.ts";
import { MOST_ITEMS } from "../endpoints/model.ts";
import { type PodStatus, podStatuses } from "../pods/lifecycle.ts";
import { mounts } from "../pods/model.ts";

export const clusterTypes = ["APPLICATION", "TRAINING", "SLURM", "RAY"] as const;
export type ClusterType = (typeof clusterTypes)[number];

/** The record exists from the moment all members have places until the cluster is deleted. It holds no state. */
export const clusterLifecycle = lifecycle<"PRESENT" | "DELETED", "delete">({
  of: "cluster",
  states: { PRESENT: "All members have places, and Millrace keeps them running.", DELETED: "Nothing of it is left." },
  begins: ["PRESENT"],
  moves: { delete: { from: ["PRESENT"], to: "DELETED", asked: "clusters:write" } },
});

const FEWEST_MEMBERS = 2;
export const MOST_MEMBERS = 250;

const compute = closed({
  gpuTypeId: name({ description: "GPU type, by its id in the catalog." }),
  gpuCountPerPod: t.Integer({ minimum: 1, maximum: 1024, description: "GPUs of each member." }),
  podCount: t.Integer({ minimum: FEWEST_MEMBERS, maximum: MOST_MEMBERS, description: "Members." }),
});
export type ClusterCompute = Static<typeof compute>;

const { registry: _, ...container } = containerFields;

/** Fields that a template sets. A caller who names a template cannot set them too. */
export const OF_TEMPLATES = [...(Object.keys(container) as (keyof typeof container)[]), "mounts"] as const;

export const Cluster = resource("Cluster", {
  assigned: {
    id: t.String({ description: "Unique cluster identifier." }),
    pods: t.Object({
      total: t.Integer({ minimum: 0 }),
      byStatus: t.Unsafe<Partial<Record<PodStatus, number>>>({
        type: "object",
        description: "How many members are in each status; without those that are in none.",
        properties: Object.fromEntries(podStatuses.map((status) => [status, t.Integer({ minimum: 1 })])),
      }),
    }),
    template: t.Optional(t.String({ description: "The template that it was made from." })),
    dataCenterId: t.Optional(t.String()),
    network: t.Optional(
      t.Object({
        cidr: t.String({
          description:
            "The addresses of its members, such as `10.1.2.0/24`; known from their first start on, where they are of one range.",
        }),
        vxlanId: t.Optional(t.Integer()),
        vxlanPort: t.Optional(t.Integer()),
      }),
    ),
    primary: t.Optional(
      t.Object({
        podId: t.String({ description: "The member of rank 0." }),
        status: oneOf(podStatuses),
        sshEndpoint: t.Optional(t.String({ description: "`host:port`, where SSH reaches it." })),
      }),
    ),
    actions: t.Array(oneOf(clusterLifecycle.asked), { description: "What can be done with it now." }),
    createdAt: dateTime("Creation time."),
  },
  fixed: {
    type: oneOf(clusterTypes, {
      description:
        "`SLURM` and `RAY` start these programs on every member whose image has them, rank 0 as the head; the others start nothing but the image.",
    }),
    compute,
  },
  given: { name: name({ description: "Name for people; its members are called after it." }) },
  once: {
    ...container,
    mounts: t.Optional({
      ...mounts,
      description: "Storage of each member: one `persistent` folder, or one network volume.",
    }),
    dataCenterIds: t.Optional(
      t.Array(name(), { default: [], maxItems: MOST_ITEMS, description: "Data centers; an empty list means any." }),
    ),
    startSsh: t.Optional(
      t.Boolean({ default: false, description: "Gives members the account's SSH keys as `PUBLIC_KEY`." }),
    ),
    startJupyter: t.Optional(t.Boolean({ default: false, description: "Gives members a new `JUPYTER_PASSWORD`." })),
    templateId: t.Optional(
      name({ description: "Template whose fields are copied once, in the place of all fields of the container." }),
    ),
  },
});
export type Cluster = RecordOf<typeof Cluster>;

/** What the machines of a cluster agree on, if its members are on several. */
export type ClusterSpan = {
  /** Tells packets of its network from those of others. */
  number: number;
  /** The longest packet of its members, in bytes. */
  mtu: number;
  isEncrypted: boolean;
  /** The machine of each member, by rank. Members stay where they are. */
  machines: readonly string[];
  /** The machines that have reserved the cluster's range. Members start once all have. */
  agreed: readonly string[];
  /** Ranges that one of the machines cannot give. */
  avoid: readonly string[];
};

export type KeptCluster = KeptOf<
  typeof Cluster,
  {
    template: string | null;
    dataCenter: string;
    /** The address range of the members, as the driver chose it. Null before that, and if their addresses are not in one range. */
    range: string | null;
    /** Null or absent if all members are on one machine. */
    span?: ClusterSpan | null;
  }
>;

export const clusters: Kept<KeptCluster> = {
  kind: "cluster",
  v: 1,
  uniqueEverywhere: ({ span }) => ({ span: span ? String(span.number) : undefined }),
};
