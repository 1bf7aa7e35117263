/** Names that can be claimed: of two that claim the same name in an account the store keeps one alone, whichever nodes they come through. */
export type Claiming = { name: string; claimsName?: boolean };

/** For the unique keys of a model. */
export const claimedName = ({ name, claimsName }: Claiming): string | undefined => (claimsName ? name : undefined);
