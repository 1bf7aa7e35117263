/** Models: files that the operator stores once, and that workers of endpoints which name them see read-only. */
import type { Kept } from "../../kernel/document.ts";
import { lifecycle, type Moved, type StateOf } from "../../kernel/lifecycle.ts";
import type { Reason } from "../../kernel/reason.ts";
import { type KeptOf, type RecordOf, resource } from "../../kernel/resource.ts";
import { closed, dateTime, nullable, oneOf, type Static, t } from "../../kernel/schema.ts";

export const MOST_MODELS = 1000;
const MOST_ACCOUNTS = 1000;
const LONGEST_PATH = 4096;

/** As in the layout `models--org--name`: letters, digits, dots, hyphens and underscores, and no two hyphens or dots in a row. */
const NAME = "[A-Za-z0-9](?:[A-Za-z0-9_]|[.-](?![.-])){0,94}/[A-Za-z0-9](?:[A-Za-z0-9_]|[.-](?![.-])){0,94}";
export const REVISION = "[A-Za-z0-9][A-Za-z0-9._-]{0,99}";

export const modelLifecycle = lifecycle({
  of: "Model",
  states: {
    FILLING: "Its files are being copied to the first machine. Workers that need it wait.",
    READY: "At least one machine has all of its files.",
    FAILED: "Its files could not be copied. The reason says why. Delete it, and add it again.",
  },
  begins: ["FILLING"],
  moves: {
    finish: { from: ["FILLING"], to: "READY" },
    fail: { from: ["FILLING"], to: "FAILED" },
  },
});

export const copyLifecycle = lifecycle({
  of: "Copy of a model",
  states: {
    FILLING: "The files are being copied to the machine.",
    READY: "The machine has all files, and workers there see them.",
    FAILED: "The files could not be copied to the machine. The reason says why. It is tried again every minute.",
  },
  begins: ["FILLING"],
  moves: {
    finish: { from: ["FILLING"], to: "READY" },
    fail: { from: ["FILLING", "READY"], to: "FAILED" },
    again: { from: ["FAILED", "READY", "FILLING"], to: "FILLING" },
  },
});

const status = (of: readonly string[]) => oneOf(of as readonly [string, ...string[]]);
const reason = nullable(t.String({ description: "Why it is not ready; null if it is." }));
const code = nullable(t.String({ description: "The code of the reason, for programs." }));

export const ModelCopy = t.Object(
  {
    machine: nullable(t.String({ description: "The machine that has it; null for storage that machines share." })),
    status: status(copyLifecycle.states),
    statusReason: reason,
    statusReasonCode: code,
    bytes: t.Integer({ minimum: 0, description: "How much of it is there." }),
  },
  { $id: "ModelCopy" },
);
export type ModelCopy = Static<typeof ModelCopy>;

const volumeSource = closed({
  id: t.String({ minLength: 1, maxLength: 64, description: "A network volume of this account." }),
  path: t.Optional(
    t.String({ maxLength: LONGEST_PATH, default: "", description: "The folder on it; all of it by default." }),
  ),
});

export const Model = resource("Model", {
  assigned: {
    id: t.String({ description: "Unique model identifier." }),
    status: status(modelLifecycle.states),
    statusReason: reason,
    statusReasonCode: code,
    revision: nullable(t.String({ description: "The snapshot that workers see. Null until it is known." })),
    size: nullable(t.Integer({ minimum: 0, description: "Bytes of all files. Null until they were counted." })),
    files: nullable(t.Integer({ minimum: 0, description: "How many files it has. Null until they were counted." })),
    source: t.String({ description: "Where the files came from." }),
    copies: t.Array(ModelCopy, { description: "Where its files are." }),
    createdAt: dateTime("When it was added."),
  },
  fixed: {
    name: t.String({
      maxLength: 191,
      pattern: `^${NAME}$`,
      description: "Such as `org/name`. Endpoints name it so in `modelReferences`.",
    }),
  },
  given: {
    everyone: t.Optional(
      t.Boolean({ default: false, description: "Whether every account of the installation may use it." }),
    ),
    accounts: t.Optional(
      t.Array(t.String({ minLength: 1, maxLength: 64 }), {
        default: [],
        maxItems: MOST_ACCOUNTS,
        uniqueItems: true,
        description: "Ids of accounts that may use it. That of the installation's owner may use all models.",
      }),
    ),
  },
  shown: {
    everyone: t.Boolean(),
    accounts: t.Array(t.String(), { maxItems: MOST_ACCOUNTS }),
  },
  once: {
    folder: t.Optional(
      t.String({
        minLength: 1,
        maxLength: LONGEST_PATH,
        pattern: "^/",
        description:
          "A folder on the machine of the server that answers: the model's files, or a cache in the layout of the public worker.",
      }),
    ),
    networkVolume: t.Optional(volumeSource),
    revision: t.Optional(
      t.String({
        pattern: `^${REVISION}$`,
        maxLength: 100,
        description:
          "The name of its snapshot. By default what `refs/main` of a cache says, or one made from the files.",
      }),
    ),
  },
});
export type Model = RecordOf<typeof Model>;

