/** The controls of a Pod's own in its forms. */
import { envField } from "../../parts/env-field.tsx";
import { mountsField } from "../../parts/mounts-field.tsx";
import { pickDataCenters } from "../../parts/pickers.tsx";
import { portsField } from "../../parts/ports-field.tsx";
import { registryField } from "../../parts/registry-field.tsx";

export const SPECIALS = {
  env: envField,
  ports: portsField,
  registry: registryField,
  dataCenterIds: pickDataCenters,
};

export const mountsOfPod = mountsField(({ cpu }) => cpu === undefined);
