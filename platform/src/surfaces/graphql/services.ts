/** What GraphQL answers from: the services, as every surface has them. */
import type { Accounts } from "../../resources/account/accounts.ts";
import type { RestServices } from "../rest-v2/resources.ts";

export interface GraphServices extends RestServices {
  accounts: Accounts;
}
