/** The official templates as templates: every account reads them by their ids, and none changes them. */
import { officialTemplateData } from "../../catalog/templates.ts";
import { created } from "./fields.ts";
import type { KeptTemplate } from "./model.ts";

interface Official {
  id: string;
  doc: KeptTemplate;
}

/** What a template does not ask for it does not get: programs of others are told no keys that they do not need. */
const UNASKED = { startSsh: false, startJupyter: false };

export const officialTemplates: readonly Official[] = officialTemplateData.map(({ id, alias: _, ...terms }) => ({
  id,
  doc: { ...created({ ...UNASKED, ...terms }), public: true },
}));

const byName = new Map(
  officialTemplateData.flatMap(({ id, alias }, i) =>
    [id, alias].flatMap((name) => (name === undefined ? [] : [[name, officialTemplates[i]!] as const])),
  ),
);

export const officialTemplate = (idOrAlias: string): Official | undefined => byName.get(idOrAlias);
