/** What the account that shares an endpoint can change: words, who may call it, the price, the limits. */
import { useMayNot } from "../../api/me.ts";
import { resources } from "../../api/resources.ts";
import { EditForm } from "../../parts/resource-form.tsx";
import { PublicEndpointFrame } from "./frame.tsx";

const FIRST = ["title", "description", "everyone", "accounts", "price", "limits", "workerPerAccount"];

export function PublicEndpointSettings() {
  const mayNot = useMayNot("serverless:write");
  return (
    <PublicEndpointFrame>
      {(shared) =>
        shared.own && !mayNot ? (
          <EditForm resource={resources.publicEndpoints} record={shared} first={FIRST} />
        ) : (
          <p className="quiet">{mayNot ?? "Only the account that shares it can change it."}</p>
        )
      }
    </PublicEndpointFrame>
  );
}
