/** CPU flavors with their size as one word, `<flavor>-<vCPUs>-<GB>`, as the flat dialect says them. */
import { t } from "../../kernel/schema.ts";

const MOST = 100;

export const instanceIds = t.Array(t.String({ maxLength: 191, pattern: "^[^-]+-\\d{1,4}(-\\d{1,9})?$" }), {
  minItems: 1,
  maxItems: MOST,
  description: "CPU flavors in order of preference, each `<flavor>-<vCPUs>-<GB>`.",
});

export function flavorOf(instance: string): { id: string; vcpuCount: number } {
  const [id = "", vcpus] = instance.split("-");
  return { id, vcpuCount: Number(vcpus) };
}
