/** What a new endpoint will run, where, and what it costs, while the form is filled in. */
import { moneyText } from "../../design/facts.tsx";
import { Facts } from "../../design/layout.tsx";
import type { Values } from "../../forms/schema-form.tsx";
import { chosenTypes, cpuWorkerPrice, type GpuRequest, gpuWorkerPrice, type Range } from "../../parts/compute.ts";
import { useGpuCatalog } from "../../parts/compute-cards.tsx";
import { TYPE_WORDS } from "./columns.tsx";
import type { CpuRequest } from "./compute-field.tsx";
import { usePrices } from "./reads.ts";
import css from "./serverless.module.css";

const HOURS = 24;
const DEFAULT_MAX = 3;

export function CostSummary({ value }: { value: Values }) {
  const gpu = value.gpu as GpuRequest | undefined;
  const cpu = value.cpu as CpuRequest | undefined;
  const count = gpu?.count ?? 1;
  const catalog = useGpuCatalog("SERVERLESS", count, gpu !== undefined).data?.gpus ?? [];
  const { cpus } = usePrices();
  const types = chosenTypes(gpu, catalog);
  const price = cpu ? cpuWorkerPrice(cpu, cpus) : gpuWorkerPrice(types, count);
  const { min = 0, max = DEFAULT_MAX } = (value.workers ?? {}) as { min?: number; max?: number };
  const isOut = types.length > 0 && types.every(({ availability }) => availability === "NONE");
  return (
    <div className={css.stack}>
      <Facts
        rows={[
          [
            "Runs",
            value.image ? <code key="image">{String(value.image)}</code> : <Missing key="image" text="Name an image" />,
          ],
          ["As", TYPE_WORDS[(value.type as keyof typeof TYPE_WORDS) ?? "QUEUE"]],
          [
            "On",
            whereText(
              cpu,
              types.map(({ name }) => name),
              count,
            ) ?? <Missing key="on" text="Choose compute" />,
          ],
          ["Workers", `${min} to ${max}`],
          ["A worker", price ? `${rangeText(price)} an hour` : "–"],
          ["A day, least", price ? moneyText(price.least * min * HOURS) : "–"],
          ["A day, most", price ? moneyText(price.most * max * HOURS) : "–"],
        ]}
      />
      <p className={css.note}>
        {min === 0
          ? "It costs nothing while no worker runs. Workers are paid by the second, from the start of the program to its end."
          : `${min === 1 ? "One worker is" : `${min} workers are`} always on and paid for, with work or without.`}{" "}
        The disk of workers is added.
      </p>
      {isOut && (
        <p className={css.warning}>
          None of these GPUs is free now. Workers will wait until one is. Choose more types to start sooner.
        </p>
      )}
    </div>
  );
}

const Missing = ({ text }: { text: string }) => <span className="quiet">{text}</span>;

const rangeText = ({ least, most }: Range) =>
  least === most ? moneyText(least) : `${moneyText(least)} to ${moneyText(most)}`;

function whereText(cpu: CpuRequest | undefined, gpus: readonly string[], count: number): string | undefined {
  if (cpu)
    return cpu.length > 0 ? cpu.map(({ id, vcpuCount }) => `${id} with ${vcpuCount} vCPU`).join(", or ") : undefined;
  if (gpus.length === 0) return undefined;
  return `${count > 1 ? `${count} x ` : ""}${gpus.slice(0, 4).join(", or ")}${gpus.length > 4 ? ` or ${gpus.length - 4} others` : ""}`;
}
