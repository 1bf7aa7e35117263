/** What a new Pod will run, where, and what it costs, while the form is filled in. */
import { Money, moneyText } from "../../design/facts.tsx";
import { Facts } from "../../design/layout.tsx";
import type { Values } from "../../forms/schema-form.tsx";
import { useCpuCatalog, useGpuCatalog } from "../../parts/compute-cards.tsx";
import { kindOfMounts, type Mounts } from "../../parts/mounts.ts";
import { type CpuWish, cloudOf, type GpuWish } from "./compute-field.tsx";
import css from "./pods.module.css";
import { podPrice } from "./price.ts";

const HOURS = 24;
const DAYS = 30;

export function PodSummary({ value }: { value: Values }) {
  const { gpu, cpu } = value as { gpu?: GpuWish; cpu?: CpuWish };
  const gpus = useGpuCatalog("POD", gpu?.count ?? 1, cpu === undefined).data?.gpus ?? [];
  const cpus = useCpuCatalog("POD", cpu !== undefined).data?.cpus ?? [];
  const price = podPrice({ ...(gpu && { gpu }), ...(cpu && { cpu }) }, cloudOf(value), { gpus, cpus });
  const type = gpus.find(({ id }) => id === gpu?.id) ?? cpus.find(({ id }) => id === cpu?.id);
  return (
    <div className={css.stack}>
      <Facts
        rows={[
          [
            "Runs",
            value.image ? <code key="image">{String(value.image)}</code> : <Missing key="image" text="Name an image" />,
          ],
          ["On", type ? `${sizeOf(gpu, cpu)}${type.name}` : <Missing key="on" text="Choose compute" />],
          ["Keeps", keptText((value.mounts as Mounts | undefined) ?? {})],
          ["An hour", <Money key="hour" usd={price} />],
          ["A day", price === undefined ? "–" : moneyText(price * HOURS)],
          ["30 days", price === undefined ? "–" : moneyText(price * HOURS * DAYS)],
        ]}
      />
      <p className={css.note}>It is paid by the second while it runs. Disks and volumes cost beside.</p>
      {type?.availability === "NONE" && (
        <p className={css.warning}>None of these is free now, so that the Pod would be refused. Choose another.</p>
      )}
    </div>
  );
}

const Missing = ({ text }: { text: string }) => <span className="quiet">{text}</span>;

function sizeOf(gpu: GpuWish | undefined, cpu: CpuWish | undefined): string {
  if (cpu) return `${cpu.vcpuCount} vCPU of `;
  return (gpu?.count ?? 1) > 1 ? `${gpu!.count} x ` : "";
}

function keptText(mounts: Mounts): string {
  switch (kindOfMounts(mounts)) {
    case "persistent":
      return `${mounts.persistent!.size ?? "?"} GB at ${mounts.persistent!.path}`;
    case "network":
      return `a network volume at ${mounts.network![0]?.path}`;
    default:
      return "nothing when it stops";
  }
}
