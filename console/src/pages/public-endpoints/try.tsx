/** Calls a public endpoint from the page, as the signed-in account, which pays for it. */

import { Try } from "../serverless/try-box.tsx";
import { PublicEndpointFrame } from "./frame.tsx";
import { priceText } from "./price.ts";

export function PublicEndpointTry() {
  return (
    <PublicEndpointFrame>
      {(shared) => (
        <Try
          endpoint={{ id: shared.name, type: shared.type, isOfOthers: true }}
          {...(!shared.own && { price: priceText(shared) })}
        />
      )}
    </PublicEndpointFrame>
  );
}
