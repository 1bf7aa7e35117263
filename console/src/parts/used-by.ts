/** Which Pods, endpoints and templates refer to a volume or a registry, from their lists. */
import type { Endpoint } from "@millrace/platform/resources/endpoints/model.ts";
import type { Pod } from "@millrace/platform/resources/pods/model.ts";
import type { Template } from "@millrace/platform/resources/templates/model.ts";

export interface User {
  kind: "Pod" | "endpoint" | "template";
  id: string;
  name: string;
  to: string;
  /** What it has to do with it, such as where a volume is mounted. */
  how?: string;
}

type Known = {
  pods?: readonly Pick<Pod, "id" | "name" | "mounts" | "registry">[] | undefined;
  endpoints?: readonly Pick<Endpoint, "id" | "name" | "networkVolumes" | "registry">[] | undefined;
  templates?: readonly Pick<Template, "id" | "name" | "registry">[] | undefined;
};

export function usersOfVolume(volumeId: string, { pods = [], endpoints = [] }: Known): User[] {
  const mounted = pods.flatMap((pod) => {
    const mount = pod.mounts?.network?.find((one) => one.volumeId === volumeId);
    return mount ? [{ ...podUser(pod), how: `at ${mount.path}` }] : [];
  });
  return [...mounted, ...endpoints.filter(({ networkVolumes }) => networkVolumes.includes(volumeId)).map(endpointUser)];
}

export function usersOfRegistry(id: string, { pods = [], endpoints = [], templates = [] }: Known): User[] {
  const uses = (one: { registry?: unknown }) => one.registry === id;
  return [
    ...pods.filter(uses).map(podUser),
    ...endpoints.filter(uses).map(endpointUser),
    ...templates.filter(uses).map(({ id: template, name }) => ({
      kind: "template" as const,
      id: template,
      name,
      to: `/templates/${template}`,
    })),
  ];
}

const podUser = ({ id, name }: { id: string; name: string }): User => ({ kind: "Pod", id, name, to: `/pods/${id}` });
const endpointUser = ({ id, name }: { id: string; name: string }): User => ({
  ...{ kind: "endpoint", id, name, to: `/serverless/${id}` },
});
