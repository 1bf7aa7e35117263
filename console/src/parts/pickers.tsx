/** Fields that name other records of the account: their names are chosen, and their ids are sent. */
import type { DataCenter } from "@millrace/platform/resources/catalog/model.ts";
import type { NetworkVolume } from "@millrace/platform/resources/volumes/model.ts";
import { Link } from "@tanstack/react-router";
import { useRead } from "../api/queries.ts";
import { resources } from "../api/resources.ts";
import { Described } from "../design/described.tsx";
import { Tick } from "../design/field.tsx";
import type { Special } from "../forms/schema-form.tsx";
import css from "./compute-cards.module.css";
import { ComputeGroup } from "./compute-cards.tsx";
import { useList } from "./resource-list.tsx";

type Picked = Parameters<Special>[0];

export const pickVolumes: Special = (field) => <VolumesPicker {...field} />;

function VolumesPicker({ value, onChange, fault, shape }: Picked) {
  const { rows } = useList<NetworkVolume>(resources.volumes);
  const choices = (rows ?? []).map(({ id, name, size }) => ({ id, label: `${name ?? id}, ${size} GB` }));
  return (
    <Ticks
      shape={shape}
      value={value}
      onChange={onChange}
      fault={fault}
      choices={choices}
      none={
        rows && (
          <>
            You have no network volumes. <Link to="/volumes/new">Create one</Link>
          </>
        )
      }
    />
  );
}

export const pickDataCenters: Special = (field) => <DataCentersPicker {...field} />;

function DataCentersPicker({ value, onChange, fault, shape }: Picked) {
  const { data } = useRead("listDataCenters", {}, { staleTime: Number.POSITIVE_INFINITY });
  const choices = (data?.dataCenters ?? []).map(({ id, name }: DataCenter) => ({ id, label: `${id}, ${name}` }));
  return <Ticks shape={shape} value={value} onChange={onChange} fault={fault} choices={choices} none={undefined} />;
}

interface TicksProps extends Pick<Picked, "value" | "onChange" | "fault" | "shape"> {
  choices: readonly { id: string; label: string }[];
  none: React.ReactNode;
}

function Ticks({ shape, value, onChange, fault, choices, none }: TicksProps) {
  const chosen = (value as string[] | undefined) ?? [];
  const { description } = shape.schema;
  return (
    <ComputeGroup legend={shape.label} fault={fault} help={description && <Described text={description} />}>
      {choices.length === 0 && none ? (
        <p className={css.help}>{none}</p>
      ) : (
        <div className={css.choices}>
          {choices.map(({ id, label }) => (
            <Tick
              key={id}
              label={label}
              value={chosen.includes(id)}
              onChange={(on) => onChange(on ? [...chosen, id] : chosen.filter((one) => one !== id))}
            />
          ))}
        </div>
      )}
    </ComputeGroup>
  );
}
