// The OpenID Foundation's plans against the compiled binary: the modules of test/oauth/conformance
// that need neither its clock nor its reactors.
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { coreModules } from "../oauth/conformance/core.ts"
import { logoutModules } from "../oauth/conformance/logout.ts"
import { notifiedLogoutModules } from "../oauth/conformance/notified-logout.ts"
import {
  openRelyingParty,
  type RelyingParty,
  type Variant,
} from "../oauth/conformance/relying-party.ts"
import { issuer, type Provider, password, redirectUri, signedOutUri } from "../oauth/provider.ts"
import {
  apiScope,
  assertionOf,
  freePort,
  type RunningServer,
  setUp,
  startLatchkey,
  temporaryFolder,
} from "../support/latchkey.ts"
import { bearer, methodOf, pathOf } from "./service.ts"

const modules = { ...coreModules, ...logoutModules, ...notifiedLogoutModules }

const folder = temporaryFolder()
let server: RunningServer
let provider: Provider

beforeAll(async () => {
  const data = `${folder.path}/data`
  const key = await setUp(data, issuer)
  server = await startLatchkey({ data, port: await freePort() })
  const body = new URLSearchParams({
    grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
    assertion: await assertionOf(issuer, key),
    scope: apiScope,
  })
  const answer = await (await send("/oauth/v2/token", { method: "POST", body })).json()
  provider = await createProvider(String(answer.access_token))
})
afterAll(async () => {
  await server?.stop()
  folder.remove()
})

/** Acts as a proxy that terminates TLS: the Host header gives the binary the public address. */
const send = (path: string, init: RequestInit = {}): Promise<Response> => {
  const url = new URL(path, issuer)
  const headers = new Headers(init.headers)
  headers.set("host", url.host)
  // A connection per request, as with many clients.
  headers.set("connection", "close")
  const target = new URL(url.pathname + url.search, `http://127.0.0.1:${new URL(server.url).port}`)
  return fetch(target, { redirect: "manual", ...init, headers })
}

/** Creates what the modules need, through the binary's management API. */
async function createProvider(token: string): Promise<Provider> {
  const get = async (name: string, request: object) => {
    const headers = { "content-type": "application/json", ...bearer(token) }
    const init = { method: "POST", headers, body: JSON.stringify(request) }
    const response = await send(pathOf(methodOf(name)), init)
    const body = await response.json()
    if (!response.ok) throw new Error(`${name}: ${response.status} ${JSON.stringify(body)}`)
    return body
  }
  const { result } = await get("ListOrganizations", {})
  const organizationId = result[0].id
  const owner = await get("CreateUser", {
    organizationId,
    username: "olga",
    human: {
      profile: { givenName: "Olga", familyName: "Owner" },
      email: { email: "olga@example.com", isVerified: true },
      password: { password },
    },
  })
  const { projectId } = await get("CreateProject", { organizationId, name: "Conformance" })
  const addClient: Provider["addClient"] = async (oidc = {}) => {
    const { frontChannelLogout, backChannelLogoutUri = "", authMethod = "basic" } = oidc
    const wire = (prefix: string, names: readonly string[] = []) =>
      names.map((name) => `OIDC_${prefix}_${name.toUpperCase()}`)
    const made = await get("CreateApplication", {
      projectId,
      name: `Client ${serial++}`,
      oidcConfiguration: {
        redirectUris: [redirectUri],
        postLogoutRedirectUris: [signedOutUri],
        responseTypes: wire("RESPONSE_TYPE", oidc.responseTypes),
        grantTypes: wire("GRANT_TYPE", oidc.grantTypes),
        authMethodType: wire("AUTH_METHOD_TYPE", [authMethod])[0],
        backChannelLogoutUri,
        ...(frontChannelLogout && { frontChannelLogout }),
      },
    })
    const { clientId, clientSecret = "" } = made.oidcConfiguration
    return { appId: made.applicationId, id: clientId, secret: clientSecret }
  }
  const clock = { now: () => Date.now(), advance: pause }
  const setup = { ownerId: owner.id }
  return { send, addClient, clock, setup, close: async () => undefined } as unknown as Provider
}

let serial = 0

/** The binary uses the machine's clock, so the only way to advance it is to wait. */
function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

const code: Variant = { responseType: "code" }
const idTokenAndToken: Variant = { responseType: "id_token token" }
const idToken: Variant = { responseType: "id_token" }
const responseMode = "form_post" as const

/** The modules of each plan's happy path; more for Basic. */
const plans: Readonly<Record<string, readonly [Variant, readonly string[]]>> = {
  Basic: [
    code,
    [
      "oidcc-server",
      "oidcc-server-client-secret-post",
      "oidcc-idtoken-signature",
      "oidcc-userinfo-get",
      "oidcc-userinfo-post-header",
      "oidcc-userinfo-post-body",
      "oidcc-scope-all",
      "oidcc-ensure-post-request-succeeds",
      "oidcc-codereuse",
      "oidcc-prompt-none-not-logged-in",
      "oidcc-id-token-hint",
      "oidcc-claims-essential",
      "oidcc-ensure-registered-redirect-uri",
      "oidcc-refresh-token",
      "oidcc-ensure-request-object-with-redirect-uri",
    ],
  ],
  Config: [code, ["oidcc-discovery-endpoint-verification"]],
  "RP-Initiated Logout": [
    code,
    ["oidcc-rp-initiated-logout", "oidcc-rp-initiated-logout-bad-post-logout-redirect-uri"],
  ],
  "Front-Channel Logout": [code, ["oidcc-frontchannel-rp-initiated-logout"]],
  // The end-to-end tests of signing out cover delivery over the network.
  "Back-Channel Logout": [
    code,
    ["oidcc-backchannel-rp-initiated-logout-discovery-endpoint-verification"],
  ],
  "Implicit (id_token token)": [idTokenAndToken, ["oidcc-server", "oidcc-userinfo-get"]],
  "Implicit (id_token)": [idToken, ["oidcc-server"]],
  "Form Post Basic": [{ ...code, responseMode }, ["oidcc-server", "oidcc-codereuse"]],
  "Form Post Implicit (id_token token)": [{ ...idTokenAndToken, responseMode }, ["oidcc-server"]],
  "Form Post Implicit (id_token)": [{ ...idToken, responseMode }, ["oidcc-server"]],
}

describe.each(Object.entries(plans))("the binary passes %s", (_, [variant, names]) => {
  let rp: RelyingParty
  beforeAll(async () => {
    rp = await openRelyingParty(variant, () => Promise.resolve(provider))
  })

  test.each(names)("%s", async (name) => {
    expect(Object.keys(modules)).toContain(name)
    await modules[name]?.(rp)
  })
})
