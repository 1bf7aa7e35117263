/** Performs operations of the API on the data itself, as the owner of an account, with the same checks and refusals. */
import type { AccountServices } from "@millrace/platform/composition/account-services.ts";
import { COMMAND_LINE } from "@millrace/platform/guards/deeds.ts";
import { performer } from "@millrace/platform/guards/perform.ts";
import type { Caller } from "@millrace/platform/kernel/caller.ts";
import { accountOperations } from "@millrace/platform/resources/account/operations.ts";
import { accountHandlers } from "@millrace/platform/resources/account/rest-v2.ts";

/** A person who can open the data folder may do everything and needs no key. This name is used in its place. */
const MAY = { key: COMMAND_LINE, grants: ["all"], ownsInstallation: true, exempt: true } as const;

/** The operations on the keys of an account, given by id or name. The default is the first account. */
export async function keyOperations({ accounts, account, audit }: AccountServices, idOrName: string | undefined) {
  const caller: Caller = { ...(await accounts.ownerOf(idOrName)), ...MAY };
  // A running server notices within a second that a key is gone.
  return performer(
    accountOperations,
    accountHandlers(account, () => {}),
    caller,
    audit,
  );
}
