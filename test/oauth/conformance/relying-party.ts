import { createHash, randomBytes } from "node:crypto"
import { createLocalJWKSet, jwtVerify } from "jose"
import { expect } from "vitest"
import type { OidcConfig } from "../../../src/domain/app/index.ts"
import type { Browser } from "../must.ts"
import {
  askToken,
  authorizePath,
  browserOf,
  issuer,
  type NewClient,
  openProvider,
  type Provider,
  password,
  redirectUri,
  type Visited,
  verifier,
} from "../provider.ts"
import { type Answer, letRegister, sendMetadata } from "../registering.ts"

/** What the modules of a plan are run with. */
export type Variant = {
  readonly responseType: "code" | "id_token" | "id_token token"
  readonly responseMode?: "form_post"
  /** Whether its clients register themselves. */
  readonly isDynamic?: boolean
}

type Changes = Readonly<Record<string, string | undefined>>
export type Fields = Readonly<Record<string, string>>

/** The tokens of one sign-in, however they came. */
export type Tokens = {
  readonly idToken: Readonly<Record<string, unknown>>
  readonly rawIdToken: string
  readonly accessToken: string | undefined
  readonly answer: Readonly<Record<string, unknown>>
}

export type RelyingParty = Awaited<ReturnType<typeof openRelyingParty>>

/** A provider and two registered clients of it, which check all that a client must. */
export async function openRelyingParty(variant: Variant, open = () => openProvider()) {
  const provider = await open()
  const config = configOf(variant)
  if (variant.isDynamic) await letRegister(provider)
  const add = () => (variant.isDynamic ? registered(provider) : provider.addClient(config))
  const client = await add()
  const second = await add()
  const others = restOf(provider, variant)

  /**
   * A good request as the suite sends it, but for the changes: nonce and state are new every time,
   * and only the modules about PKCE use it.
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

  /** Goes to the provider, signs in where a password is asked for, and takes the answer. */
  const signIn = async (
    changes: Changes = {},
    browser: Browser = browserOf(provider),
    as = client,
  ) => {
    const path = request(changes, as)
    const first = await browser.go(path)
    const wasAsked = !hasLeft(first)
    // A sign-in for this very request is one that comes after it; people take a moment.
    provider.clock.advance(1)
    return { browser, wasAsked, ...(await finish(path, await entered(browser, first), as)) }
  }

  const finish = async (path: string, end: Visited, as = client) => {
    const fields = answerIn(variant, end)
    const asked = new URL(path, issuer).searchParams
    expect(fields.state ?? null).toBe(asked.get("state"))
    expect(fields.iss).toBe(issuer)
    if (fields.error) throw new Error(`no sign-in, but ${fields.error}`)
    return { fields, tokens: await others.redeem(as, fields, asked) }
  }

  /** The error that a request is answered with at the client. */
  const errorOf = async (changes: Changes, browser: Browser = browserOf(provider)) =>
    answerIn(variant, await browser.go(request(changes))).error

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
    answer: (end: Visited) => answerIn(variant, end),
    addClient: (more: Partial<OidcConfig>) => provider.addClient({ ...config, ...more }),
  }
}

async function registered(provider: Provider): Promise<NewClient> {
  const metadata = {
    client_name: "Suite",
    redirect_uris: [redirectUri],
    grant_types: ["authorization_code", "refresh_token"],
  }
  return registeredFrom((await sendMetadata(provider, metadata)).answer)
}

/** What the suite sends to the token endpoint, beside what authenticates the client. */
export const codeOf = (code = "") => ({
  grant_type: "authorization_code",
  code,
  redirect_uri: redirectUri,
})

/** What a registration has answered, as a client. */
export const registeredFrom = (answer: Answer): NewClient => ({
  appId: "",
  id: String(answer.client_id),
  secret: String(answer.client_secret),
})

const configOf = ({ responseType }: Variant): Partial<OidcConfig> =>
  responseType === "code"
    ? { grantTypes: ["authorization_code", "refresh_token"] }
    : { grantTypes: ["implicit"], responseTypes: ["id_token", "id_token_token"] }

function restOf(provider: Provider, variant: Variant) {
  const redeem = async (as: NewClient, fields: Fields, asked: URLSearchParams): Promise<Tokens> => {
    const nonce = asked.get("nonce")
    const codeVerifier = asked.has("code_challenge") ? verifier : undefined
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
    const { status, headers, answer } = await askToken(provider, fields, `${as.id}:${as.secret}`)
    expect([status, headers.get("cache-control")]).toEqual([200, "no-store"])
    expect(answer.token_type).toBe("Bearer")
    return answer
  }
  /** OpenID Connect Core §3.1.3.7 and §3.2.2.11: what a client checks. */
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

/** Whether a browser is back at the client, or on the page that posts there. */
const hasLeft = ({ path, page }: Visited) => /^https:/.test(path) || posts(page)

const posts = (page: string) => page.includes(`action="${redirectUri}"`)

/** Fills in what the login pages ask. */
async function entered(browser: Browser, first: Visited): Promise<Visited> {
  if (hasLeft(first)) return first
  if (first.path.startsWith("/ui/login/consent")) return allowed(browser, first)
  const fields = { loginName: "olga", password }
  const second = await browser.post(first, fields)
  if (hasLeft(second) || !second.page.includes('name="password"')) return second
  return allowed(browser, await browser.post(second, fields))
}

/** The person allows what they are asked for. */
const allowed = (browser: Browser, end: Visited) =>
  end.path.startsWith("/ui/login/consent") ? browser.post(end, { answer: "allow" }) : end

/** The fields of an answer; they must come in the way that was asked for. */
function answerIn(
  { responseType, responseMode }: Variant,
  { path, page, response }: Visited,
): Fields {
  if (responseMode === "form_post") {
    expect(posts(page), page).toBe(true)
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
