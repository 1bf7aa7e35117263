/** The worker link's status for each refusal: the same as for invocation, except where the public worker package needs another. */
import type { Statuses } from "../http/refusal.ts";
import { invokeStatuses } from "../invoke/surface.ts";

/** The public worker package gives a result up after any 4xx and after 500, and retries after 503. */
export const linkStatuses: Statuses = { ...invokeStatuses, fault: 503 };
