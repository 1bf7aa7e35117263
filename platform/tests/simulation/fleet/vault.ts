/** A vault that hides nothing, since a history keeps no secrets and real encryption would take most of its time. */
import type { Vault } from "../../../src/ports/vault/vault.ts";

export const plainVault: Vault = {
  masters: ["plain"],
  seal: async (text, context) => ({ master: "plain", key: context, data: text }),
  open: async ({ data }) => data,
  rewrap: () => undefined,
  keysFor: () => [new Uint8Array(32)],
};
