/** An identity provider that names the same person to everybody, for tests of what is around it. */
import type { SignOn } from "../../src/resources/people/provider-sign-in.ts";

const ISSUER = "https://id.test";

export const fakeSignOn: SignOn = {
  provider: {
    authorizationUrl: async ({ state }) => `${ISSUER}/auth?state=${state}`,
    identify: async () => ({
      ...{ issuer: ISSUER, subject: "ada", email: "ada@example.com", emailVerified: true, groups: ["admins"] },
    }),
    signOutUrl: async () => `${ISSUER}/end`,
  },
  rules: [{ group: "admins", role: "owner" }],
  hours: 12,
  newPeople: true,
  label: "Example",
};
