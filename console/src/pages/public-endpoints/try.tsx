/** Calls a public endpoint from the page, as the signed-in account, which pays for it. */

import { Try } from "../serverless/try-box.tsx";
import { PublicEndpointFrame } from "./frame.tsx";

export function PublicEndpointTry() {
  return (
    <PublicEndpointFrame>
      {({ name, type }) => <Try endpoint={{ id: name, type, isOfOthers: true }} />}
    </PublicEndpointFrame>
  );
}
