/** Images that an endpoint cannot have here, whatever they hold. */
import { problem } from "../../kernel/problem.ts";

export interface ImageRefusal {
  /** Nothing of the kind for this account, or not this one for anybody. */
  code: "not-allowed" | "invalid";
  reason: string;
}

/** `mounts`: where its programs are to see volumes. */
export type RefusesImage = (
  image: string,
  account: string,
  mounts?: readonly string[],
) => Promise<ImageRefusal | undefined>;

/** Refuses an image when it is sent, with the reason that a start would give. */
export async function refuseImage(
  refuses: RefusesImage,
  image: string | undefined,
  account: string,
  mounts: readonly string[] = [],
): Promise<void> {
  const refusal = image === undefined ? undefined : await refuses(image, account, mounts);
  if (refusal?.code === "not-allowed") throw problem("not-allowed", refusal.reason, { reason: "image-not-allowed" });
  if (refusal) throw problem("invalid", "Request validation failed.", { errors: [`$.image: ${refusal.reason}`] });
}
