/** Creates a cluster: how many members, with which GPUs, and what they run. */
import type { Template } from "@millrace/platform/resources/templates/model.ts";
import { resources } from "../../api/resources.ts";
import { MOST_MEMBERS, OF_TEMPLATES } from "../../api/shapes.data.ts";
import { Money, moneyText } from "../../design/facts.tsx";
import { NumberField } from "../../design/field.tsx";
import { Facts, Refused, Skeleton } from "../../design/layout.tsx";
import { Group } from "../../design/segments.tsx";
import type { Special, Values } from "../../forms/schema-form.tsx";
import cards from "../../parts/compute-cards.module.css";
import { CountChoice, GpuCards, useGpuCatalog } from "../../parts/compute-cards.tsx";
import { mountsField } from "../../parts/mounts-field.tsx";
import { CreatePage } from "../../parts/resource-form.tsx";
import { useView } from "../../shell/view.ts";
import { SPECIALS } from "../pods/create-fields.tsx";
import { TemplateChoice, useOfficialTemplates } from "../pods/create-start.tsx";
import css from "../pods/pods.module.css";
import { clusterPrice } from "./state.ts";

const HOURS = 24;
const FEWEST = 2;
const GPU_COUNTS = [1, 2, 3, 4, 5, 6, 7, 8];
const FIRST = ["name", "type", "image", "cmd", "compute", "mounts", "env", "ports"];

interface Compute {
  gpuTypeId?: string;
  gpuCountPerPod: number;
  podCount: number;
}

const computeField: Special = ({ value, onChange, fault }) => (
  <ComputeField compute={value as Compute} onChange={onChange} fault={fault} />
);

/** A template gives all fields of the container, so that none of them may be sent beside it. */
function bodyOf(value: Values): Values {
  if (value.templateId === undefined) return value;
  const given: readonly string[] = OF_TEMPLATES;
  return Object.fromEntries(Object.entries(value).filter(([name]) => !given.includes(name)));
}

/** The container comes with the template, and is only shown. */
const filledFrom = ({ id, name, image }: Template, { type, compute, ...before }: Values): Values => ({
  name: before.name ?? name,
  type,
  compute,
  image,
  templateId: id,
});

const emptied = ({ name, type, compute }: Values): Values => ({ ...(name !== undefined && { name }), type, compute });

export function CreateCluster() {
  const [template] = useView("template");
  const reads = [useOfficialTemplates(), useGpuCatalog("CLUSTER", 1)];
  return (
    <CreatePage
      isWaiting={reads.some(({ isLoading }) => isLoading)}
      resource={resources.clusters}
      title="Create a cluster"
      about="Members are placed together, or none of them is."
      first={FIRST}
      without={["templateId", "args", ...(template === undefined ? [] : OF_TEMPLATES)]}
      specials={{ ...SPECIALS, compute: computeField, mounts: mountsField(() => true) }}
      initial={{ type: "TRAINING", compute: { gpuCountPerPod: 1, podCount: FEWEST } }}
      bodyOf={bodyOf}
      above={(value, change) => (
        <TemplateChoice
          value={value}
          onChange={change}
          fill={filledFrom}
          empty={emptied}
          help="A template gives image, command, disk, variables, ports and storage as a whole."
        />
      )}
      formKey={({ templateId }) => String(templateId ?? "by hand")}
      summary={(value) => <Summary value={value} />}
    />
  );
}

interface ComputeFieldProps {
  compute: Compute;
  onChange: (compute: Compute) => void;
  fault: string | undefined;
}

function ComputeField({ compute, onChange, fault }: ComputeFieldProps) {
  const { gpuTypeId, gpuCountPerPod, podCount } = compute;
  const read = useGpuCatalog("CLUSTER", gpuCountPerPod);
  return (
    <Group legend="Members and their GPUs" fault={fault} help="All members are on one machine, or on none.">
      <div className={cards.tools}>
        <NumberField
          label="Members"
          min={FEWEST}
          max={MOST_MEMBERS}
          value={podCount}
          onChange={(count) => onChange({ ...compute, podCount: count ?? FEWEST })}
        />
        <CountChoice
          label="per member"
          counts={GPU_COUNTS}
          value={gpuCountPerPod}
          onChange={(count) => onChange({ ...compute, gpuCountPerPod: count })}
        />
      </div>
      {read.error && <Refused refusal={read.error} retry={() => void read.refetch()} />}
      {read.data ? (
        <GpuCards
          types={read.data.gpus}
          chosen={read.data.gpus.filter(({ id }) => id === gpuTypeId)}
          count={gpuCountPerPod}
          priceOf={({ price }) => price.secure}
          onToggle={({ id }) => onChange({ ...compute, gpuTypeId: id })}
        />
      ) : (
        <Skeleton lines={6} />
      )}
    </Group>
  );
}

function Summary({ value }: { value: Values }) {
  const compute = value.compute as Compute;
  const gpus = useGpuCatalog("CLUSTER", compute.gpuCountPerPod).data?.gpus ?? [];
  const price = clusterPrice(compute, gpus);
  const type = gpus.find(({ id }) => id === compute.gpuTypeId);
  return (
    <div className={css.stack}>
      <Facts
        rows={[
          [
            "Runs",
            value.image ? (
              <code key="image">{String(value.image)}</code>
            ) : (
              <span key="image" className="quiet">
                Name an image
              </span>
            ),
          ],
          ["Members", String(compute.podCount)],
          [
            "GPUs",
            type ? (
              `${compute.podCount * compute.gpuCountPerPod} x ${type.name}`
            ) : (
              <span key="gpus" className="quiet">
                Choose a type
              </span>
            ),
          ],
          ["An hour", <Money key="hour" usd={price} />],
          ["A day", price === undefined ? "–" : moneyText(price * HOURS)],
        ]}
      />
      <p className={css.note}>It is paid by the second while members run. Disks and volumes cost beside.</p>
      {type?.availability === "NONE" && (
        <p className={css.warning}>No machine has room for a member now, so that the cluster would be refused.</p>
      )}
    </div>
  );
}
