import { createHash, createHmac } from "node:crypto"
import * as z from "zod/mini"
import { type Random, randomToken } from "../../../kernel/crypto/random.ts"
import { Fault } from "../../../kernel/fault.ts"
import { jose } from "../../../protocol/jose.ts"
import { selfCheckHeader } from "../../../protocol/self-check/self-check.ts"
import { systemCode } from "../../start-error.ts"
import { type Finding, ok, wrong } from "../finding.ts"
import { browserOf, headingOf, type Page, pathOf } from "./browser.ts"
import type { Send, TemporaryUser } from "./part.ts"

const metadata = z.lazy(() =>
  z.object({
    issuer: z.string(),
    authorization_endpoint: z.string(),
    token_endpoint: z.string(),
    introspection_endpoint: z.string(),
    userinfo_endpoint: z.string(),
    end_session_endpoint: z.string(),
    jwks_uri: z.string(),
  }),
)
type Metadata = Readonly<z.output<typeof metadata>>

const tokens = z.lazy(() => z.object({ access_token: z.string(), id_token: z.string() }))
const introspection = z.lazy(() => z.object({ active: z.boolean(), sub: z.optional(z.string()) }))
const userinfo = z.lazy(() => z.object({ sub: z.string() }))
const keySet = z.lazy(() => z.object({ keys: z.array(z.record(z.string(), z.unknown())) }))

export type SignInOptions = {
  readonly send: Send
  readonly random: Random
  /** ms UTC. */
  readonly now: () => number
}

/** The policy requires what a self-check can't do; all went well until there. */
const beyond = (message: string) => new Fault("failed_precondition", beyondId, message)
const beyondId = "doctor.beyond"

/**
 * Signs a user in end to end, as an application and a browser do: authorization code with PKCE
 * (RFC 7636), tokens, introspection (RFC 7662), userinfo, sign-out, and that the token is void
 * afterwards.
 */
export async function checkSignIn(user: TemporaryUser, options: SignInOptions): Promise<Finding> {
  let step = "discovery"
  const at = (name: string) => {
    step = name
  }
  try {
    await signIn(user, options, at)
    const second = user.totpKey === undefined ? "password" : "password, authenticator app"
    return ok("sign-in", `${second}, tokens, introspection, userinfo and sign-out work`)
  } catch (cause) {
    if (cause instanceof Fault && cause.id === beyondId) return ok("sign-in", cause.message)
    return wrong("sign-in", `it fails at ${step}: ${reasonOf(cause)}`, remedies(step))
  }
}

function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  return cause.message || systemCode(cause) || cause.name
}

const remedies = (step: string): string =>
  step === "discovery"
    ? "see that the public address leads to this server"
    : "sign in at the public address in a browser, and see the server's log"

async function signIn(
  user: TemporaryUser,
  { send, random, now }: SignInOptions,
  at: (step: string) => void,
): Promise<void> {
  const { publicUrl, token } = user
  const request = requestWith(send, token)
  const found = await request(`${publicUrl}/.well-known/openid-configuration`, metadata)
  if (found.issuer !== publicUrl) throw new Error(`the issuer is ${found.issuer}`)
  const browser = browserOf(send, { token, origin: new URL(publicUrl).origin })
  const [state, nonce, verifier] = [16, 16, 32].map((bytes) => randomToken(random, bytes))
  at("the authorization endpoint")
  const challenge = createHash("sha256").update(`${verifier}`).digest("base64url")
  const query = new URLSearchParams({
    client_id: user.clientId,
    redirect_uri: user.redirectUri,
    response_type: "code",
    scope: "openid profile",
    state: `${state}`,
    nonce: `${nonce}`,
    code_challenge: challenge,
    code_challenge_method: "S256",
  })
  const first = await browser.get(`${found.authorization_endpoint}?${query}`)
  const last = await throughPages(browser, first, { user, now, at })
  const back = new URL(last.url).searchParams
  if (back.get("state") !== state) throw new Error("the answer has another state")
  const code = back.get("code")
  if (code === null) throw new Error(`${back.get("error")}: ${back.get("error_description")}`)
  at("the token endpoint")
  const basic = Buffer.from(`${user.clientId}:${user.clientSecret}`).toString("base64")
  const authorization = `Basic ${basic}`
  const { access_token, id_token } = await request(found.token_endpoint, tokens, {
    authorization,
    grant_type: "authorization_code",
    code,
    code_verifier: `${verifier}`,
    redirect_uri: user.redirectUri,
  })
  await verify(id_token, { found, user, nonce: `${nonce}`, request })
  at("introspection")
  const introspect = () =>
    request(found.introspection_endpoint, introspection, { authorization, token: access_token })
  const { active, sub } = await introspect()
  if (!active || sub !== user.id) throw new Error("a token that was just issued is not active")
  at("userinfo")
  const info = await request(found.userinfo_endpoint, userinfo, {
    authorization: `Bearer ${access_token}`,
  })
  if (info.sub !== user.id) throw new Error("it returns another user")
  at("sign-out")
  await signOut(browser, { found, user, idToken: id_token })
  if ((await introspect()).active) throw new Error("the token is still active afterwards")
}

