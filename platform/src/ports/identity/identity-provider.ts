/** The identity provider port: another service says who somebody is, and in which groups. */

/** What one sign-in sends along, so that the answer can belong to no other. */
export interface Asked {
  state: string;
  nonce: string;
  /** The secret of the code challenge (PKCE). */
  verifier: string;
  /** Where the provider sends the browser back to. */
  redirectUri: string;
}

/** A person as the provider knows them. Issuer and subject name the person; everything else may change. */
export interface Identity {
  issuer: string;
  subject: string;
  email?: string | undefined;
  /** Whether the provider says that the address belongs to the person. */
  emailVerified: boolean;
  name?: string | undefined;
  /** Undefined if the provider sent no groups at all. */
  groups: readonly string[] | undefined;
}

/** Every verb throws `unavailable` if the provider is away, slow or broken, and says which of these. */
export interface IdentityProvider {
  /** Returns the address at the provider to which the browser goes. */
  authorizationUrl(asked: Asked): Promise<string>;
  /**
   * Trades the query with which the browser came back for the person. Throws `unauthenticated` unless the answer belongs to what was asked,
   * comes from the provider, is for this server, is signed with one of the provider's keys, and has not expired.
   */
  identify(answer: URLSearchParams, asked: Asked): Promise<Identity>;
  /** Returns the address at which the browser signs out at the provider too; undefined if the provider has none or is away. */
  signOutUrl(returnTo: string): Promise<string | undefined>;
}
