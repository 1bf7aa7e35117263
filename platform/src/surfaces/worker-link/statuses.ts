/** The worker link's status for each refusal: as invocation has them, but for what the public worker package makes of them. */
import type { Statuses } from "../http/refusal.ts";
import { invokeStatuses } from "../invoke/surface.ts";

/** It gives a result up after any 4xx and 500, and sends it again after 503. */
export const linkStatuses: Statuses = { ...invokeStatuses, fault: 503 };
