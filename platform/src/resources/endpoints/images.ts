/** Refuses images that an endpoint cannot have on this installation. */
import { problem } from "../../kernel/problem.ts";

export interface ImageRefusal {
  /** `not-allowed` if the account may not use this kind of image, `invalid` if nobody can use this one. */
  code: "not-allowed" | "invalid";
  reason: string;
}

/** `mounts` are the paths at which its programs see volumes. */
export type RefusesImage = (
  image: string,
  account: string,
  mounts?: readonly string[],
) => Promise<ImageRefusal | undefined>;

/** Refuses an image when it is sent, for the same reason that a start would fail with. */
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
