/** The container fields that Pods, endpoints and templates share. */
import { nullable, t } from "../../kernel/schema.ts";

export const registryReference = t.Union([
  t.Null(),
  t.String({ minLength: 1 }),
  t.Object({ id: t.String({ minLength: 1 }) }, { additionalProperties: false }),
]);

/** As a caller sends them. */
export const containerFields = {
  image: t.Optional(
    t.String({ minLength: 1, description: "Container image with tag, or `host:/abs/dir`.", "x-flat": "imageName" }),
  ),
  args: t.Optional(
    t.String({
      description: 'Start command as one text: a shell line, or `{"entrypoint":[…],"cmd":[…]}`. Empty clears it.',
      "x-flat": "dockerArgs",
    }),
  ),
  entrypoint: t.Optional(t.Array(t.String(), { description: "Exec-form ENTRYPOINT; an empty list clears it." })),
  cmd: t.Optional(t.Array(t.String(), { description: "Exec-form CMD; an empty list clears it." })),
  disk: t.Optional(t.Integer({ minimum: 1, description: "Container disk in GB.", "x-flat": "containerDiskInGb" })),
  env: t.Optional(
    t.Record(t.String({ pattern: "^[^=\\u0000]+$" }), t.String(), {
      description: "Environment variables. Values may hold `{{ MILLRACE_SECRET_<name> }}`.",
      additionalProperties: false,
    }),
  ),
  ports: t.Optional(
    t.Array(t.String({ pattern: "^([1-9]\\d{0,4})/(http|tcp)$" }), {
      description: "Ports to expose, each `port/protocol`, from 1 to 65535.",
    }),
  ),
  registry: t.Optional({
    ...registryReference,
    description: "Registry credential: an id, `{id}`, or null.",
    "x-flat": "containerRegistryAuthId",
  }),
};

/** As records show them: always all of them. */
export const shownContainerFields = {
  image: t.String({ description: "Container image with tag." }),
  args: t.String({ description: "Start command as one text." }),
  entrypoint: t.Array(t.String()),
  cmd: t.Array(t.String()),
  disk: t.Integer({ description: "Container disk in GB." }),
  env: t.Record(t.String(), t.String()),
  ports: t.Array(t.String()),
  registry: nullable(t.String({ description: "Registry credential id." })),
};
