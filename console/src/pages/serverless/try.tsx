/** Calls the endpoint from the page. */
import { EndpointFrame } from "./frame.tsx";
import { Try } from "./try-box.tsx";

export function EndpointTry() {
  return <EndpointFrame>{(endpoint) => <Try endpoint={endpoint} />}</EndpointFrame>;
}
