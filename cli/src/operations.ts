/** Operations of the API, done on the data itself for the owner of an account: what the API checks and refuses is so here too. */
import type { AccountServices } from "@millrace/platform/composition/account-services.ts";
import { COMMAND_LINE } from "@millrace/platform/guards/deeds.ts";
import { performer } from "@millrace/platform/guards/perform.ts";
import type { Caller } from "@millrace/platform/kernel/caller.ts";
import { accountOperations } from "@millrace/platform/resources/account/operations.ts";
import { accountHandlers } from "@millrace/platform/resources/account/rest-v2.ts";

/** Who can open the data folder may do everything. No key is asked for; it is named where one would be. */
const MAY = { key: COMMAND_LINE, grants: ["all"], ownsInstallation: true, exempt: true } as const;

/** Those on the keys of an account, by its id or name; the first one where none is given. */
export async function keyOperations({ accounts, account, audit }: AccountServices, idOrName: string | undefined) {
  const caller: Caller = { ...(await accounts.ownerOf(idOrName)), ...MAY };
  // A server that runs notices within a second that a key is gone.
  return performer(
    accountOperations,
    accountHandlers(account, () => {}),
    caller,
    audit,
  );
}