type Browser = ReturnType<typeof browserOf>

type Walk = {
  readonly user: TemporaryUser
  readonly now: () => number
  readonly at: (step: string) => void
}

const pagesMax = 10

/** Fills in the pages of the sign-in until the browser is sent back to the application. */
async function throughPages(browser: Browser, first: Page, { user, now, at }: Walk): Promise<Page> {
  let page = first
  for (let count = 0; count < pagesMax; count++) {
    if (page.url.startsWith(user.redirectUri)) return page
    if (page.text === "") {
      const { origin } = new URL(page.url)
      throw beyond(`the sign-in pages are those of ${origin}: sign in there once as users do`)
    }
    if (page.status >= 400)
      throw new Error(`${pathOf(page)} answers ${page.status} “${headingOf(page)}”`)
    page = await fillIn(browser, page, { user, now, at })
  }
  throw new Error(`it does not end; the last page is ${pathOf(page)}`)
}

async function fillIn(browser: Browser, page: Page, { user, now, at }: Walk): Promise<Page> {
  const path = pathOf(page)
  if (path === "/ui/login/loginname") {
    at("the login name")
    return browser.post(page, "loginName", { loginName: user.id })
  }
  if (path === "/ui/login/password") {
    at("the password")
    return browser.post(page, "password", { loginName: user.id, password: user.password })
  }
  if (path === "/ui/login/mfa/verify" && user.totpKey !== undefined) {
    at("the authenticator app")
    return browser.post(page, "code", { code: totpOf(user.totpKey, now()), send: "" })
  }
  if (path === "/ui/login/mfa/set") {
    if (page.text.includes('value="skip"')) return browser.post(page, "factor", { factor: "skip" })
    throw beyond(
      "the password is accepted; the policy then requires a second factor other than an " +
        "authenticator app, which is not tried: sign in once as users do",
    )
  }
  if (path === "/ui/login/consent") return browser.post(page, "answer", { answer: "allow" })
  throw unexpectedError(page)
}

const unexpectedError = (page: Page) =>
  new Error(`an unexpected page is shown: ${pathOf(page)} “${headingOf(page)}”`)

/** RFC 6238, as authenticator apps do it. */
export function totpOf(key: string, now: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(now / 30_000)))
  const mac = createHmac("sha1", Buffer.from(key, "base64url")).update(counter).digest()
  const code = mac.readUInt32BE((mac.at(-1) ?? 0) & 0xf) & 0x7fffffff
  return `${code % 1_000_000}`.padStart(6, "0")
}

type Leaving = {
  readonly found: Metadata
  readonly user: TemporaryUser
  readonly idToken: string
}

/** OpenID Connect RP-Initiated Logout §2. */
async function signOut(browser: Browser, { found, user, idToken }: Leaving): Promise<void> {
  const query = new URLSearchParams({
    id_token_hint: idToken,
    post_logout_redirect_uri: user.redirectUri,
  })
  const page = await browser.get(`${found.end_session_endpoint}?${query}`)
  if (page.url.startsWith(user.redirectUri)) return
  throw unexpectedError(page)
}

type Form = Readonly<Record<string, string>>
type Request = <S extends z.core.$ZodType>(
  url: string,
  schema: S,
  form?: Form,
) => Promise<z.output<S>>

const timeoutMs = 15_000

/** Asks for JSON; `authorization` of a form is a header, the rest is posted. */
const requestWith =
  (send: Send, token: string): Request =>
  async (url, schema, form) => {
    const { authorization, ...fields } = form ?? {}
    const isPost = Object.keys(fields).length > 0
    const response = await send(url, {
      method: isPost ? "POST" : "GET",
      headers: { [selfCheckHeader]: token, ...(authorization && { authorization }) },
      ...(isPost && { body: new URLSearchParams(fields) }),
      signal: AbortSignal.timeout(timeoutMs),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`it answers ${response.status}: ${text.slice(0, 200)}`)
    const found = z.safeParse(schema, jsonIn(text))
    if (!found.success) throw new Error("the answer does not have the expected fields")
    return found.data
  }

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Error("it does not answer with JSON")
  }
}

type Verification = {
  readonly found: Metadata
  readonly user: TemporaryUser
  readonly nonce: string
  readonly request: Request
}

/** OpenID Connect Core §3.1.3.7. */
async function verify(
  idToken: string,
  { found, user, nonce, request }: Verification,
): Promise<void> {
  const { createLocalJWKSet, jwtVerify } = await jose()
  const { keys } = await request(found.jwks_uri, keySet)
  const { payload } = await jwtVerify(idToken, createLocalJWKSet({ keys: keys.map(keyOf) }), {
    issuer: found.issuer,
    audience: user.clientId,
    clockTolerance: 10,
  })
  if (payload.sub !== user.id) throw new Error("the ID token is for another user")
  if (payload.nonce !== nonce) throw new Error("the ID token has another nonce")
}

const keyOf = (key: Record<string, unknown>) => ({ ...key, kty: String(key.kty) })
