import { OAuthError } from "../error.ts"
import type { Grant } from "./grant.ts"
import { unregisteredFinding } from "./registered-grant.ts"
import { issueForItself } from "./service-account.ts"

/**
 * RFC 6749 §4.4: a client acts for itself. Every token has a user, so the client must be a service
 * account; an application has none. No refresh token (§4.4.3), and no ID token, because no user
 * signed in.
 */
export const clientCredentials: Grant = {
  name: "client_credentials",
  client: "authenticated",
  allow: async (cx, { parameters, client }) => {
    if (client.kind === "service user") {
      return issueForItself(cx, parameters, client).issuance
    }
    throw new OAuthError(
      "unauthorized_client",
      "an application can't act for itself; use the name and secret of a service account",
      { finding: unregisteredFinding(client, "client_credentials") },
    )
  },
}
