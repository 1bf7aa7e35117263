/** How a new endpoint begins: how it is called, and the template that it is made from. */
import type { Template } from "@millrace/platform/resources/templates/model.ts";
import { useEffect, useRef } from "react";
import { useRead } from "../../api/queries.ts";
import { resources } from "../../api/resources.ts";
import { Panel } from "../../design/layout.tsx";
import type { Values } from "../../forms/schema-form.tsx";
import cards from "../../parts/compute-cards.module.css";
import { ComputeGroup } from "../../parts/compute-cards.tsx";
import { useList } from "../../parts/resource-list.tsx";
import { useView } from "../../shell/view.ts";
import css from "./serverless.module.css";
import { filledFrom } from "./template-fields.ts";

const TYPES = [
  {
    value: "QUEUE",
    title: "Queue",
    about: "Jobs wait in a queue until a worker takes them. For work that takes seconds to hours.",
  },
  {
    value: "LOAD_BALANCER",
    title: "Load balancing",
    about: "Requests go straight to the HTTP server in a worker. For models and sites that answer at once.",
  },
] as const;

interface StartProps {
  value: Values;
  onChange: (value: Values) => void;
}

export function Start({ value, onChange }: StartProps) {
  return (
    <Panel>
      <div className={css.stack}>
        <ComputeGroup legend="How it is called">
          <div className={cards.cards}>
            {TYPES.map(({ value: type, title, about }) => (
              <button
                key={type}
                type="button"
                className={cards.card}
                aria-pressed={value.type === type}
                onClick={() => {
                  const { scaling: _, ...rest } = value;
                  onChange({ ...rest, type });
                }}
              >
                <span className={cards.title}>{title}</span>
                <span className="quiet">{about}</span>
              </button>
            ))}
          </div>
        </ComputeGroup>
        <Templates value={value} onChange={onChange} />
      </div>
    </Panel>
  );
}

/** Those of each source, in the order in which they are offered. */
export const usePublicTemplates = () => [
  useRead("listPublicTemplates", { query: { source: "official" } }),
  useRead("listPublicTemplates", { query: { source: "verified" } }),
  useRead("listPublicTemplates", { query: { source: "community" } }),
];
const SOURCES = ["Official", "Verified", "Community"];

/** Own templates for endpoints first, then those that come with Millrace or from others. */
function useServerlessTemplates(): { template: Template; source: string }[] {
  const { rows: own = [] } = useList<Template>(resources.templates);
  const reads = usePublicTemplates();
  const all = [
    ...own.map((template) => ({ template, source: "Yours" })),
    ...reads.flatMap(({ data }, place) =>
      (data?.templates ?? []).map((template) => ({ template, source: SOURCES[place]! })),
    ),
  ];
  const seen = new Set<string>();
  return all.filter(({ template: { id, serverless } }) => serverless && !seen.has(id) && seen.add(id));
}

function Templates({ value, onChange }: StartProps) {
  const [wanted, setWanted] = useView("template");
  const all = useServerlessTemplates();
  const chosen = value.templateId as string | undefined;
  const found = all.find(({ template: { id } }) => id === wanted)?.template;
  const taken = useRef<string>(undefined);
  // A link with a template in it fills the form, once the template is there.
  useEffect(() => {
    if (!found || taken.current === found.id) return;
    taken.current = found.id;
    onChange(filledFrom(found, value));
  }, [found, value, onChange]);
  const clear = () => {
    taken.current = undefined;
    setWanted(undefined);
    const { type, gpu, cpu, workers } = value;
    onChange({ type, workers, ...(cpu ? { cpu } : { gpu }) });
  };
  return (
    <ComputeGroup legend="Made from" help="A template fills in the form. What you change below wins over it.">
      <div className={cards.cards}>
        <button type="button" className={cards.card} aria-pressed={chosen === undefined} onClick={clear}>
          <span className={cards.title}>By hand</span>
          <span className="quiet">Your own image and command</span>
        </button>
        {all.map(({ template, source }) => (
          <button
            key={template.id}
            type="button"
            className={cards.card}
            aria-pressed={chosen === template.id}
            title={template.image}
            onClick={() => {
              taken.current = template.id;
              onChange(filledFrom(template, value));
              setWanted(template.id);
            }}
          >
            <span className={cards.title}>{template.name}</span>
            <span className={`quiet ${css.cut}`}>{template.image}</span>
            <span className="quiet">{source}</span>
          </button>
        ))}
      </div>
    </ComputeGroup>
  );
}
