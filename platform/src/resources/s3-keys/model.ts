/** S3 keys, for reading and writing the contents of an account's volumes without a Pod. */
import type { Kept } from "../../kernel/document.ts";
import { type KeptOf, type RecordOf, resource } from "../../kernel/resource.ts";
import { dateTime, t } from "../../kernel/schema.ts";

export const S3Key = resource("S3Key", {
  assigned: {
    id: t.String({ description: "Unique key identifier." }),
    accessKeyId: t.String({ description: "What S3 clients call the access key id." }),
    createdAt: dateTime("Creation time."),
  },
  fixed: { name: t.Optional(t.String({ minLength: 1, maxLength: 191, description: "Name for people." })) },
  given: {},
});
export type S3Key = RecordOf<typeof S3Key>;

/** The answer to a creation. No other response ever shows the secret. */
export const CreatedS3Key = t.Object(
  {
    ...S3Key.record.properties,
    secretAccessKey: t.String({ description: "What S3 clients call the secret access key, shown this once." }),
  },
  { $id: "CreatedS3Key" },
);

export type KeptS3Key<Sealed = unknown> = KeptOf<
  typeof S3Key,
  {
    accessKeyId: string;
    /** The secret is sealed instead of digested, because checking a signature needs it in plain text. */
    sealed: Sealed;
  }
>;

export const s3Keys: Kept<KeptS3Key> = {
  kind: "s3-key",
  called: "S3 key",
  v: 1,
  uniqueEverywhere: ({ accessKeyId }) => ({ accessKeyId }),
};
