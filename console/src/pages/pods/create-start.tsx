/** The template that a new Pod is made from: own ones, those that come with Millrace, and those of others. */
import type { Template } from "@millrace/platform/resources/templates/model.ts";
import { useEffect, useRef } from "react";
import { useRead } from "../../api/queries.ts";
import { resources } from "../../api/resources.ts";
import { Panel } from "../../design/layout.tsx";
import { Group, Segments } from "../../design/segments.tsx";
import type { Values } from "../../forms/schema-form.tsx";
import cards from "../../parts/compute-cards.module.css";
import { useList } from "../../parts/resource-list.tsx";
import { useView } from "../../shell/view.ts";
import css from "./pods.module.css";
import { filledFrom, withoutTemplate } from "./template-fields.ts";

const SOURCES = [
  { value: "official", label: "Official" },
  { value: "own", label: "Own" },
  { value: "verified", label: "Verified" },
  { value: "community", label: "Public" },
] as const;
type Source = (typeof SOURCES)[number]["value"];

/** Templates for Pods from one source. */
function usePodTemplates(source: Source): Template[] | undefined {
  const own = useList<Template>(resources.templates);
  const isPublic = source !== "own";
  const read = useRead(
    "listPublicTemplates",
    { query: { source: isPublic ? source : "official" } },
    { enabled: isPublic },
  );
  return (isPublic ? read.data?.templates : own.rows)?.filter(({ serverless }) => !serverless);
}

/** What the choice shows first. */
export const useOfficialTemplates = () => useRead("listPublicTemplates", { query: { source: "official" } });

interface ChoiceProps {
  value: Values;
  onChange: (value: Values) => void;
  /** What a template gives the form, and what stays without one; those of a Pod by default. */
  fill?: (template: Template, before: Values) => Values;
  empty?: (before: Values) => Values;
  help?: string;
}

const HELP = "A template fills in the form. What you change below wins over it.";

export function TemplateChoice({
  value,
  onChange,
  fill = filledFrom,
  empty = withoutTemplate,
  help = HELP,
}: ChoiceProps) {
  const [wanted, setWanted] = useView("template");
  const [source, setSource] = useView<Source>("from", "official");
  const templates = usePodTemplates(source);
  useFilledFromLink(wanted, value, (template) => onChange(fill(template, value)));
  const chosen = value.templateId as string | undefined;
  const clear = () => {
    setWanted(undefined);
    onChange(empty(value));
  };
  return (
    <Panel>
      <Group legend="Made from" help={help}>
        <div>
          <Segments label="Templates" value={source} options={SOURCES} onChange={setSource} />
        </div>
        <div className={cards.cards}>
          <button type="button" className={cards.card} aria-pressed={chosen === undefined} onClick={clear}>
            <span className={cards.title}>By hand</span>
            <span className="quiet">Your own image and command</span>
          </button>
          {templates?.map((template) => (
            <button
              key={template.id}
              type="button"
              className={cards.card}
              aria-pressed={chosen === template.id}
              title={template.image}
              onClick={() => setWanted(template.id)}
            >
              <span className={cards.title}>{template.name}</span>
              <span className={`quiet ${css.cut}`}>{template.image}</span>
              <span className="quiet">{template.category === "CPU" ? "CPU" : `GPU, ${template.category}`}</span>
            </button>
          ))}
        </div>
        {templates?.length === 0 && <p className="quiet">There are none here yet.</p>}
      </Group>
    </Panel>
  );
}

/** The template is in the address: a link with one fills the form, once the template was read. */
function useFilledFromLink(
  wanted: string | undefined,
  { templateId }: Values,
  take: (template: Template) => void,
): void {
  const { data } = useRead("getTemplate", { params: { id: wanted ?? "" } }, { enabled: wanted !== undefined });
  const taking = useRef(take);
  taking.current = take;
  useEffect(() => {
    if (wanted !== undefined && data?.id === wanted && templateId !== wanted) taking.current(data);
  }, [wanted, data, templateId]);
}
