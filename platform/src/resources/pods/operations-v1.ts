/** Operations on Pods in REST v1, with flat bodies and a path for each action. */
import { flatOperationsOn } from "../../kernel/flat-operations-on.ts";
import { type Face, flatShapes } from "../../kernel/flat-shapes.ts";
import type { Operations } from "../../kernel/operation.ts";
import { name, oneOf, t } from "../../kernel/schema.ts";
import { shownContainer, takenContainer } from "../container/face-v1.ts";
import { idForm } from "../container/forms.ts";
import { containerFields } from "../container/model.ts";
import { MOST_ITEMS } from "../endpoints/model.ts";
import { templateShapes } from "../templates/operations-v1.ts";
import { v1Defaults } from "../v1-defaults.ts";
import { NetworkVolume } from "../volumes/model.ts";
import { podDialect } from "./flat.ts";
import { POD_BYTES, Pod } from "./model.ts";
import { podView } from "./record-schema-v1.ts";

const computeTypes = ["GPU", "CPU"] as const;
const priority = t.Optional(
  oneOf(["availability", "custom"], { description: "Accepted and ignored: types are tried in the order of the list." }),
);
const names = (description: string) => t.Optional(t.Array(name(), { maxItems: MOST_ITEMS, description }));
const filter = t.Optional(
  t.Number({
    minimum: 0,
    maximum: 1_000_000_000,
    description: "Taken and not looked at: machines here do not say it.",
  }),
);

const podFace: Face = {
  called: "Pod",
  assigned: podView,
  taken: {
    ...takenContainer,
    name: t.Optional(name({ description: "Name for people, unique in the account." })),
    dockerEntrypoint: containerFields.entrypoint,
    dockerStartCmd: containerFields.cmd,
    templateId: t.Optional({
      ...idForm,
      description: "Template whose fields are copied once; the empty text means none.",
    }),
    networkVolumeId: t.Optional({
      ...idForm,
      description: "In the place of the Pod's own volume; the empty text means none.",
    }),
    volumeMountPath: t.Optional(
      t.String({ maxLength: 512, description: "Where its storage is; the empty text says nothing." }),
    ),
    computeType: t.Optional(oneOf(computeTypes, { description: "CPU reads no GPU fields, and GPU no CPU fields." })),
    gpuTypeId: t.Optional({ ...idForm, description: "One GPU type, where `gpuTypeIds` names none." }),
    gpuTypeIds: names("GPU types in order of preference; any by default."),
    cpuFlavorIds: names("CPU flavors in order of preference; any by default."),
    vcpuCount: t.Optional(t.Integer({ minimum: 2, maximum: 1024, description: "Of a Pod without GPUs." })),
    gpuTypePriority: priority,
    cpuFlavorPriority: priority,
    dataCenterPriority: priority,
    supportPublicIp: t.Optional(t.Boolean({ description: "Taken and not needed: ports are published anyway." })),
    minDiskBandwidthMBps: filter,
    minDownloadMbps: filter,
    minUploadMbps: filter,
  },
  once: [
    ...["templateId", "networkVolumeId", "computeType", "gpuTypeId", "gpuTypeIds", "cpuFlavorIds", "vcpuCount"],
    ...["gpuTypePriority", "cpuFlavorPriority", "dataCenterPriority", "supportPublicIp"],
    ...["minDiskBandwidthMBps", "minDownloadMbps", "minUploadMbps"],
    ...["instanceIds", "countryCodes", "interruptible", "startSsh", "startJupyter"],
  ],
  shown: {
    ...shownContainer,
    templateId: t.String(),
    networkVolumeId: t.String(),
    volumeInGb: t.Integer({ minimum: 0, description: "0 for none." }),
    volumeMountPath: t.String({ description: "Where its storage is or would be; empty where nobody said." }),
    gpuCount: t.Integer({ minimum: 0 }),
  },
  unsaid: {
    stopAfter: "no word of this API",
    terminateAfter: "no word of this API",
    bidPerGpu: "no word of this API",
  },
  always: [
    ...[
      "id",
      "name",
      "image",
      "imageName",
      "desiredStatus",
      "consumerUserId",
      "machineId",
      "costPerHr",
      "adjustedCostPerHr",
    ],
    ...["vcpuCount", "memoryInGb", "gpuCount", "containerDiskInGb", "volumeInGb", "volumeMountPath", "volumeEncrypted"],
    ...["ports", "env", "dockerEntrypoint", "dockerStartCmd", "interruptible", "locked", "lastStatusChange", "machine"],
  ],
  defaults: v1Defaults.pod,
};