/** A model as accounts that may use it see it. */
export const UsableModel = t.Object(
  {
    name: t.String({ description: "As in `modelReferences` of an endpoint." }),
    revision: nullable(t.String({ description: "Its snapshot. Null until it is known." })),
    status: status(modelLifecycle.states),
    statusReason: reason,
    size: nullable(t.Integer({ minimum: 0, description: "Bytes of all files. Null until they were counted." })),
    path: t.String({ description: "Where workers see it." }),
  },
  { $id: "UsableModel" },
);
export type UsableModel = Static<typeof UsableModel>;

/** Where the files come from, as the node can find them that reaches them. */
export type KeptSource =
  | { folder: string; node: string }
  | { volume: string; path: string; machine: string | null; node: string };

export type KeptModel = KeptOf<typeof Model> & {
  state: Moved<StateOf<typeof modelLifecycle>>;
  reason: Reason | null;
  source: KeptSource;
  /** The revision that was asked for. */
  asked?: string;
  /** What was found; absent before. */
  found?: { revision: string; bytes: number; files: number };
};

export const models: Kept<KeptModel> = {
  kind: "model",
  v: 1,
  listed: ({ name }) => ({ name }),
};

/** The copy of a model on a machine, or with `SHARED_STORAGE` on storage that machines share. */
export type KeptCopy = {
  model: string;
  holder: string;
  /** The node that fills it, and the process: a fill of an earlier process has ended. */
  node: string;
  process: string;
  state: Moved<StateOf<typeof copyLifecycle>>;
  reason: Reason | null;
  bytes: number;
  /** When it failed. */
  failedAt?: number;
};

export const copies: Kept<KeptCopy> = {
  kind: "model-copy",
  v: 1,
  listed: ({ model, holder }) => ({ model, holder }),
};

export const copyId = (model: string, holder: string) => `${model}.${holder}`;

/** The volume of a machine that holds the files of a model. */
export const volumeOf = (model: string) => `model-${model}`;

/** The cache in which the public worker looks for models. */
const HUB = "/runpod-volume/huggingface-cache/hub";

/** The folder of a model in a cache. */
export const cacheName = (name: string) => `models--${name.replace("/", "--")}`;

/** Where a worker sees a model. */
export const pathOf = (name: string) => `${HUB}/${cacheName(name)}`;

/** How endpoints name models: `org/name`, `org/name:revision`, or the same as an address of the public hub, as public clients send it. */
const ADDRESS = "https://huggingface\\.co/";
/** The newest snapshot. */
const MAIN = "main";

/** The form of a reference, for the schema. */
export const REFERENCE = `^(?:${ADDRESS})?${NAME}(?::${REVISION})?$`;

export interface Reference {
  name: string;
  /** Absent for the newest. */
  revision?: string;
}

export function referenceIn(text: string): Reference {
  const [name = "", revision] = text.replace(new RegExp(`^${ADDRESS}`), "").split(":");
  return revision === undefined || revision === MAIN ? { name } : { name, revision };
}

/** The names in these references, for the list key of endpoints. */
export const namesIn = (references: readonly string[] = []): string[] => [
  ...new Set(references.map((text) => referenceIn(text).name)),
];
