import type { Client, OidcApp } from "../../domain/app/index.ts"
import { type Finding, likelyCauseOf } from "../../domain/refusal/index.ts"
import { type AuthenticatedClient, requireApplication } from "../client/authentication.ts"
import { OAuthError } from "../error.ts"
import { exchangeGrant } from "../parameters.ts"

type GrantType = OidcApp["oidc"]["grantTypes"][number]

/** RFC 6749 §5.2: the application that uses a grant; the grant type must be registered for it. */
export function requireRegisteredGrant(client: AuthenticatedClient, type: GrantType) {
  const application = requireApplication(client)
  const { state } = application
  if (state.kind === "oidc" && state.oidc.grantTypes.includes(type))
    return { ...application, state }
  const received = wireNames[type]
  throw new OAuthError(
    "unauthorized_client",
    `this client is not allowed to use grant_type ${received}`,
    {
      finding: unregisteredFinding(application, received),
    },
  )
}

/** The finding for a grant type that is not registered for the application. */
export function unregisteredFinding({ state }: Pick<Client, "state">, received: string): Finding {
  const subject = "grant_type"
  const types = state.kind === "oidc" ? state.oidc.grantTypes : []
  const expected = types.map((type) => wireNames[type])
  return { subject, received, expected, ...likelyCauseOf(subject, "grant_type.unregistered") }
}

const wireNames: Readonly<Record<GrantType, string>> = {
  authorization_code: "authorization_code",
  implicit: "implicit",
  refresh_token: "refresh_token",
  device_code: "urn:ietf:params:oauth:grant-type:device_code",
  token_exchange: exchangeGrant,
}
