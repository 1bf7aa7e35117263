/** The flat dialect of templates: storage in two fields, the command in three, port labels as pairs. */
import { flatDialect, plainField } from "../../kernel/flat.ts";
import { name, nullable, t } from "../../kernel/schema.ts";
import { containerFields } from "../container/model.ts";
import type { TemplateTerms } from "./fields.ts";
import { type KeptTemplate, portLabels, Template } from "./model.ts";

const DEFAULT_PATH = "/workspace";
const MOST_GB = 1_000_000;

export const templateDialect = flatDialect<KeptTemplate, TemplateTerms>(Template, {
  odd: {
    dockerEntrypoint: plainField("entrypoint", containerFields.entrypoint),
    dockerStartCmd: plainField("cmd", containerFields.cmd),
    containerRegistryAuthId: plainField("registry", nullable(name())),
    volumeInGb: {
      says: ["mounts.persistent.size"],
      schema: t.Integer({ minimum: 0, maximum: MOST_GB, description: "Storage of its Pods; 0 for none." }),
      read: ({ mounts }) => mounts.persistent?.size,
      write: (size, { volumeMountPath }, before) => {
        const path = (volumeMountPath as string | undefined) ?? before?.mounts.persistent?.path ?? DEFAULT_PATH;
        return { mounts: { persistent: size === 0 ? null : { size: size as number, path } } };
      },
    },
    volumeMountPath: {
      says: ["mounts.persistent.path"],
      schema: t.String({ maxLength: 512, description: "Where that storage is." }),
      read: ({ mounts }) => mounts.persistent?.path,
      // With `volumeInGb`, that field writes the path too. Alone, the path moves an existing mount, and has no effect without one.
      write: (path, { volumeInGb }, before) => {
        const known = before?.mounts.persistent;
        return volumeInGb === undefined && known ? { mounts: { persistent: { ...known, path: path as string } } } : {};
      },
    },
    portsConfig: plainField("portLabels", portLabels),
  },
});
