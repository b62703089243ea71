import { createHash, randomBytes } from "node:crypto"
import { createLocalJWKSet, jwtVerify } from "jose"
import { expect } from "vitest"
import type { OidcConfig } from "../../../src/domain/app/index.ts"
import type { Browser } from "../must.ts"
import {
  authorizePath,
  browserOf,
  issuer,
  type NewClient,
  openProvider,
  type Provider,
  password,
  redirectUri,
  sendTokenRequest,
  type VisitedPage,
  verifier,
} from "../provider.ts"
import { enableRegistration, type RegistrationResponse, sendMetadata } from "../registration.ts"

/** The variant that a plan's modules run with. */
export type Variant = {
  readonly responseType: "code" | "id_token" | "id_token token"
  readonly responseMode?: "form_post"
  /** Whether its clients register dynamically. */
  readonly isDynamic?: boolean
}

type Changes = Readonly<Record<string, string | undefined>>
export type Fields = Readonly<Record<string, string>>

/** The tokens of one sign-in, however they were returned. */
export type Tokens = {
  readonly idToken: Readonly<Record<string, unknown>>
  readonly rawIdToken: string
  readonly accessToken: string | undefined
  readonly answer: Readonly<Record<string, unknown>>
}

export type RelyingParty = Awaited<ReturnType<typeof openRelyingParty>>

/** A provider and two of its clients, which perform all required client checks. */
export async function openRelyingParty(variant: Variant, open = () => openProvider()) {
  const provider = await open()
  const config = configOf(variant)
  if (variant.isDynamic) await enableRegistration(provider)
  const add = () => (variant.isDynamic ? registerClient(provider) : provider.addClient(config))
  const client = await add()
  const second = await add()
  const others = defaultChecks(provider, variant)

  /**
   * A valid request as the suite sends it, with changes: nonce and state are new each time, and
   * only the PKCE modules use PKCE.
   */
  const request = (changes: Changes = {}, as = client) =>
    authorizePath(as.id, {
      response_type: variant.responseType,
      response_mode: variant.responseMode,
      state: randomBytes(8).toString("hex"),
      nonce: randomBytes(8).toString("hex"),
      scope: "openid",
      code_challenge: undefined,
      code_challenge_method: undefined,
      ...changes,
    })

  /** Visits the provider, signs in if a password is required, and reads the response. */
  const signIn = async (
    changes: Changes = {},
    browser: Browser = browserOf(provider),
    as = client,
  ) => {
    const path = request(changes, as)
    const first = await browser.go(path)
    const wasAsked = !isAtClient(first)
    // The sign-in must be later than the request, as with a real user.
    provider.clock.advance(1)
    return {
      browser,
      wasAsked,
      ...(await finish(path, await enterCredentials(browser, first), as)),
    }
  }

  const finish = async (path: string, end: VisitedPage, as = client) => {
    const fields = responseFields(variant, end)
    const asked = new URL(path, issuer).searchParams
    expect(fields.state ?? null).toBe(asked.get("state"))
    expect(fields.iss).toBe(issuer)
    if (fields.error) throw new Error(`no sign-in, but ${fields.error}`)
    return { fields, tokens: await others.redeem(as, fields, asked) }
  }

  /** The error that the client receives for a request. */
  const errorOf = async (changes: Changes, browser: Browser = browserOf(provider)) =>
    responseFields(variant, await browser.go(request(changes))).error

  return {
    provider,
    client,
    second,
    variant,
    request,
    signIn,
    finish,
    errorOf,
    ...others,
    answer: (end: VisitedPage) => responseFields(variant, end),
    addClient: (more: Partial<OidcConfig>) => provider.addClient({ ...config, ...more }),
  }
}

async function registerClient(provider: Provider): Promise<NewClient> {
  const metadata = {
    client_name: "Suite",
    redirect_uris: [redirectUri],
    grant_types: ["authorization_code", "refresh_token"],
  }
  return clientOf((await sendMetadata(provider, metadata)).answer)
}

/** The suite's parameters for the token endpoint, without client authentication. */
export const codeOf = (code = "") => ({
  grant_type: "authorization_code",
  code,
  redirect_uri: redirectUri,
})

/** The client of a registration response. */
export const clientOf = (answer: RegistrationResponse): NewClient => ({
  appId: "",
  id: String(answer.client_id),
  secret: String(answer.client_secret),
})

