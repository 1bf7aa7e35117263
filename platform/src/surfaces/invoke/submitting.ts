/** What a request of a caller submits: its body, and what its headers say about it. */
import type { GuestDoor } from "../../guards/guest-door.ts";
import type { Submission } from "../../jobs/engine.ts";
import { IDEMPOTENCY_KEY_LENGTH } from "../../jobs/model.ts";
import { problem } from "../../kernel/problem.ts";
import { validTraceparent } from "../../kernel/traceparent.ts";
import type { PublicEndpointService } from "../../resources/public-endpoints/service.ts";
import type { Request } from "../http/reply.ts";
import { type Asked, submitterOf } from "./route.ts";
import { digestOf, readSubmission, type Sent, type SubmissionReader } from "./submission.ts";

interface SubmittingParts {
  reader: SubmissionReader;
  publicEndpoints: PublicEndpointService;
  guestDoor: GuestDoor;
}

/** Returns at once where nothing has to be waited for. */
export function submissionOf(
  parts: SubmittingParts,
  asked: Asked,
  mode: Submission["mode"],
): Submission | Promise<Submission> {
  if (asked.guest) return submittedByGuest(parts, asked, mode);
  const read = readSent(parts, asked, mode);
  if (!(read instanceof Promise)) return submitted(asked, read, mode);
  return read.then(async (sent) => {
    // That may have taken a while. The endpoint may have been deleted meanwhile, and must not get a job then.
    await parts.publicEndpoints.called(asked.caller, asked.params.endpoint_id!);
    return submitted(asked, sent, mode);
  });
}

async function submittedByGuest(parts: SubmittingParts, asked: Asked, mode: Submission["mode"]): Promise<Submission> {
  const sent = await readSent(parts, asked, mode);
  return submitted(await admitted(parts, asked), sent, mode);
}

/**
 * Lets a guest's request in once its body has arrived, which may have taken minutes: access, price and limits of that moment count. A guest
 * could otherwise begin many requests at an old price, or more than the limit allows, and complete them later.
 */
export async function admitted(
  { publicEndpoints, guestDoor }: Omit<SubmittingParts, "reader">,
  asked: Asked,
): Promise<Asked> {
  const { caller, endpoint, params } = asked;
  const called = await publicEndpoints.called(caller, params.endpoint_id!);
  const guest = "item" in called && called.item.id === endpoint.id ? called.guest : undefined;
  if (!guest) throw problem("not-found", "endpoint not found");
  await guestDoor.admit(caller, endpoint.id, guest);
  return { ...asked, guest };
}

function readSent({ reader }: SubmittingParts, { caller, request, reply, memory }: Asked, mode: Submission["mode"]) {
  const limit = mode === "run" ? reader.limits.run : reader.limits.runsync;
  return readSubmission(reader, request, reply.raw, { limit, whose: caller.account, memory });
}

function submitted(asked: Asked, { terms, body, sealed, sent }: Sent, mode: Submission["mode"]): Submission {
  const { endpoint, request, reply } = asked;
  const key = idempotencyKey(request);
  const submission: Submission = { endpoint, mode, terms, body };
  if (sealed) submission.sealed = sealed;
  const trace = reply.traceparent ?? validTraceparent(request.headers.traceparent);
  if (trace !== undefined) submission.trace = trace;
  if (key !== undefined) submission.idempotency = { key, digest: digestOf(sent) };
  if (endpoint.isShared) submission.by = submitterOf(asked);
  return submission;
}

function idempotencyKey(request: Request): string | undefined {
  const key = request.headers["idempotency-key"];
  if (key === undefined) return undefined;
  if (typeof key !== "string" || key.length < 1 || key.length > IDEMPOTENCY_KEY_LENGTH) {
    throw problem("invalid", "'Idempotency-Key' must have 1 to 255 characters");
  }
  return key;
}
