/** The flat dialect of endpoints: the fields that are not just a field of the model under another name. */
import { type Flat, flatDialect, plainField } from "../../kernel/flat.ts";
import { name, nullable, oneOf, t } from "../../kernel/schema.ts";
import { flavorOf, instanceIds } from "../container/instance-ids.ts";
import { containerFields } from "../container/model.ts";
import type { EndpointTerms } from "./fields.ts";
import { scalerValueOf, wholeScalerValueOf } from "./flat-forms.ts";
import { cudaVersion, Endpoint, endpointDefaults, type KeptEndpoint, MOST_ITEMS, type Scaling } from "./model.ts";

const scalerTypes = ["QUEUE_DELAY", "REQUEST_COUNT"] as const;

export const endpointDialect = flatDialect<KeptEndpoint, EndpointTerms>(Endpoint, {
  prefix: (path) => (path in containerFields ? "template." : ""),
  unsaid: {
    entrypoint: "said by template.dockerArgs, which is kept beside it in the same words",
    cmd: "said by template.dockerArgs, which is kept beside it in the same words",
    "workers.warmup": "an addition of REST v2, which keeps what it is where nobody says it",
    volumePlaces: "where its volumes are, which nobody gives",
    claimsName: "whether no other one may have its name",
    follows: "said by templateId, which names what it follows or else the endpoint itself",
    templateName: "what its own container is called as a template, where that is edited",
    release: "the version of the record, which nobody gives",
    createdBy: "the key by which it was made, which limits on that ask for",
    hubReleaseId: "the release of the hub that it was made from, which GraphQL takes and shows by itself",
    sharedAs: "the name of its public endpoint, which has operations of its own",
    apartSince: "a rule of its public endpoint, which has operations of its own",
  },
  odd: {
    templateId: {
      ...plainField("template", name()),
      read: ({ template }) => template ?? undefined,
      write: (templateId) => ({ templateId: templateId as string }),
    },
    "template.containerRegistryAuthId": plainField("registry", nullable(name())),
    // The dialect lists types, while REST v2 lists pools. That keeps a caller's order.
    gpuTypeIds: plainField("gpu.types", t.Array(name(), { minItems: 1, maxItems: MOST_ITEMS })),
    gpuCount: plainField("gpu.count", t.Integer({ minimum: 1, maximum: 1024 })),
    allowedCudaVersions: plainField("gpu.allowedCudaVersions", t.Array(cudaVersion, { maxItems: MOST_ITEMS })),
    minCudaVersion: {
      ...plainField("gpu.minCudaVersion", nullable(cudaVersion)),
      write: (version) => ({ gpu: { minCudaVersion: (version as string | null) ?? "" } }),
    },
    instanceIds: {
      says: ["cpu.id", "cpu.vcpuCount", "cpu.memory"],
      schema: instanceIds,
      read: ({ cpu }) => cpu?.map(({ id, vcpuCount, memory }) => `${id}-${vcpuCount}-${memory}`),
      write: (ids) => ({ cpu: (ids as string[]).map(flavorOf) }),
    },
    scalerType: {
      says: ["scaling.type"],
      schema: oneOf(scalerTypes),
      read: ({ scaling }) => scaling.type,
      write: writeScaling,
    },
    scalerValue: {
      says: ["scaling.queueDelay", "scaling.requestCount"],
      schema: t.Number({ minimum: 0.5 }),
      read: ({ scaling }) => scalerValueOf(scaling),
      write: writeScaling,
    },
  },
});

interface SaidOfScaling {
  type?: KeptEndpoint["type"];
  scalerType?: Scaling["type"];
  scalerValue?: number;
}

/** If only one of the two fields is sent, the other stays unchanged, or gets its default. */
function writeScaling(_: unknown, all: Flat, before: KeptEndpoint | undefined): EndpointTerms {
  const { type = endpointDefaults.type, scalerType, scalerValue } = all as SaidOfScaling;
  const known: Scaling = before?.scaling ?? endpointDefaults.scaling[type];
  const isDelay = (scalerType ?? known.type) === "QUEUE_DELAY";
  const shown = wholeScalerValueOf({ scaling: known });
  // The shown value is rounded. Sending it back unchanged keeps the exact value.
  const isKnown = scalerValue === undefined || (before !== undefined && scalerValue === shown);
  if (isDelay) return { scaling: { type: "QUEUE_DELAY", queueDelay: isKnown ? scalerValueOf(known) : scalerValue } };
  return { scaling: { type: "REQUEST_COUNT", requestCount: isKnown ? shown : scalerValue } };
}
