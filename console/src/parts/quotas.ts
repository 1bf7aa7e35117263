/** Quotas in the words that people use for what they count. */
import { LARGEST_QUOTA } from "../api/shapes.data.ts";
import { countText } from "../design/facts.tsx";
import { labelOf } from "../forms/schema.ts";

const WORDS: Record<string, string> = {
  workers: "Workers at once",
  gpus: "GPUs at once",
  vcpu: "vCPU at once",
  volumes: "Network volumes",
  gb: "GB of network volumes",
  keys: "API keys",
  s3keys: "S3 keys",
};

export const quotaLabel = (name: string): string => WORDS[name] ?? labelOf(name);

/** The largest number stands for no limit but that of the machines. */
export const quotaText = (most: number): string => (most >= LARGEST_QUOTA ? "as many as there are" : countText(most));
