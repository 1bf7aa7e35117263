/** Operations on an account's S3 keys. A key can read and write all volumes, so making one needs the right to do that. */
import type { Operations } from "../../kernel/operation.ts";
import { operationsOn } from "../../kernel/operations-on.ts";
import { CreatedS3Key, S3Key } from "./model.ts";

const on = operationsOn(S3Key, "/v2/account/s3-keys", {
  tag: "Account",
  scope: "network-volumes",
  one: "an S3 key",
  many: "s3Keys",
});

export const s3KeyOperations = {
  listS3Keys: on.find({}, { summary: "List the account's S3 keys" }),
  createS3Key: {
    ...on.create({
      description:
        "The secret is in this answer and nowhere else. With it, S3 clients read and write the account's network volumes at `/s3`: a bucket is a volume's id, and its region the data center.",
      refuses: ["over-quota"],
    }),
    out: CreatedS3Key,
  },
  deleteS3Key: on.remove({ description: "Requests signed with it are refused within a second." }),
} as const satisfies Operations;
