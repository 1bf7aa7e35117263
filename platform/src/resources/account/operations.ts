/** Operations on an account's API keys and SSH keys. */
import type { Operations } from "../../kernel/operation.ts";
import { operationsOn } from "../../kernel/operations-on.ts";
import { ApiKey, CreatedApiKey, SshKeys, UpdateSshKeys } from "./model.ts";

const tag = "Account";

const on = operationsOn(ApiKey, "/v2/account/api-keys", {
  tag,
  scope: "api-keys",
  one: "an API key",
  many: "apiKeys",
});

export const accountOperations = {
  getSshKeys: {
    method: "GET",
    path: "/v2/account/ssh-keys",
    summary: "Get the account's SSH public keys",
    tag,
    out: SshKeys,
    status: 200,
    scope: "ssh-keys:read",
    narrowed: "refused",
  },
  updateSshKeys: {
    method: "PUT",
    path: "/v2/account/ssh-keys",
    summary: "Replace the account's SSH public keys",
    description:
      "Replaces the whole list; an empty list removes every key. Running Pods keep the keys they started with. " +
      "Whoever has one of these keys gets a shell in Pods, so that this takes the right to that too.",
    tag,
    in: UpdateSshKeys,
    out: SshKeys,
    status: 200,
    scope: "ssh-keys:write",
    alsoNeeds: "pods:exec",
    narrowed: "refused",
  },
  listApiKeys: on.find({}, { summary: "List the account's API keys" }),
  createApiKey: {
    ...on.create({
      summary: "Create an API key",
      description:
        "The key is in this answer and nowhere else. A key can grant only what the calling key holds itself.",
      narrowed: "own",
    }),
    out: CreatedApiKey,
  },
  deleteApiKey: on.remove({ summary: "Revoke an API key" }),
} as const satisfies Operations;
