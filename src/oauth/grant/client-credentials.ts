import { OAuthError } from "../error.ts"
import type { Grant } from "./grant.ts"
import { unregisteredFinding } from "./registered.ts"
import { forItself } from "./service-user.ts"

/**
 * RFC 6749 §4.4: a client acts for itself. Every token speaks for a user, so the client is a
 * service user; an application has none. No refresh token (§4.4.3), and no id_token: nobody
 * signed in.
 */
export const clientCredentials: Grant = {
  name: "client_credentials",
  client: "authenticated",
  allow: async (cx, { parameters, client }) => {
    if (client.kind === "service user") {
      return forItself(cx, parameters, client).issuance
    }
    throw new OAuthError(
      "unauthorized_client",
      "an application can't act for itself; use a service user's name and secret",
      { finding: unregisteredFinding(client, "client_credentials") },
    )
  },
}
