import { type ClientRegistration, changeOidcSettings } from "../../src/domain/instance/index.ts"
import type { Provider } from "./provider.ts"

export const registerPath = "/oauth/v2/register"

/** Enables dynamic registration, by default in the usual project. */
export const enableRegistration = (provider: Provider, changes: Partial<ClientRegistration> = {}) =>
  changeOidcSettings(provider.cx(), "i1", {
    settings: {
      registration: {
        mode: "open",
        projectId: provider.projectId,
        lifetimeSeconds: 30 * 86_400,
        applicationsMax: 1000,
        ...changes,
      },
    },
    isSigning: () => true,
    isRegistrable: () => true,
  })

export type RegistrationResponse = Readonly<Record<string, unknown>>
type MetadataRequest = { readonly token?: string; readonly method?: string; readonly path?: string }

/** Sends metadata to the registration endpoint, or to a client's management URI. */
export async function sendMetadata(
  provider: Provider,
  metadata: object | undefined,
  { token, method = "POST", path = registerPath }: MetadataRequest = {},
) {
  const response = await provider.send(path, {
    method,
    headers: {
      ...(metadata && { "content-type": "application/json" }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    ...(metadata && { body: JSON.stringify(metadata) }),
  })
  const text = await response.text()
  const answer: RegistrationResponse = text === "" ? {} : JSON.parse(text)
  return { status: response.status, headers: response.headers, answer }
}

/** The management URI path and token of a registration response. */
export const managementOf = (answer: RegistrationResponse) => {
  const url = new URL(String(answer.registration_client_uri))
  return { path: url.pathname + url.search, token: String(answer.registration_access_token) }
}

/** The metadata of a client on the user's own device. */
export const nativeMetadata = {
  client_name: "Desk Tool",
  redirect_uris: ["http://127.0.0.1:33418/callback"],
  token_endpoint_auth_method: "none",
  grant_types: ["authorization_code", "refresh_token"],
  response_types: ["code"],
} as const
