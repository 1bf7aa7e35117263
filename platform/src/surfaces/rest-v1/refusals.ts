/** A refusal as REST v1 has it: one object with `message`, and beside it what its live answers were seen to have. */
import type { Problem } from "../../kernel/problem.ts";
import { problemStatuses } from "../http/problem-json.ts";
import type { Refused, Statuses } from "../http/refusal.ts";

/** What does not fit is a bad request, whatever the reason; no capacity is a fault of the server, as public clients know it. */
export const restV1Statuses: Statuses = {
  ...problemStatuses,
  unstorable: 400,
  invalid: 400,
  "name-taken": 400,
  conflicting: 400,
  "wrong-state": 400,
  "no-capacity": 500,
};

export function messageJson(refusal: Problem): Refused {
  return refusedWith(restV1Statuses[refusal.code], messageOf(refusal));
}

export function refusedWith(status: number, message: string): Refused {
  return { status, contentType: "application/json", body: JSON.stringify({ message, error: message, status }) };
}

/** There is no list beside it: what failed is said in the text. */
function messageOf({ detail, errors = [] }: Problem): string {
  return errors.length === 0 ? detail : `${detail.replace(/\.$/, "")}: ${errors.join("; ")}`;
}
