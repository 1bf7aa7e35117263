/** What a template fills into the form of a new endpoint. */
import type { Template } from "@millrace/platform/resources/templates/model.ts";

type Values = Record<string, unknown>;

/** The fields of a container that a person sees in the form. A credential stays with the template, since it may be another account's. */
const FILLED = ["image", "entrypoint", "cmd", "disk", "env", "ports"] as const;

/** Compute, type and numbers of workers stay as they were chosen; a template for CPU asks for CPU. */
export function filledFrom(template: Template, before: Values): Values {
  const { type, workers, gpu, cpu } = before;
  const isCpu = template.category === "CPU";
  const compute = isCpu ? { cpu: cpu ?? [{ id: "cpu3c", vcpuCount: 2 }] } : cpu ? { gpu: {} } : { gpu };
  const filled = Object.fromEntries(
    FILLED.map((name) => [name, template[name]] as const).filter(([, value]) => !isEmpty(value)),
  );
  return { type, workers, ...compute, name: freeName(template.name), ...filled, templateId: template.id };
}

const isEmpty = (value: unknown) =>
  value === undefined || value === null || (typeof value === "object" && Object.keys(value).length === 0);

/** A name for the endpoint that people can change. */
const freeName = (name: string) => name.trim().slice(0, 191);
