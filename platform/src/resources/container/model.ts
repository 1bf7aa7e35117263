/** The container fields that Pods, endpoints and templates share. */
import { MIB } from "../../kernel/operation.ts";
import { name, nullable, type Static, t } from "../../kernel/schema.ts";

const registryReference = t.Union([t.Null(), name(), t.Object({ id: name() }, { additionalProperties: false })]);

const DEFAULT_DISK_GB = 20;

/** Only the size of a body bounds commands and variables here. Whether a worker can start with them is checked where that is known. */
const text = (options: object = {}) => t.String({ maxLength: MIB, ...options });
const words = (options: object = {}) => t.Array(text(), { maxItems: 1000, ...options });
const LONGEST_IMAGE = 8192;
const MOST_PORTS = 100;
const MOST_VARIABLES = 10_000;

/** The fields as a caller sends them. */
export const containerFields = {
  image: t.Optional(
    t.String({
      minLength: 1,
      maxLength: LONGEST_IMAGE,
      description: "Container image with tag, or `host:/abs/dir`.",
      "x-flat": "imageName",
      "x-who": "host-images",
      "x-boot": true,
    }),
  ),
  args: t.Optional(
    text({
      default: "",
      description: 'Start command as one text: a shell line, or `{"entrypoint":[…],"cmd":[…]}`. Empty clears it.',
      "x-flat": "dockerArgs",
      "x-boot": true,
    }),
  ),
  entrypoint: t.Optional(
    words({ default: [], description: "Exec-form ENTRYPOINT; an empty list clears it.", "x-boot": true }),
  ),
  cmd: t.Optional(words({ default: [], description: "Exec-form CMD; an empty list clears it.", "x-boot": true })),
  disk: t.Optional(
    t.Integer({
      minimum: 1,
      maximum: 1_000_000,
      default: DEFAULT_DISK_GB,
      description: "Container disk in GB.",
      "x-flat": "containerDiskInGb",
      "x-boot": true,
    }),
  ),
  env: t.Optional(
    t.Record(t.String({ pattern: "^[^=\\u0000]+$" }), text(), {
      default: {},
      maxProperties: MOST_VARIABLES,
      description: "Environment variables. Values may hold `{{ MILLRACE_SECRET_<name> }}`.",
      additionalProperties: false,
      "x-boot": true,
    }),
  ),
  ports: t.Optional(
    t.Array(t.String({ pattern: "^([1-9]\\d{0,4})/(http|tcp)$", maxLength: 10 }), {
      default: [],
      maxItems: MOST_PORTS,
      description:
        "Ports to expose, each `port/protocol`, from 1 to 65535; a Pod's TCP port that is named from 70000 on has the same number inside and outside.",
      "x-boot": true,
    }),
  ),
  registry: t.Optional({
    ...registryReference,
    default: null,
    description: "Registry credential: an id, `{id}`, or null.",
    "x-flat": "containerRegistryAuthId",
    "x-boot": true,
  }),
};

/** The fields as records show them. Records always show all of them. */
export const shownContainerFields = {
  image: t.String({ minLength: 1, maxLength: LONGEST_IMAGE, description: "Container image with tag." }),
  args: text({ description: "Start command as one text." }),
  entrypoint: words(),
  cmd: words(),
  disk: t.Integer({ minimum: 1, maximum: 1_000_000, description: "Container disk in GB." }),
  env: t.Record(t.String(), text(), { maxProperties: MOST_VARIABLES }),
  ports: t.Array(t.String({ maxLength: 10 }), { maxItems: MOST_PORTS }),
  registry: nullable(t.String({ description: "Registry credential id." })),
};

/** The names of the container fields in a record of any kind. A template gives these to what is made from it. */
export const KEPT_CONTAINER = Object.keys(containerFields) as (keyof KeptContainer)[];

const keptContainer = t.Object({ ...containerFields, ...shownContainerFields });

/** The container fields as records of any kind keep them, which is also the form they are shown in. */
export type KeptContainer = Static<typeof keptContainer>;

/** The container fields of a record of any kind. */
export const containerOf = (doc: KeptContainer): KeptContainer =>
  Object.fromEntries(
    KEPT_CONTAINER.filter((field) => doc[field] !== undefined).map((field) => [field, doc[field]]),
  ) as KeptContainer;
