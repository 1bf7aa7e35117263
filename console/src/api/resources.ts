/** Which operations each model has, and where the console shows it: lists, forms, search and links are derived from this table. */

import type { OperationName } from "./client.ts";
import { models } from "./models.data.ts";

export interface Resource {
  /** For one and for many, in sentences and titles. */
  one: string;
  many: string;
  /** What to create one is called, where it is not "Create" with its name. */
  creating?: string;
  /** Where its list is; a record is below it by its id. */
  path: string;
  model: (typeof models)[keyof typeof models];
  /** The key of the list in the answer of `list`. */
  key: string;
  list: OperationName;
  get?: OperationName;
  create?: OperationName;
  update?: OperationName;
  remove?: OperationName;
  /** Whether what is lost with it cannot be made again: then its name has to be typed. */
  isPrecious?: boolean;
}

export const resources = {
  endpoints: {
    one: "endpoint",
    many: "endpoints",
    path: "/serverless",
    model: models.endpoints,
    key: "endpoints",
    list: "listEndpoints",
    get: "getEndpoint",
    create: "createEndpoint",
    update: "updateEndpoint",
    remove: "deleteEndpoint",
    isPrecious: true,
  },
  publicEndpoints: {
    one: "public endpoint",
    many: "public endpoints",
    creating: "Share an endpoint",
    path: "/public-endpoints",
    model: models.publicEndpoints,
    key: "publicEndpoints",
    list: "listPublicEndpoints",
    get: "getPublicEndpoint",
    create: "createPublicEndpoint",
    update: "updatePublicEndpoint",
    remove: "deletePublicEndpoint",
  },
  pods: {
    one: "Pod",
    many: "Pods",
    path: "/pods",
    model: models.pods,
    key: "pods",
    list: "listPods",
    get: "getPod",
    create: "createPod",
    update: "updatePod",
    remove: "deletePod",
    isPrecious: true,
  },
  clusters: {
    one: "cluster",
    many: "clusters",
    path: "/clusters",
    model: models.clusters,
    key: "clusters",
    list: "listClusters",
    get: "getCluster",
    create: "createCluster",
    update: "updateCluster",
    remove: "deleteCluster",
    isPrecious: true,
  },
  templates: {
    one: "template",
    many: "templates",
    path: "/templates",
    model: models.templates,
    key: "templates",
    list: "listTemplates",
    get: "getTemplate",
    create: "createTemplate",
    update: "updateTemplate",
    remove: "deleteTemplate",
  },
  volumes: {
    one: "network volume",
    many: "network volumes",
    path: "/volumes",
    model: models.networkVolumes,
    key: "networkVolumes",
    list: "listNetworkVolumes",
    get: "getNetworkVolume",
    create: "createNetworkVolume",
    update: "updateNetworkVolume",
    remove: "deleteNetworkVolume",
    isPrecious: true,
  },
  registries: {
    one: "registry",
    many: "registries",
    path: "/registries",
    model: models.registries,
    key: "registries",
    list: "listRegistries",
    get: "getRegistry",
    create: "createRegistry",
    remove: "deleteRegistry",
  },
  secrets: {
    one: "secret",
    many: "secrets",
    path: "/secrets",
    model: models.secrets,
    key: "secrets",
    list: "listSecrets",
    get: "getSecret",
    create: "createSecret",
    update: "updateSecret",
    remove: "deleteSecret",
    isPrecious: true,
  },
} as const satisfies Record<string, Resource>;
