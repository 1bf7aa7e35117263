/** Registries are credentials for pulling private images. Delegations record ECR repositories that are to be opened without a password. */
import type { Kept } from "../../kernel/document.ts";
import { type KeptOf, type RecordOf, resource } from "../../kernel/resource.ts";
import { dateTime, name, nullable, t } from "../../kernel/schema.ts";

const LONGEST_PASSWORD = 16_384;
const LONGEST_ARN = 2048;

export const Registry = resource("Registry", {
  assigned: { id: t.String({ description: "Unique registry identifier." }) },
  fixed: { name: name({ description: "Name for people, unique in the account." }) },
  given: {},
  hidden: {
    username: name({ description: "User at the registry. Write-only: no answer ever contains it.", writeOnly: true }),
    password: t.String({
      minLength: 1,
      maxLength: LONGEST_PASSWORD,
      description: "Password or token at the registry. Write-only: no answer ever contains it.",
      writeOnly: true,
    }),
  },
});
export type Registry = RecordOf<typeof Registry>;

export type KeptRegistry = KeptOf<typeof Registry>;

export const registries: Kept<KeptRegistry> = {
  kind: "registry",
  v: 1,
  unique: ({ name }) => ({ name }),
};

export const Delegation = resource("RegistryDelegation", {
  assigned: {
    id: t.String({ description: "Unique delegation identifier." }),
    delegatorUserId: t.String({ description: "The user who made it." }),
    awsUser: t.String({ description: "Number of the AWS account that has the repository." }),
    repository: t.String({ description: "Repository in that account's registry." }),
    tag: t.String({ description: "Tag of the image." }),
    awsRegion: t.String({ description: "AWS region of the registry." }),
    dockerRegistryUri: t.Optional(t.String({ description: "The registry's host." })),
    createdAt: dateTime("Creation time."),
  },
  given: { name: t.Optional({ ...nullable(name()), default: null, description: "Name for people." }) },
  hidden: {
    resource: t.String({
      minLength: 1,
      maxLength: LONGEST_ARN,
      description: "ARN of an ECR repository, such as `arn:aws:ecr:us-east-2:123456789012:repository/team/model`.",
    }),
  },
});
export type Delegation = RecordOf<typeof Delegation>;

export type KeptDelegation = KeptOf<
  typeof Delegation,
  Pick<Delegation, "awsUser" | "awsRegion" | "repository" | "tag"> & {
    name: string | null;
    userId: string;
    /** The host of the registry, in the domain of the ARN's partition. */
    host: string;
  }
>;

export const delegations: Kept<KeptDelegation> = { kind: "registry-delegation", called: "delegation", v: 1 };
