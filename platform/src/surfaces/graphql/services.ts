/** The services that GraphQL answers from, the same as on every surface. */
import type { Accounts } from "../../resources/account/accounts.ts";
import type { RestServices } from "../rest-v2/resources.ts";

export interface GraphServices extends RestServices {
  accounts: Accounts;
  /** What everything in an account costs per hour now, in 1e-9 USD. */
  costs: { perHour(account: string): Promise<Record<"compute" | "localStorage" | "networkStorage", number>> };
}
