/** What GraphQL answers from: the services, as every surface has them. */
import type { Accounts } from "../../resources/account/accounts.ts";
import type { RestServices } from "../rest-v2/resources.ts";

export interface GraphServices extends RestServices {
  accounts: Accounts;
  /** What all that an account has costs by the hour now, in 1e-9 USD. */
  costs: { perHour(account: string): Promise<Record<"compute" | "localStorage" | "networkStorage", number>> };
}
