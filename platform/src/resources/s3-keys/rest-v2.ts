/** Answers the REST v2 operations on S3 keys. */
import { timestamp } from "../../kernel/clock.ts";
import type { Handlers } from "../../kernel/operation.ts";
import { recordFrom } from "../../kernel/resource.ts";
import { S3Key } from "./model.ts";
import type { s3KeyOperations } from "./operations.ts";
import type { S3KeyItem, S3KeyService } from "./service.ts";

export const s3KeyHandlers = (s3Keys: S3KeyService): Handlers<typeof s3KeyOperations> => ({
  listS3Keys: async ({ caller }) => ({ s3Keys: (await s3Keys.list(caller)).map(shown) }),
  async createS3Key({ caller, body }) {
    const made = await s3Keys.create(caller, body);
    return { ...shown(made), secretAccessKey: made.secret };
  },
  deleteS3Key: ({ caller, params }) => s3Keys.remove(caller, params.id!),
});

function shown({ id, createdAt, doc }: S3KeyItem): S3Key {
  return recordFrom(S3Key, { id, ...doc, createdAt: timestamp(createdAt) });
}
