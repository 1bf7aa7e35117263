/** Answers the REST v2 operations on clusters. */
import { timestamp } from "../../kernel/clock.ts";
import type { Handlers } from "../../kernel/operation.ts";
import { problem } from "../../kernel/problem.ts";
import { recordFrom } from "../../kernel/resource.ts";
import type { Pod } from "../pods/model.ts";
import type { PodItem } from "../pods/records.ts";
import { shownPod } from "../pods/rest-v2.ts";
import type { PodViews } from "../pods/view.ts";
import { Cluster, clusterLifecycle, OF_TEMPLATES } from "./model.ts";
import type { clusterOperations } from "./operations.ts";
import type { ClusterItem, ClusterService, NewCluster } from "./service.ts";

export function clusterHandlers(clusters: ClusterService, views: PodViews): Handlers<typeof clusterOperations> {
  const shown = async (cluster: ClusterItem) => shownCluster(cluster, await clusters.members(cluster), views);
  return {
    async listClusters({ caller }) {
      const found = await clusters.list(caller);
      return { clusters: found.map(({ cluster, members }) => shownCluster(cluster, members, views)) };
    },
    async createCluster({ caller, body }) {
      refuseBesideTemplate(body);
      return shown(await clusters.create(caller, body));
    },
    getCluster: async ({ caller, params }) => shown(await clusters.get(caller, params.id!)),
    updateCluster: async ({ caller, params, body }) => shown(await clusters.update(caller, params.id!, body)),
    deleteCluster: ({ caller, params }) => clusters.remove(caller, params.id!),
    async listClusterPods({ caller, params }) {
      const members = await clusters.members(await clusters.get(caller, params.id!));
      return { pods: members.map((pod) => shownPod(pod, views)) };
    },
  };
}

function shownCluster({ id, createdAt, doc }: ClusterItem, members: readonly PodItem[], views: PodViews): Cluster {
  const { template, dataCenter, range, span, ...plain } = doc;
  const [primary] = members;
  return recordFrom(Cluster, {
    id,
    ...plain,
    pods: { total: members.length, byStatus: countsOf(members, views) },
    ...(template !== null && { template }),
    dataCenterId: dataCenter,
    ...(range !== null && { network: { cidr: range, ...(span && { vxlanId: span.number }) } }),
    ...(primary && { primary: shownPrimary(primary, views) }),
    actions: clusterLifecycle.actions("PRESENT"),
    createdAt: timestamp(createdAt),
  });
}

function countsOf(members: readonly PodItem[], views: PodViews): Partial<Record<Pod["status"], number>> {
  const groups = Map.groupBy(members, (member) => views.of(member).status);
  return Object.fromEntries([...groups].map(([status, those]) => [status, those.length]));
}

function shownPrimary(pod: PodItem, views: PodViews): NonNullable<Cluster["primary"]> {
  const view = views.of(pod);
  const ssh = view.ssh.direct ?? view.ssh.proxy;
  return { podId: pod.id, status: view.status, ...(ssh && { sshEndpoint: `${ssh.host}:${ssh.port}` }) };
}

/** A rule of REST v2. In GraphQL, what is sent beside a template wins over what the template has. */
function refuseBesideTemplate(given: NewCluster): void {
  const both = given.templateId === undefined ? [] : OF_TEMPLATES.filter((field) => given[field] !== undefined);
  if (both.length > 0)
    throw problem(
      "rule-broken",
      `'templateId' excludes ${both.map((field) => `'${field}'`).join(", ")}: send one of the two.`,
    );
}
