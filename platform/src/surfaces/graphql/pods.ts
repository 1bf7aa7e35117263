/** Pods in GraphQL: find, create, change, stop, resume and terminate. */
import { SHOWN_IN_A_TURN } from "../../kernel/page.ts";
import type { Problem } from "../../kernel/problem.ts";
import { closed, oneOf, t } from "../../kernel/schema.ts";
import { mappedInSlices } from "../../kernel/slices.ts";
import { podDialect } from "../../resources/pods/flat.ts";
import { podActions } from "../../resources/pods/lifecycle.ts";
import { podOperations } from "../../resources/pods/operations.ts";
import type { PodItem } from "../../resources/pods/records.ts";
import { v1Defaults } from "../../resources/v1-defaults.ts";
import type { Arguments, GraphContext, OperationField, OperationFields } from "./context.ts";
import { given, listOf } from "./fields.ts";
import { ALL_OF_AN_ACCOUNT, literally, orNull } from "./finding.ts";
import { change, lookup } from "./operations.ts";
import {
  DeployCpuPodInput,
  PodBidResumeInput,
  PodEditJobInput,
  PodFilter,
  PodFindAndDeployOnDemandInput,
  PodRentInterruptableInput,
  PodResumeInput,
  PodStopInput,
  PodTerminateInput,
} from "./pod-input-types.ts";
import { changedPodFlat, newPodFlat } from "./pod-inputs.ts";
import { type PodRow, podRow } from "./pod-rows.ts";
import { Pod } from "./pod-types.ts";
import { NO_ROOM } from "./refusals.ts";
import { Void } from "./scalars.ts";
import { podWords } from "./words.ts";

const rowOf = (item: PodItem, { services }: GraphContext): PodRow => podRow(item, services.podViews);

const podIdOf = ({ input }: Arguments) => ({ id: String(input?.podId ?? "") });

export const podQueries = {
  pod: {
    type: Pod,
    args: { input: { type: PodFilter } },
    operation: lookup(podOperations.getPod),
    params: podIdOf,
    async answer({ caller, params }, context) {
      const found = await orNull(context.services.pods.own(caller, params.id!));
      return found && rowOf(found, context);
    },
  },
} satisfies OperationFields;

export const ownPods = {
  pods: {
    type: listOf(Pod),
    operation: lookup(podOperations.listPods),
    async answer({ caller }, context) {
      const asked = { ...ALL_OF_AN_ACCOUNT, includeClusterPods: true };
      const { items } = await context.services.pods.list(caller, asked);
      return mappedInSlices(items, SHOWN_IN_A_TURN, (item) => rowOf(item, context));
    },
  },
} satisfies OperationFields;

/** Clients try their next GPU type after this message, and give up after any other. */
const nothingOffered = ({ reason }: Problem) =>
  reason === "gpu-unknown" || reason === "gpu-not-offered" ? NO_ROOM : undefined;

const isUnnamed = (input: Arguments["input"]) => (input?.name ?? undefined) === undefined;

/** The conditions of a creation, apart from the Pod's own fields. */
const beside = ({ input }: Arguments) => ({
  uniqueName: true,
  isDefaultName: isUnnamed(input),
  // Some clients send 0 for no limit.
  ...(input?.deployCost > 0 && { mostPerHour: input.deployCost as number }),
});

const creating = (
  input: typeof DeployCpuPodInput,
  { computeType, ...also }: { computeType?: "CPU"; interruptible?: true } = {},
) =>
  ({
    type: Pod,
    args: { input: { type: input } },
    operation: change(podOperations.createPod, podDialect.create),
    words: podWords,
    body: ({ input }: Arguments) => ({
      ...(isUnnamed(input) && { name: v1Defaults.pod.name }),
      ...newPodFlat(input, computeType),
      ...also,
    }),
    async answer({ caller, body }, context, args) {
      return rowOf(await context.services.pods.create(caller, podDialect.terms(body), beside(args)), context);
    },
    literal: nothingOffered,
  }) satisfies OperationField;

/** The action of a Pod, and the number of GPUs to start with. Starting with 0 GPUs is allowed. */
const acting = change(
  podOperations.podAction,
  closed({
    action: oneOf(podActions),
    gpuCount: t.Optional(t.Integer({ minimum: 0, maximum: 1024 })),
    bidPerGpu: t.Optional(t.Number({ minimum: 0 })),
  }),
);
const starting = ({ input }: Arguments) => {
  const { gpuCount, bidPerGpu } = given(input);
  return given({ action: "start", gpuCount, bidPerGpu });
};
const NO_FREE_GPUS = { message: "There are not enough free GPUs to start this Pod.", code: "SUPPLY_CONSTRAINT" };

export const podMutations = {
  podFindAndDeployOnDemand: creating(PodFindAndDeployOnDemandInput),
  podRentInterruptable: creating(PodRentInterruptableInput, { interruptible: true }),
  deployCpuPod: creating(DeployCpuPodInput, { computeType: "CPU" }),
  podEditJob: {
    type: Pod,
    args: { input: { type: PodEditJobInput } },
    operation: change(podOperations.updatePod, podDialect.update),
    words: podWords,
    params: podIdOf,
    body: ({ input }) => changedPodFlat(input),
    async answer({ caller, params, body }, context) {
      const { pods } = context.services;
      const { doc } = await pods.own(caller, params.id!);
      return rowOf(await pods.update(caller, params.id!, podDialect.terms(body, doc)), context);
    },
  },
  podStop: {
    type: Pod,
    args: { input: { type: PodStopInput } },
    operation: acting,
    words: podWords,
    params: podIdOf,
    body: () => ({ action: "stop" }),
    async answer({ caller, params }, context) {
      return rowOf(await context.services.pods.stop(caller, params.id!), context);
    },
  },
  podResume: {
    type: Pod,
    args: { input: { type: PodResumeInput } },
    operation: acting,
    words: podWords,
    params: podIdOf,
    body: starting,
    answer: (call, context) => resumed(call, context),
    literal: literally("no-capacity", NO_FREE_GPUS),
  },
  podBidResume: {
    type: Pod,
    args: { input: { type: PodBidResumeInput } },
    operation: acting,
    words: podWords,
    params: podIdOf,
    body: starting,
    answer: (call, context) => resumed(call, context),
    literal: literally("no-capacity", NO_FREE_GPUS),
  },
  podTerminate: {
    type: Void,
    args: { input: { type: PodTerminateInput } },
    operation: change(podOperations.deletePod),
    params: podIdOf,
    answer: ({ caller, params }, { services }) => services.pods.remove(caller, params.id!),
    literal: literally("not-found", { message: "pod not found to terminate", code: "POD_NOT_FOUND" }),
  },
} satisfies OperationFields;

/** If no machine has a free place, the Pod stays stopped. Started without a GPU, it still gives access to its stored data. */
async function resumed(
  { caller, params, body }: Parameters<OperationField["answer"]>[0],
  context: GraphContext,
): Promise<PodRow> {
  const { gpuCount, bidPerGpu } = body as { gpuCount?: number; bidPerGpu?: number };
  const how = { waits: false, gpuCount, bidPerGpu };
  return rowOf((await context.services.pods.act(caller, params.id!, "start", how))!, context);
}
