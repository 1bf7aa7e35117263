/** A refusal in REST v1: one object with `message`, and the other fields that its live answers were seen to have. */
import type { Problem } from "../../kernel/problem.ts";
import { problemStatuses } from "../http/problem-json.ts";
import type { Refused, Statuses } from "../http/refusal.ts";

/** Invalid input is a 400, whatever the reason. Lack of capacity is a server error, as public clients expect. */
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

/** v1 has no list of errors, so they go into the message. */
function messageOf({ detail, errors = [] }: Problem): string {
  return errors.length === 0 ? detail : `${detail.replace(/\.$/, "")}: ${errors.join("; ")}`;
}
