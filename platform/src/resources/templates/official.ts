/** The official templates in the form of templates. Every account can read them by id, and none can change them. */
import { officialTemplateData } from "../../catalog/templates.ts";
import { created } from "./fields.ts";
import type { KeptTemplate } from "./model.ts";

interface Official {
  id: string;
  doc: KeptTemplate;
}

/** Official templates must ask for these. A third-party program then gets no keys or passwords that it does not need. */
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
