/** Shapes and bounds of the contract that single pages use. The build puts in the values, so that no model is made in the browser. */
import { operations } from "@millrace/platform/contract.ts";
import type { Operation } from "@millrace/platform/kernel/operation.ts";
import { ApiKey, LARGEST_QUOTA as largestQuota } from "@millrace/platform/resources/account/model.ts";
import { BATCH_LIMITS as batchLimits } from "@millrace/platform/resources/batches/model.ts";
import {
  MOST_MEMBERS as mostMembers,
  OF_TEMPLATES as ofTemplates,
} from "@millrace/platform/resources/clusters/model.ts";
import { endpointBoots as boots } from "@millrace/platform/resources/endpoints/model.ts";
import { S3Key } from "@millrace/platform/resources/s3-keys/model.ts";
import { UpdateAccount } from "@millrace/platform/resources/spending/model.ts";

export const createApiKey: object = ApiKey.create;
export const createS3Key: object = S3Key.create;
export const updateAccount: object = UpdateAccount;
export const BATCH_LIMITS: typeof batchLimits = batchLimits;
export const MOST_MEMBERS: number = mostMembers;
export const OF_TEMPLATES: readonly string[] = ofTemplates;
export const LARGEST_QUOTA: number = largestQuota;
/** Whether a change of a field starts the workers anew. */
export const endpointBoots: Readonly<Record<string, boolean>> = boots;
/** The names of all operations that change something, for the filter of the audit log. */
export const changingOperations: readonly string[] = Object.entries(operations as Record<string, Operation>)
  .filter(([, { method }]) => method !== "GET")
  .map(([name]) => name)
  .toSorted();
