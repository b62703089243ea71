import { createHash, createHmac } from "node:crypto"
import * as z from "zod/mini"
import { type Random, randomToken } from "../../../kernel/crypto/random.ts"
import { Fault } from "../../../kernel/fault.ts"
import { loadJose } from "../../../protocol/jose.ts"
import { selfCheckHeader } from "../../../protocol/self-check/self-check.ts"
import { systemCode } from "../../start-error.ts"
import { type Finding, ok, problem } from "../finding.ts"
import { createBrowser, type Page, pathOf, summaryOf } from "./browser.ts"
import type { Send, TemporaryUser } from "./messages.ts"

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
  /** In ms since the epoch. */
  readonly now: () => number
}

/** The policy requires a step that a self-check can't do; everything before it succeeded. */
const untestableError = (message: string) => new Fault("failed_precondition", untestableId, message)
const untestableId = "doctor.beyond"

/**
 * Signs a user in end to end, as an application and a browser: authorization code with PKCE (RFC
 * 7636), tokens, introspection (RFC 7662), userinfo and sign-out. Verifies that the token is
 * revoked afterwards.
 */
export async function checkSignIn(user: TemporaryUser, options: SignInOptions): Promise<Finding> {
  let step = "discovery"
  const onStep = (name: string) => {
    step = name
  }
  try {
    await signIn(user, options, onStep)
    const second = user.totpKey === undefined ? "password" : "password, authenticator app"
    return ok("sign-in", `${second}, tokens, introspection, userinfo and sign-out work`)
  } catch (cause) {
    if (cause instanceof Fault && cause.id === untestableId) return ok("sign-in", cause.message)
    return problem("sign-in", `the sign-in fails at ${step}: ${reasonOf(cause)}`, remedyFor(step))
  }
}

function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  return cause.message || systemCode(cause) || cause.name
}

const remedyFor = (step: string): string =>
  step === "discovery"
    ? "check that the public URL leads to this server"
    : "sign in at the public URL in a browser, and check the server log"

async function signIn(
  user: TemporaryUser,
  { send, random, now }: SignInOptions,
  onStep: (step: string) => void,
): Promise<void> {
  const { publicUrl, token } = user
  const request = createRequest(send, token)
  const discovered = await request(`${publicUrl}/.well-known/openid-configuration`, metadata)
  if (discovered.issuer !== publicUrl) throw new Error(`the issuer is ${discovered.issuer}`)
  const browser = createBrowser(send, { token, origin: new URL(publicUrl).origin })
  const [state, nonce, verifier] = [16, 16, 32].map((bytes) => randomToken(random, bytes))
  onStep("the authorization endpoint")
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
  const first = await browser.get(`${discovered.authorization_endpoint}?${query}`)
  const last = await completePages(browser, first, { user, now, at: onStep })
  const callbackParameters = new URL(last.url).searchParams
  if (callbackParameters.get("state") !== state)
    throw new Error("the response has a different state")
  const code = callbackParameters.get("code")
  if (code === null)
    throw new Error(
      `${callbackParameters.get("error")}: ${callbackParameters.get("error_description")}`,
    )
  onStep("the token endpoint")
  const basic = Buffer.from(`${user.clientId}:${user.clientSecret}`).toString("base64")
  const authorization = `Basic ${basic}`
  const { access_token, id_token } = await request(discovered.token_endpoint, tokens, {
    authorization,
    grant_type: "authorization_code",
    code,
    code_verifier: `${verifier}`,
    redirect_uri: user.redirectUri,
  })
  await verify(id_token, { found: discovered, user, nonce: `${nonce}`, request })
  onStep("introspection")
  const introspect = () =>
    request(discovered.introspection_endpoint, introspection, {
      authorization,
      token: access_token,
    })
  const { active, sub } = await introspect()
  if (!active || sub !== user.id) throw new Error("a new access token is not active")
  onStep("userinfo")
  const info = await request(discovered.userinfo_endpoint, userinfo, {
    authorization: `Bearer ${access_token}`,
  })
  if (info.sub !== user.id) throw new Error("it returned another user")
  onStep("sign-out")
  await signOut(browser, { found: discovered, user, idToken: id_token })
  if ((await introspect()).active) throw new Error("the token is still active after the sign-out")
}

