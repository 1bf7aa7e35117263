/** An OpenID provider for trying single sign-on: it knows the people that it is told about, and takes any password. */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { parseArgs } from "node:util";
import Provider from "oidc-provider";
import { providerSettings } from "../platform/tests/identity/provider-settings.ts";

const { values } = parseArgs({
  options: {
    port: { type: "string", default: "9400" },
    client: { type: "string" },
    "secret-file": { type: "string" },
    person: { type: "string", multiple: true, default: [] },
  },
});
const { client: origin, "secret-file": secretFile } = values;
if (origin === undefined || secretFile === undefined) {
  console.error(
    "usage: node scripts/identity-provider.ts --client https://localhost:8443 --secret-file FILE --person ada@example.com=GROUP,GROUP [--port 9400]",
  );
  process.exit(2);
}

const groupsOf = new Map(
  values.person.map((text) => {
    const [email = "", groups = ""] = text.split("=");
    return [email, groups.split(",").filter(Boolean)] as const;
  }),
);
const claimsOf = (email: string) => ({ email, email_verified: true, groups: groupsOf.get(email) ?? [] });
const issuer = `http://127.0.0.1:${values.port}`;
const client = { id: "millrace", secret: readFileSync(secretFile, "utf8").trim(), origin };
const provider = new Provider(issuer, providerSettings(client, claimsOf));
// Everybody can be anybody here, so only this machine reaches it.
createServer(provider.callback()).listen(Number(values.port), "127.0.0.1", () => console.log(`listening on ${issuer}`));
