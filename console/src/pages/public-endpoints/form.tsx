/** Shares an endpoint with other accounts. */
import type { PublicEndpoint } from "@millrace/platform/resources/public-endpoints/model.ts";
import { resources } from "../../api/resources.ts";
import { CreatePage } from "../../parts/resource-form.tsx";
import { pickEndpoint } from "./endpoint-field.tsx";
import { priceText, whoMay } from "./price.ts";

export function SharePage() {
  return (
    <CreatePage
      resource={resources.publicEndpoints}
      title="Share an endpoint"
      about="Other accounts call it by its name, with their own keys, and pay the price that you set."
      first={[
        "endpointId",
        "name",
        "title",
        "description",
        "everyone",
        "accounts",
        "price",
        "limits",
        "workerPerAccount",
      ]}
      specials={{ endpointId: pickEndpoint }}
      initial={{ price: {} }}
      summary={({ name, price, everyone, accounts }) => (
        <>
          <p>
            Callers use <code>{`/v2/${name || "NAME"}/run`}</code>. They see their own jobs and results, and nothing of
            your workers, logs, variables and image.
          </p>
          <p>
            <strong>{whoMay({ everyone: everyone === true, accounts: accounts as string[] | undefined })}</strong> may
            call it. Price:{" "}
            <strong>{priceText({ price: (price ?? {}) as PublicEndpoint["price"] }).toLowerCase()}</strong>.
          </p>
          <p>
            Jobs of all accounts run in the same workers, one account after another in turns. A program that keeps
            something between two jobs can show it to another account, unless each account gets workers of its own.
          </p>
        </>
      )}
    />
  );
}
