import { type ClientRegistration, changeOidcSettings } from "../../src/domain/instance/index.ts"
import type { Provider } from "./provider.ts"

export const registerPath = "/oauth/v2/register"

/** Lets applications register themselves, in the usual project where none is named. */
export const letRegister = (provider: Provider, changes: Partial<ClientRegistration> = {}) =>
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

export type Answer = Readonly<Record<string, unknown>>
type Sent = { readonly token?: string; readonly method?: string; readonly path?: string }

/** Sends metadata to be registered, or to an address that a registration has. */
export async function sendMetadata(
  provider: Provider,
  metadata: object | undefined,
  { token, method = "POST", path = registerPath }: Sent = {},
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
  const answer: Answer = text === "" ? {} : JSON.parse(text)
  return { status: response.status, headers: response.headers, answer }
}

/** Where the registration of an answer is read and changed, and the token for that. */
export const managed = (answer: Answer) => {
  const url = new URL(String(answer.registration_client_uri))
  return { path: url.pathname + url.search, token: String(answer.registration_access_token) }
}

/** As a client on somebody's own machine registers itself. */
export const onDevice = {
  client_name: "Desk Tool",
  redirect_uris: ["http://127.0.0.1:33418/callback"],
  token_endpoint_auth_method: "none",
  grant_types: ["authorization_code", "refresh_token"],
  response_types: ["code"],
} as const
