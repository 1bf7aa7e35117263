/** Operations on endpoints in REST v1. */
import { flatOperationsOn } from "../../kernel/flat-operations-on.ts";
import { type Face, flatShapes } from "../../kernel/flat-shapes.ts";
import type { Operations } from "../../kernel/operation.ts";
import { dateTime, name, nullable, oneOf, t } from "../../kernel/schema.ts";
import { idForm } from "../container/forms.ts";
import { podShapes } from "../pods/operations-v1.ts";
import { templateShapes } from "../templates/operations-v1.ts";
import { v1Defaults } from "../v1-defaults.ts";
import { endpointDialect } from "./flat.ts";
import { Endpoint, LONGEST_TIMEOUT_MS, MOST_ITEMS } from "./model.ts";

const MOST_SCALED = 1_000_000;
const names = (description: string) => t.Optional(t.Array(name(), { maxItems: MOST_ITEMS, description }));
const texts = (description: string) => t.Array(t.String(), { description });

const endpointFace: Face = {
  called: "Endpoint",
  assigned: {
    id: Endpoint.record.properties.id,
    userId: t.String({ description: "Whose it is." }),
    version: t.Integer({ minimum: 0, description: "Grows by one with every release; the first is 0." }),
    computeType: oneOf(["GPU", "CPU"]),
    createdAt: dateTime("Creation time."),
    env: t.Record(t.String(), t.String(), { description: "Environment variables of its workers." }),
    flashboot: t.Boolean(),
    networkVolumeId: t.String({ description: "The first of its network volumes." }),
    template: templateShapes.record,
    workers: t.Array(podShapes.record, { description: "With `includeWorkers`." }),
  },
  taken: {
    templateId: name({
      description: "A template for workers: the endpoint follows it, and changes when it is edited.",
    }),
    computeType: t.Optional(oneOf(["GPU", "CPU"], { description: "CPU reads no GPU fields, and GPU no CPU fields." })),
    gpuTypeId: t.Optional({ ...idForm, description: "One GPU type, where `gpuTypeIds` names none." }),
    gpuTypeIds: names("GPU types: the first that is available is taken; any by default."),
    gpuCount: t.Optional(
      t.Integer({ minimum: 0, maximum: 1024, description: "GPUs of each worker; 0 only of workers without." }),
    ),
    minCudaVersion: t.Optional(
      nullable(
        t.String({
          maxLength: 16,
          pattern: "^(\\d+\\.\\d+)?$",
          description: "Least CUDA version; null and the empty text mean any.",
        }),
      ),
    ),
    cpuFlavorIds: names("CPU flavors in order of preference; any by default."),
    vcpuCount: t.Optional(t.Integer({ minimum: 2, maximum: 1024, description: "vCPUs of each worker without GPUs." })),
    scalerValue: t.Optional(
      t.Integer({
        minimum: 1,
        maximum: MOST_SCALED,
        description: "Seconds that a job may wait, or requests per worker.",
      }),
    ),
    executionTimeoutMs: t.Optional(
      t.Integer({
        minimum: 0,
        maximum: LONGEST_TIMEOUT_MS,
        description: "Milliseconds a request may run; 0 says nothing of it.",
      }),
    ),
    flashboot: t.Optional(t.Boolean({ description: "Whether idle workers are frozen until a job needs them." })),
    networkVolumeId: t.Optional({ ...idForm, description: "One network volume; the empty text, or null, means none." }),
  },
  once: ["computeType"],
  shown: {
    templateId: t.String({ description: "What it follows, or its own configuration under its own id." }),
    gpuCount: t.Integer({ minimum: 0 }),
    gpuTypeIds: texts("In order of preference; absent without GPUs."),
    instanceIds: texts("CPU flavors, each `<flavor>-<vCPUs>-<GB>`; absent with GPUs."),
    dataCenterIds: texts("Empty for any."),
    minCudaVersion: nullable(t.String()),
    scalerValue: t.Integer({ minimum: 1 }),
  },
  unsaid: {
    type: "no word of this API: what it makes has a queue",
    flashBootType: "said by flashboot, with yes or no",
  },
  always: [
    ...["id", "name", "userId", "templateId", "version", "computeType", "createdAt", "dataCenterIds", "env"],
    ...["executionTimeoutMs", "idleTimeout", "scalerType", "scalerValue", "workersMin", "workersMax", "flashboot"],
  ],
  defaults: v1Defaults.endpoint,
};

export const endpointShapes = flatShapes(Endpoint, endpointDialect, endpointFace);

const included = (description: string) => t.Optional(t.Boolean({ default: false, description }));

const on = flatOperationsOn(
  endpointShapes,
  "/v1/endpoints",
  { tag: "Serverless", scope: "serverless", narrowed: "own", one: "an endpoint", many: "endpoints", id: "endpointId" },
  t.Object({
    includeTemplate: included("Its template, or its own configuration in the form of one."),
    includeWorkers: included("Its workers, in the form of Pods."),
  }),
);

export const endpointOperationsV1 = {
  listEndpoints: on.list({}),
  createEndpoint: { ...on.create({ refuses: ["not-found"] }), narrowed: "refused" },
  getEndpoint: on.get(),
  updateEndpoint: on.update({
    description: "Workers, scaling, timeouts and the name apply at once; anything else makes a new release.",
  }),
  updateEndpointByPost: on.updateByPost(),
  deleteEndpoint: on.remove({
    description: "Cancels its jobs, ends its workers, and removes its configuration, logs and job history for good.",
  }),
} satisfies Operations;