type Browser = ReturnType<typeof createBrowser>

type SignInWalk = {
  readonly user: TemporaryUser
  readonly now: () => number
  readonly at: (step: string) => void
}

const pagesMax = 10

/** Submits the sign-in pages until the browser is redirected to the application. */
async function completePages(
  browser: Browser,
  first: Page,
  { user, now, at: onStep }: SignInWalk,
): Promise<Page> {
  let page = first
  for (let count = 0; count < pagesMax; count++) {
    if (page.url.startsWith(user.redirectUri)) return page
    if (page.text === "") {
      const { origin } = new URL(page.url)
      throw untestableError(`the sign-in pages are at ${origin}: sign in there once as a user`)
    }
    if (page.status >= 400)
      throw new Error(`${pathOf(page)} returned ${page.status} "${summaryOf(page)}"`)
    page = await submitPage(browser, page, { user, now, at: onStep })
  }
  throw new Error(`the sign-in does not end; the last page is ${pathOf(page)}`)
}

async function submitPage(
  browser: Browser,
  page: Page,
  { user, now, at: onStep }: SignInWalk,
): Promise<Page> {
  const path = pathOf(page)
  if (path === "/ui/login/loginname") {
    onStep("the login name")
    return browser.post(page, "loginName", { loginName: user.id })
  }
  if (path === "/ui/login/password") {
    onStep("the password")
    return browser.post(page, "password", { loginName: user.id, password: user.password })
  }
  if (path === "/ui/login/mfa/verify" && user.totpKey !== undefined) {
    onStep("the authenticator app")
    return browser.post(page, "code", { code: totpOf(user.totpKey, now()), send: "" })
  }
  if (path === "/ui/login/mfa/set") {
    if (page.text.includes('value="skip"')) return browser.post(page, "factor", { factor: "skip" })
    throw untestableError(
      "the password is accepted; the policy then requires a second factor other than an " +
        "authenticator app, which can't be tested: sign in once as a user",
    )
  }
  if (path === "/ui/login/consent") return browser.post(page, "answer", { answer: "allow" })
  throw unexpectedError(page)
}

const unexpectedError = (page: Page) =>
  new Error(`unexpected page: ${pathOf(page)} "${summaryOf(page)}"`)

/** RFC 6238, as in authenticator apps. */
export function totpOf(key: string, now: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(now / 30_000)))
  const mac = createHmac("sha1", Buffer.from(key, "base64url")).update(counter).digest()
  const code = mac.readUInt32BE((mac.at(-1) ?? 0) & 0xf) & 0x7fffffff
  return `${code % 1_000_000}`.padStart(6, "0")
}

type SignOutInput = {
  readonly found: Metadata
  readonly user: TemporaryUser
  readonly idToken: string
}

/** OpenID Connect RP-Initiated Logout §2. */
async function signOut(
  browser: Browser,
  { found: discovered, user, idToken }: SignOutInput,
): Promise<void> {
  const query = new URLSearchParams({
    id_token_hint: idToken,
    post_logout_redirect_uri: user.redirectUri,
  })
  const page = await browser.get(`${discovered.end_session_endpoint}?${query}`)
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

/** Requests JSON. `authorization` in the form is sent as a header, the rest as the body. */
const createRequest =
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
    if (!response.ok)
      throw new Error(`the server returned ${response.status}: ${text.slice(0, 200)}`)
    const discovered = z.safeParse(schema, parseJson(text))
    if (!discovered.success) throw new Error("the response lacks the expected fields")
    return discovered.data
  }

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Error("the response is not JSON")
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
  { found: discovered, user, nonce, request }: Verification,
): Promise<void> {
  const { createLocalJWKSet, jwtVerify } = await loadJose()
  const { keys } = await request(discovered.jwks_uri, keySet)
  const { payload } = await jwtVerify(idToken, createLocalJWKSet({ keys: keys.map(keyOf) }), {
    issuer: discovered.issuer,
    audience: user.clientId,
    clockTolerance: 10,
  })
  if (payload.sub !== user.id) throw new Error("the ID token is for another user")
  if (payload.nonce !== nonce) throw new Error("the ID token has a different nonce")
}

const keyOf = (key: Record<string, unknown>) => ({ ...key, kty: String(key.kty) })
