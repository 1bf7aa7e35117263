/** Creates a network volume, with its price before it is chosen. */
import type { Ask } from "../../api/client.ts";
import { useRead } from "../../api/queries.ts";
import { resources } from "../../api/resources.ts";
import { Money, moneyText, wordsOf } from "../../design/facts.tsx";
import { SelectField } from "../../design/field.tsx";
import type { Special, Values } from "../../forms/schema-form.tsx";
import { CreatePage } from "../../parts/resource-form.tsx";
import { canHold, HOURS_IN_MONTH, monthlyPrice, priceOf } from "./prices.ts";
import css from "./volumes.module.css";

const FIRST = ["name", "dataCenter", "size", "type"];
const SPECIALS = { dataCenter: (field: Parameters<Special>[0]) => <DataCenterField {...field} /> };
const SMALLEST_GB = 10;

export function CreateVolume() {
  return (
    <CreatePage
      resource={resources.volumes}
      title="Create a network volume"
      about="Storage of a data center that Pods and workers share, and that outlives them."
      first={FIRST}
      specials={SPECIALS}
      initial={{ size: SMALLEST_GB }}
      summary={(value) => <Summary value={value} />}
    />
  );
}

export function useCenters() {
  const query: Ask<"listDataCenters">["query"] = { include: ["GPU_AVAILABILITY", "CPU_AVAILABILITY", "VOLUME_PRICES"] };
  return useRead("listDataCenters", { query }).data?.dataCenters.filter(canHold);
}

function Summary({ value: { size, dataCenter, type } }: { value: Values }) {
  const center = useCenters()?.find(({ id }) => id === dataCenter);
  const price = priceOf(center, type);
  const usd = price && typeof size === "number" ? monthlyPrice(size, price) : undefined;
  return (
    <div className={css.summary}>
      <p className={css.price}>
        {usd === undefined ? (
          <span className="quiet">Choose a data center to see the price</span>
        ) : (
          <Money usd={usd} per="month" />
        )}
      </p>
      {usd !== undefined && (
        <p className="quiet">
          {moneyText(usd / HOURS_IN_MONTH)} an hour, used or not, until it is deleted. Tier: {wordsOf(price!.type)}.
        </p>
      )}
      <p>Pods and workers must be in the same data center to use it. It can grow later, and never shrinks.</p>
    </div>
  );
}

/** Only data centers that offer volumes and in which this installation has machines can hold one. */
function DataCenterField({ value, onChange, fault, shape }: Parameters<Special>[0]) {
  const centers = useCenters();
  return (
    <SelectField
      label={shape.label}
      fault={fault}
      help="Where its files are. It cannot be changed."
      value={value as string | undefined}
      onChange={onChange}
      options={(centers ?? []).map(({ id, networkVolumePrices }) => ({
        value: id,
        label: id,
        about: networkVolumePrices?.[0] && `${moneyText(networkVolumePrices[0].perGbMonth)} / GB month`,
      }))}
    />
  );
}
