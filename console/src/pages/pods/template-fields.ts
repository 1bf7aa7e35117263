/** What a template fills into the form of a new Pod. */
import type { Template } from "@millrace/platform/resources/templates/model.ts";

type Values = Record<string, unknown>;

/** The fields that a person sees in the form. A credential stays with the template, since it may be another account's. */
const FILLED = ["image", "entrypoint", "cmd", "disk", "env", "ports", "mounts", "startSsh", "startJupyter"] as const;
const FIRST_CPU = { id: "cpu3c", vcpuCount: 2 };

/** The compute that was chosen stays where the template can use it. */
export function filledFrom(template: Template, before: Values): Values {
  const { gpu, cpu, dataCenterIds } = before;
  const isCpu = template.category === "CPU";
  const filled = Object.fromEntries(
    FILLED.filter((name) => !(isCpu && name === "mounts"))
      .map((name) => [name, template[name]] as const)
      .filter(([, value]) => !isEmpty(value)),
  );
  return {
    name: before.name ?? template.name,
    ...filled,
    ...(isCpu ? { cpu: cpu ?? FIRST_CPU } : { gpu: gpu ?? {} }),
    ...(dataCenterIds !== undefined && { dataCenterIds }),
    templateId: template.id,
  };
}

/** By hand again: the compute stays. */
export function withoutTemplate({ gpu, cpu, dataCenterIds }: Values): Values {
  return { ...(cpu ? { cpu } : { gpu: gpu ?? {} }), ...(dataCenterIds !== undefined && { dataCenterIds }) };
}

const isEmpty = (value: unknown) =>
  value === undefined || value === null || (typeof value === "object" && Object.keys(value).length === 0);
