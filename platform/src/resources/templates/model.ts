/** Templates: configurations that Pods and endpoints are made from. They get a copy, or an endpoint follows its template. */
import type { Kept } from "../../kernel/document.ts";
import { type KeptOf, type RecordOf, resource } from "../../kernel/resource.ts";
import { closed, name, oneOf, type Static, t } from "../../kernel/schema.ts";
import { containerFields, shownContainerFields } from "../container/model.ts";
import { cudaVersion, MOST_ITEMS } from "../endpoints/model.ts";
import { persistentMount } from "../pods/model.ts";

export const templateCategories = ["CPU", "NVIDIA", "AMD"] as const;
export type TemplateCategory = (typeof templateCategories)[number];

const LONGEST_README = 262_144;
const LONGEST_SCRIPT = 262_144;
const MOST_LABELS = 100;

const allowedCudaVersions = t.Array(cudaVersion, {
  default: [],
  maxItems: MOST_ITEMS,
  uniqueItems: true,
  description: "Exact CUDA versions; an empty list means any.",
});

const portLabel = closed({ port: t.String({ minLength: 1, maxLength: 16 }), name: t.String({ maxLength: 191 }) });
export const portLabels = t.Array(portLabel, {
  maxItems: MOST_LABELS,
  description: "What its ports are called, for people.",
});
export type PortLabel = Static<typeof portLabel>;

const flag = (value: boolean, description: string, flat?: string) =>
  t.Optional(t.Boolean({ default: value, description, ...(flat && { "x-flat": flat }) }));

export const Template = resource("Template", {
  assigned: { id: t.String({ description: "Unique template identifier." }) },
  given: {
    name: name({ description: "Name for people, unique in the account." }),
    ...containerFields,
    image: t.String({ ...containerFields.image, description: "Container image with tag, or `host:/abs/dir`." }),
    mounts: t.Optional(
      closed(
        { persistent: t.Optional(persistentMount) },
        { default: {}, description: "Storage of the Pods that are made from it. In an update, `{}` changes nothing." },
      ),
    ),
    serverless: flag(false, "Whether endpoints are made from it, and not Pods.", "isServerless"),
    public: flag(false, "Whether other accounts may read and use it.", "isPublic"),
    category: t.Optional(oneOf(templateCategories, { default: "NVIDIA", description: "What it is meant to run on." })),
    startSsh: flag(true, "Gives its Pods the account's SSH keys as `PUBLIC_KEY`."),
    startJupyter: flag(true, "Gives each of its Pods a new `JUPYTER_PASSWORD`."),
    allowedCudaVersions: t.Optional(allowedCudaVersions),
  },
  flatOnly: {
    readme: t.Optional(t.String({ maxLength: LONGEST_README, description: "Text for people, in Markdown." })),
    portLabels: t.Optional(portLabels),
    startScript: t.Optional(t.String({ maxLength: LONGEST_SCRIPT, description: "Kept for those who ask; not run." })),
  },
  emptyUpdate: true,
  shown: {
    name: t.String({ maxLength: 191 }),
    ...shownContainerFields,
    mounts: t.Object({ persistent: t.Optional(t.Object({ size: t.Integer({ minimum: 1 }), path: t.String() })) }),
    serverless: t.Boolean(),
    public: t.Boolean(),
    category: oneOf(templateCategories),
    startSsh: t.Boolean(),
    startJupyter: t.Boolean(),
    allowedCudaVersions: t.Array(t.String({ maxLength: 16 }), { maxItems: MOST_ITEMS }),
  },
});
export type Template = RecordOf<typeof Template>;

/** These fields exist only in the flat dialect, but are kept whichever surface is used. */
export type KeptTemplate = KeptOf<typeof Template, { readme: string; portLabels: PortLabel[]; startScript: string }>;

/**
 * Longer public templates are left out of lists and can only be read by id. Otherwise anyone who lists public templates would have to load
 * the large ones of strangers.
 */
export const LISTED_LENGTH = 32_768;

export const templates: Kept<KeptTemplate> = {
  kind: "template",
  v: 1,
  unique: ({ name }) => ({ name }),
  listed: (doc) => ({ public: doc.public && JSON.stringify(doc).length <= LISTED_LENGTH ? "yes" : undefined }),
};

/** The sources of public templates: Millrace itself, the account of the installation's owner, and all other accounts. */
export const templateSources = ["official", "verified", "community"] as const;
export type TemplateSource = (typeof templateSources)[number];
