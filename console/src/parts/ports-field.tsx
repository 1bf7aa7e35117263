/** Ports to expose, each a number and whether it speaks HTTP or plain TCP. */
import { Plus, X } from "lucide-react";
import { Button, IconButton } from "../design/button.tsx";
import { Choice } from "../design/field.tsx";
import { Group } from "../design/segments.tsx";
import type { Special } from "../forms/schema-form.tsx";
import { nextPort } from "./next-port.ts";
import css from "./ports-field.module.css";

export const portsField: Special = (field) => <PortsField {...field} />;

const KINDS = [
  { value: "http", label: "HTTP" },
  { value: "tcp", label: "TCP" },
] as const;

function PortsField({ value, onChange, fault, shape }: Parameters<Special>[0]) {
  const ports = ((value as string[] | undefined) ?? []).map((text) => text.split("/") as [string, "http" | "tcp"]);
  const change = (next: readonly (readonly [string, string])[]) => onChange(next.map((port) => port.join("/")));
  return (
    <Group
      legend={shape.label}
      fault={fault}
      help="HTTP ports get a web address that asks who comes. TCP ports get a number of the machine, open to everyone."
    >
      {ports.map(([number, kind], index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: rows have no identity but their place
        <div key={index} className={css.row}>
          <input
            type="number"
            className={css.number}
            aria-label={`Port ${index + 1}`}
            min={1}
            max={99_999}
            value={number}
            onChange={({ target }) => change(ports.with(index, [target.value, kind]))}
          />
          <Choice
            label={`Kind of port ${number || index + 1}`}
            value={kind}
            options={KINDS}
            onChange={(next) => change(ports.with(index, [number, next]))}
          />
          <IconButton
            label={`Remove port ${number || index + 1}`}
            icon={<X />}
            onClick={() => change(ports.toSpliced(index, 1))}
          />
        </div>
      ))}
      <div>
        <Button size="small" icon={<Plus />} onClick={() => change([...ports, [nextPort(ports), "http"]])}>
          Add a port
        </Button>
      </div>
    </Group>
  );
}
