/** Reasons of refused requests: one for each meaning, and some that say more than their meaning. */
import { type Entry, told } from "./entry.ts";

/** By the names of `meanings`; `no-capacity` stands among the reasons of places. */
const ofMeanings = {
  unreadable: told("The request cannot be read at all, such as a body that is not JSON.", "Correct the request."),
  unstorable: told("A text holds a character that no database can keep.", "Remove the character U+0000."),
  invalid: told("A field or a parameter has a wrong value.", "Correct what `errors` names."),
  "rule-broken": told(
    "Each field is valid, but they do not fit together, or do not fit this account or resource.",
    "Change the request as the detail says.",
  ),
  unauthenticated: told("The request has no valid API key.", "Send `Authorization: Bearer <API key>`."),
  "not-allowed": told("The key may not do this.", "Use a key with the right that the detail names."),
  unpaid: told("The account or the key has spent all that it may spend.", "Raise the limit, or add credit."),
  "over-quota": told("The account has all that it may have.", "Delete something, or ask for a higher quota."),
  "not-found": told("It does not exist, or it belongs to another account.", "Check the id and the key."),
  "name-taken": told("Another resource of the account has this name.", "Choose another name."),
  conflicting: told("The same request was sent before with other content.", "Use another idempotency key."),
  "wrong-state": told("The resource is in a state that does not allow this.", "Read its status, and act on that."),
  "too-large": told("The request is longer than allowed.", "Send less at once."),
  "too-much": told("The caller asks too often, or for too much at once.", "Wait for `Retry-After`, then send less."),
  "too-slow": told("The body did not arrive in time.", "Send it again, over a faster connection."),
  abandoned: told("The client closed the connection.", "Send the request again."),
  unavailable: told("Something that the request needs is away, full or ending.", "Send the request again later."),
  "no-answer": told("The program behind the address did not answer properly.", "Look into the log of that program."),
  "late-answer": told("The program behind the address did not answer in time.", "Look into the log of that program."),
  fault: told("The server failed in a way that nobody foresaw.", "Give the operator the id that the detail names."),
  "wrong-method": told("The path exists, but not with this method.", "Use a method of the header `Allow`."),
  "wrong-media-type": told("The body has a form that is not read here.", "Send `application/json`."),
  "outside-range": told("The range lies outside the content.", "Ask for a range within it."),
  "unmet-expectation": told("The client expects something that the server does not do.", "Send no `Expect` header."),
  "long-headers": told("The headers are longer than allowed.", "Send shorter headers."),
} as const satisfies Record<string, Entry>;

export const refusalReasons = {
  ...ofMeanings,
  "key-missing": told("The request has no API key.", "Send `Authorization: Bearer <API key>`."),
  "key-malformed": told("The header of the API key has a wrong form.", "Send `Authorization: Bearer <API key>`."),
  "key-unknown": told("Nobody has this API key, or it was revoked.", "Use another key."),
  "key-expired": told("The API key was valid until a time that has passed.", "Make a new key."),
  "scope-missing": told("The key lacks a scope that the operation needs.", "Use a key with the scope."),
  "key-narrowed": told("The key is narrowed to other endpoints.", "Use a key for this endpoint, or for all."),
  "owner-only": told("Only the owner of the installation may do this.", "Ask the operator."),
  "image-not-allowed": told("The account may not run this kind of image.", "Use a container image."),
  "rate-limited": told("The account sent more requests than it may in a time.", "Wait for `Retry-After`."),
  "too-many-at-once": told("The account has too many requests open at once.", "Send fewer at once."),
  "queue-full": told(
    "The endpoint has as many waiting jobs as it takes.",
    "Wait until jobs have ended, or add workers.",
  ),
  "price-too-high": told(
    "It costs more than the caller wants to pay.",
    "Raise the ceiling, or choose cheaper compute.",
  ),
  "pod-locked": told("The Pod is locked.", "Unlock it first."),
  "cluster-member": told("The Pod is part of a cluster.", "Act on the cluster."),
  "not-running": told("The program that is asked for does not run.", "Start it, or wait until it runs."),
  "database-away": told("The database does not answer.", "Send the request again in a moment."),
  "server-ending": told("The server is shutting down.", "Send the request again."),
  "out-of-connections": told("The server has no connection or file free.", "Send the request again in a moment."),
  "node-away": told("Another node of the installation does not answer.", "Try again; tell the operator if it stays."),
  "worker-gone": told("The worker that the request insists on has ended.", "Send the request without affinity."),
} as const satisfies Record<string, Entry>;
