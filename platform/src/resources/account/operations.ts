/** Operations on an account's API keys and SSH keys. */
import type { Operations } from "../../kernel/operation.ts";
import { t } from "../../kernel/schema.ts";
import { ApiKey, CreatedApiKey, SshKeys, UpdateSshKeys } from "./model.ts";

const tag = "Account";

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
      "Replaces the whole list; an empty list removes every key. Running Pods keep the keys they started with.",
    tag,
    in: UpdateSshKeys,
    out: SshKeys,
    status: 200,
    scope: "ssh-keys:write",
    narrowed: "refused",
  },
  listApiKeys: {
    method: "GET",
    path: "/v2/account/api-keys",
    summary: "List the account's API keys",
    tag,
    out: t.Object({ apiKeys: t.Array(ApiKey.record) }),
    status: 200,
    scope: "api-keys:read",
    narrowed: "refused",
  },
  createApiKey: {
    method: "POST",
    path: "/v2/account/api-keys",
    summary: "Create an API key",
    description: "The key is in this answer and nowhere else. A key can grant only what the calling key holds itself.",
    tag,
    in: ApiKey.create,
    out: CreatedApiKey,
    status: 201,
    scope: "api-keys:write",
    narrowed: "own",
  },
  deleteApiKey: {
    method: "DELETE",
    path: "/v2/account/api-keys/{id}",
    summary: "Revoke an API key",
    tag,
    status: 204,
    scope: "api-keys:write",
    narrowed: "refused",
  },
} as const satisfies Operations;
