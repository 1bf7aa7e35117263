/** Names that can be claimed: of two records of an account that claim the same name, the store keeps only one, even across nodes. */
export type Claiming = { name: string; claimsName?: boolean };

/** The value that a model uses as a unique key; undefined when the record does not claim its name. */
export const claimedName = ({ name, claimsName }: Claiming): string | undefined => (claimsName ? name : undefined);