const configOf = ({ responseType }: Variant): Partial<OidcConfig> =>
  responseType === "code"
    ? { grantTypes: ["authorization_code", "refresh_token"] }
    : { grantTypes: ["implicit"], responseTypes: ["id_token", "id_token_token"] }

function defaultChecks(provider: Provider, variant: Variant) {
  const redeem = async (
    as: NewClient,
    fields: Fields,
    params: URLSearchParams,
  ): Promise<Tokens> => {
    const nonce = params.get("nonce")
    const codeVerifier = params.has("code_challenge") ? verifier : undefined
    const answer =
      variant.responseType === "code" ? await exchanged(as, fields, codeVerifier) : fields
    const rawIdToken = String(answer.id_token)
    const token = answer.access_token
    const accessToken = token === undefined ? undefined : String(token)
    const idToken = await verified(rawIdToken, as.id, { nonce, accessToken })
    return { idToken, rawIdToken, accessToken, answer }
  }
  const exchanged = async (as: NewClient, { code = "" }: Fields, proof?: string) => {
    const fields = { ...codeOf(code), ...(proof !== undefined && { code_verifier: proof }) }
    const { status, headers, answer } = await sendTokenRequest(
      provider,
      fields,
      `${as.id}:${as.secret}`,
    )
    expect([status, headers.get("cache-control")]).toEqual([200, "no-store"])
    expect(answer.token_type).toBe("Bearer")
    return answer
  }
  /** OpenID Connect Core §3.1.3.7 and §3.2.2.11: the checks of a client. */
  const verified = async (
    idToken: string,
    clientId: string,
    { nonce, accessToken }: { nonce: string | null; accessToken: string | undefined },
  ) => {
    const jwks = createLocalJWKSet(await (await provider.send("/oauth/v2/keys")).json())
    const currentDate = new Date(provider.clock.now())
    const options = { issuer, audience: clientId, currentDate, algorithms: ["RS256"] }
    const { payload } = await jwtVerify(idToken, jwks, options)
    expect(payload.nonce ?? null).toBe(nonce)
    expect(payload.azp).toBe(clientId)
    if (accessToken !== undefined) {
      const hash = createHash("sha256").update(accessToken).digest()
      expect(payload.at_hash).toBe(hash.subarray(0, 16).toString("base64url"))
    } else expect(payload).not.toHaveProperty("at_hash")
    return payload
  }
  const userinfo = async (token: string | undefined) => {
    const headers = { authorization: `Bearer ${token}` }
    return provider.send("/oidc/v1/userinfo", { headers })
  }
  return { redeem, userinfo, verified }
}

/** Whether a browser has returned to the client, or shows the page that posts to it. */
const isAtClient = ({ path, page }: VisitedPage) => /^https:/.test(path) || postsToClient(page)

const postsToClient = (page: string) => page.includes(`action="${redirectUri}"`)

/** Fills in the login pages. */
async function enterCredentials(browser: Browser, first: VisitedPage): Promise<VisitedPage> {
  if (isAtClient(first)) return first
  if (first.path.startsWith("/ui/login/consent")) return giveConsent(browser, first)
  const fields = { loginName: "olga", password }
  const second = await browser.post(first, fields)
  if (isAtClient(second) || !second.page.includes('name="password"')) return second
  return giveConsent(browser, await browser.post(second, fields))
}

/** Consents on the consent page. */
const giveConsent = (browser: Browser, end: VisitedPage) =>
  end.path.startsWith("/ui/login/consent") ? browser.post(end, { answer: "allow" }) : end

/** The fields of a response, which must use the requested response mode. */
function responseFields(
  { responseType, responseMode }: Variant,
  { path, page, response }: VisitedPage,
): Fields {
  if (responseMode === "form_post") {
    expect(postsToClient(page), page).toBe(true)
    expect(page).toMatch(/<form data-autosubmit=""[^>]* method="post"/)
    expect(response.headers.get("content-type")).toMatch(/^text\/html/)
    expect(response.headers.get("cache-control")).toBe("no-store")
    return Object.fromEntries(
      [...page.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)].map(
        ([, name = "", value = ""]) => [name, value.replaceAll("&amp;", "&")],
      ),
    )
  }
  expect(path.startsWith(redirectUri), path).toBe(true)
  const url = new URL(path)
  expect(responseType === "code" ? url.hash : url.search).toBe("")
  const text = responseType === "code" ? url.search : url.hash.slice(1)
  return Object.fromEntries(new URLSearchParams(text))
}