export const podShapes = flatShapes(Pod, podDialect, {
  ...podFace,
  assigned: {
    ...podView,
    template: templateShapes.record,
    networkVolume: t.Object({
      id: t.String(),
      name: t.String(),
      size: NetworkVolume.record.properties.size,
      dataCenterId: t.String(),
    }),
  },
});

const included = (description: string) => t.Optional(t.Boolean({ default: false, description }));

const including = {
  includeMachine: included("What is known of its machine."),
  includeNetworkVolume: included("The network volume that it mounts; needs `network-volumes:read`."),
  includeSavingsPlans: included("There are none here: an empty list."),
  includeTemplate: included("The template that it was made from; needs `templates:read`."),
  includeWorkers: included("Workers of endpoints, too; needs `serverless:read`."),
};

const only = (what: string) => t.Optional(t.String({ maxLength: 191, description: `Only ${what}.` }));
const anyOf = (what: string) =>
  t.Optional(t.Array(t.String({ maxLength: 191 }), { maxItems: MOST_ITEMS, description: `Only ${what}.` }));

export const podFilters = {
  computeType: t.Optional(oneOf(computeTypes)),
  cpuFlavorId: anyOf("with one of these CPU flavors"),
  dataCenterId: anyOf("in one of these data centers"),
  gpuTypeId: anyOf("with one of these GPU types"),
  desiredStatus: t.Optional(oneOf(["RUNNING", "EXITED", "TERMINATED"])),
  endpointId: only("workers of this endpoint, with `includeWorkers`"),
  id: only("this one"),
  imageName: only("with this image"),
  name: only("with this name"),
  networkVolumeId: only("that mount this network volume"),
  templateId: only("made from this template"),
};

const on = flatOperationsOn(
  podShapes,
  "/v1/pods",
  { tag: "Pods", scope: "pods", one: "a Pod", many: "Pods", id: "podId" },
  t.Object(including),
);

const acting = ["wrong-state", "unpaid"] as const;
const start = {
  description: "Where there is no room for it now it stays stopped, and the refusal says why.",
  refuses: [...acting, "no-capacity"] as const,
};

export const podOperationsV1 = {
  listPods: { ...on.list({}), query: t.Object({ ...podFilters, ...including }), mayBeText: true },
  createPod: on.create({
    status: 201,
    description: "From `imageName`, or from `templateId`. There is a place for it before the answer.",
    refuses: ["not-found", "no-capacity", "unpaid", "over-quota"],
    bodyLimit: POD_BYTES,
  }),
  getPod: on.get({ byPod: true }),
  updatePod: on.update({
    description: "Anything beyond `name` and `locked` restarts a Pod that runs, on a fresh container disk.",
    refuses: ["wrong-state"],
  }),
  updatePodByPost: on.updateByPost({ refuses: ["wrong-state"] }),
  deletePod: on.remove({ refuses: ["wrong-state"], byPod: true }),
  startPod: on.act("start", { summary: "Start a Pod", ...start }),
  resumePod: on.act("resume", { summary: "Start a Pod, by another word", ...start }),
  stopPod: on.act("stop", { summary: "Stop a Pod", refuses: acting, byPod: true }),
  restartPod: on.act("restart", { summary: "Restart the container of a Pod", refuses: acting }),
  resetPod: on.act("reset", { summary: "Make the container of a Pod anew from its image", refuses: acting }),
} satisfies Operations;
