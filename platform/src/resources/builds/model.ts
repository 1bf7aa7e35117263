/** Builds of an endpoint's image from Git. A self-hosted server makes none. */
import { dateTime, nullable, oneOf, t } from "../../kernel/schema.ts";

const states = [
  "PENDING",
  "BUILDING",
  "UPLOADING",
  "TESTING",
  "COMPLETED",
  "FAILED",
  "CANCELLED",
  "TEST_FAILED",
] as const;
const text = t.Optional(nullable(t.String()));
const time = (description: string) => t.Optional(nullable(dateTime(description)));

export const Build = t.Object(
  {
    id: t.String(),
    status: oneOf(states),
    commitHash: text,
    commitMessage: text,
    branch: text,
    commitDate: time("When the commit was made."),
    imageName: text,
    startedAt: time("When the build began."),
    completedAt: time("When the build ended."),
    error: text,
  },
  { $id: "Build" },
);
