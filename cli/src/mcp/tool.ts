/** A tool as an agent sees it, and what calling it does. */
import type { Clock } from "@millrace/platform/kernel/clock.ts";
import type { ApiClient } from "../api.ts";

export interface ToolInput {
  [word: string]: unknown;
  type: "object";
  properties: Record<string, Record<string, never>>;
  required: string[];
}

export interface Around {
  client: ApiClient;
  clock: Clock;
}

export interface Tool {
  name: string;
  title: string;
  description: string;
  inputSchema: ToolInput;
  /** It changes nothing. */
  isReading: boolean;
  /** What it removes cannot be brought back. */
  isDestroying: boolean;
  call(around: Around, given: Record<string, unknown>): Promise<unknown>;
}
