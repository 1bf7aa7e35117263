/** Templates, network volumes and registries in the form of each surface. */
import { anyContainer, type Container, containerWords, envIn, graphql, type Resource, renamed, rest } from "./faces.ts";

const names = (() => {
  let made = 0;
  return (what: string) => `${what} ${made++} ä`;
})();

interface Volume {
  name: string;
  size: number;
  dataCenter: string;
}

const flatVolume = { name: "name", size: "size", dataCenter: "dataCenterId" };
const shownVolume = ({ name, size, dataCenterId }: { name: string; size: number; dataCenterId: string }): Volume => ({
  ...{ name, size, dataCenter: dataCenterId },
});

export const volumes: Resource<Volume> = {
  any: (random) => ({
    ...{ name: names("volume"), size: 10 + random.below(50), dataCenter: "EU-RO-1" },
  }),
  change: (random, { size }) => (random.chance(0.5) ? { name: names("volume") } : { size: size + 1 + random.below(9) }),
  faces: {
    "REST v2": rest("/v2/network-volumes", {
      said: (volume) => volume,
      shown: ({ name, size, dataCenter }) => ({ name, size, dataCenter }),
    }),
    "REST v1": rest("/v1/networkvolumes", { said: (volume) => renamed({ ...volume }, flatVolume), shown: shownVolume }),
    GraphQL: graphql({
      make: () => ["createNetworkVolume", "CreateNetworkVolumeInput"],
      change: ["updateNetworkVolume", "UpdateNetworkVolumeInput"],
      said: (volume) => renamed({ ...volume }, flatVolume),
      ...{ list: "networkVolumes", selection: "name size dataCenterId", shown: shownVolume },
    }),
  },
};

interface Registry {
  name: string;
}

const credential = { username: "u", password: "p" };
const withoutChange = <T>({ change: _, ...face }: Resource<T>["faces"][string]) => face;

export const registries: Resource<Registry> = {
  any: () => ({ name: names("registry") }),
  change: () => ({}),
  faces: {
    "REST v2": withoutChange(
      rest("/v2/registries", { said: (one) => ({ ...one, ...credential }), shown: ({ name }) => ({ name }) }),
    ),
    "REST v1": withoutChange(
      rest("/v1/containerregistryauth", {
        said: (one) => ({ ...one, ...credential }),
        shown: ({ name }) => ({ name }),
      }),
    ),
    GraphQL: graphql({
      make: () => ["saveRegistryAuth", "SaveRegistryAuthInput"],
      said: (one) => ({ ...one, ...credential }),
      ...{ list: "containerRegistryCreds", selection: "name", shown: ({ name }) => ({ name }) },
    }),
  },
};

interface Template extends Container {
  name: string;
  storage: { size: number; path: string } | null;
  serverless: boolean;
  public: boolean;
  category: string;
  startSsh: boolean;
}

const flatTemplate = {
  ...{ name: "name", serverless: "isServerless", public: "isPublic", category: "category", startSsh: "startSsh" },
};
const storageSaid = ({ storage }: Partial<Template>) =>
  storage === undefined
    ? {}
    : storage
      ? { volumeInGb: storage.size, volumeMountPath: storage.path }
      : { volumeInGb: 0 };

interface FlatTemplate extends Pick<Template, "name" | "category" | "startSsh"> {
  isServerless: boolean;
  isPublic: boolean;
  volumeInGb: number;
  volumeMountPath: string;
}

const templateShown = (flat: FlatTemplate): Omit<Template, keyof Container> => ({
  ...{ name: flat.name, category: flat.category, startSsh: flat.startSsh },
  ...{ serverless: flat.isServerless, public: flat.isPublic },
  storage: flat.volumeInGb > 0 ? { size: flat.volumeInGb, path: flat.volumeMountPath } : null,
});

export const templates: Resource<Template> = {
  any: (random) => ({
    ...anyContainer(random),
    name: names("template"),
    storage: random.chance(0.5) ? { size: 10 + random.below(50), path: random.pick(["/workspace", "/data"]) } : null,
    serverless: random.chance(0.5),
    public: random.chance(0.5),
    category: random.pick(["NVIDIA", "AMD", "CPU"]),
    startSsh: random.chance(0.5),
  }),
  change(random) {
    const { env, image, command, disk, ...others } = anyContainer(random);
    // In GraphQL, an empty text for ports means that they are not changed.
    const ports = others.ports.length > 0 ? others.ports : ["80/http"];
    const storage = { size: 10 + random.below(50), path: "/else" };
    return random.pick([
      { env },
      { ports },
      { image, disk },
      { command },
      { name: names("t") },
      { storage },
      { public: true },
    ]);
  },
  faces: {
    "REST v2": rest("/v2/templates", {
      said: ({ image, command, disk, env, ports, storage, ...own }) => ({
        ...own,
        ...containerWords.v2.said({ image, command, disk, env, ports } as Partial<Container>),
        ...(storage && { mounts: { persistent: storage } }),
      }),
      shown: (record) => ({
        ...containerWords.v2.shown(record),
        ...{ name: record.name, category: record.category, startSsh: record.startSsh },
        ...{ serverless: record.serverless, public: record.public, storage: record.mounts.persistent ?? null },
      }),
    }),
    "REST v1": rest("/v1/templates", {
      said: (template) => ({
        ...renamed({ ...template }, flatTemplate),
        ...containerWords.v1.said(template),
        ...storageSaid(template),
      }),
      shown: (record) => ({ ...containerWords.v1.shown(record), ...templateShown(record) }),
    }),
    GraphQL: graphql({
      make: () => ["saveTemplate", "SaveTemplateInput"],
      change: ["saveTemplate", "SaveTemplateInput"],
      said: (template) => ({
        ...renamed({ ...template }, flatTemplate),
        ...containerWords.graphql.said(template),
        ...storageSaid(template),
      }),
      list: "podTemplates",
      selection: `${containerWords.graphql.selection} env { key value } name category startSsh isServerless isPublic volumeInGb volumeMountPath`,
      shown: (row) => ({ ...containerWords.graphql.shown(row), env: envIn(row.env), ...templateShown(row) }),
    }),
  },
};
