import { createHash } from "node:crypto"
import { SignJWT } from "jose"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { changeApplication, createApplication, findClient } from "../../src/domain/app/index.ts"
import { addAuthorization, changeAuthorization } from "../../src/domain/authorization/index.ts"
import { setSecurity } from "../../src/domain/instance/index.ts"
import { addMember } from "../../src/domain/member/index.ts"
import { createOrganization } from "../../src/domain/org/index.ts"
import { addRoles, changeProject, createProject } from "../../src/domain/project/index.ts"
import { removePersonalToken, user } from "../../src/domain/user/index.ts"
import { addRobot, basicOf } from "./clients.ts"
import { exchangeGrant, typeOf, userIdType } from "./exchange.ts"
import { newProofKey, type ProofKey, proofWith } from "./proof.ts"
import {
  answerOf,
  askToken,
  authorizePath,
  browserOf,
  codeFields,
  type NewClient,
  openProvider,
  type Provider,
} from "./provider.ts"
import { letRegister, sendMetadata } from "./registering.ts"
import { personalTokenOf } from "./service.ts"

const host = "wiki.example.com"
const callback = `https://${host}/.latchkey/callback`
const resource = `https://${host}/api`

let provider: Provider
/** What the proxy protects. */
let client: NewClient
/** The program that people sign in to and that calls the API. */
let tool: NewClient
let robot: Awaited<ReturnType<typeof addRobot>>
let pat: string

const rules = [
  { prefix: "/api", everybody: false, roles: ["editor"], accessTokens: true },
  { prefix: "/api/status", everybody: true, roles: [], accessTokens: true },
  { prefix: "/public", everybody: true, roles: [] },
]

beforeAll(async () => {
  provider = await openProvider()
  const cx = provider.cx()
  const { orgId } = provider.setup
  await createProject(cx, "wiki", { orgId, name: "Wiki" })
  await addRoles(cx, "wiki", [{ key: "editor", displayName: "Editor" }])
  client = await provider.addClient({ redirectUris: [callback], accessRules: rules }, "wiki")
  await createApplication(cx, "wiki-api", {
    ...{ projectId: "wiki", name: "API" },
    config: { kind: "api", api: { authMethod: "basic", resources: [resource] } },
  })
  tool = await provider.addClient({ grantTypes: ["authorization_code", "refresh_token"] })
  robot = await addRobot(provider)
  pat = await provider.addPerson("pat")
  for (const userId of [pat, robot.userId]) {
    const given = { userId, projectId: "wiki", orgId, roleKeys: ["editor"] }
    await provider.store.transact(cx, (tx) => addAuthorization(tx, `a-${userId}`, given))
  }
  // The process has been there for longer than any proof.
  provider.clock.advance(120_000)
})
afterAll(() => provider.close())

type Ask = {
  readonly target?: string
  readonly authorization?: string
  readonly at?: string
  readonly client?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** What a proxy asks for a program that calls the protected host, and accepts a page as well. */
const ask = ({ target = "/api/pages?x=1", authorization, at = "", ...more }: Ask = {}) =>
  provider.send(`/forward-auth/id.example.com/${more.client ?? client.id}${at}`, {
    headers: {
      accept: "text/html",
      "x-forwarded-host": host,
      "x-forwarded-method": "POST",
      "x-forwarded-uri": target,
      ...(authorization !== undefined && { authorization }),
      ...more.headers,
    },
  })

/** Status, user and challenge of both questions that proxies ask. */
async function answers(asked: Ask) {
  const [gate, check] = [await ask(asked), await ask({ ...asked, at: "/check" })]
  expect(check.status).toBe(gate.status)
  expect(gate.headers.get("location")).toBeNull()
  // nginx passes it on from both.
  expect(check.headers.get("www-authenticate")).toBeNull()
  return {
    status: gate.status,
    user: gate.headers.get("remote-user"),
    challenge: gate.headers.get("www-authenticate"),
    text: await gate.text(),
  }
}

const refusedFor = (reason: string) => ({
  status: 401,
  user: null,
  challenge: `Bearer realm="${host}", error="invalid_token", error_description="${reason}"`,
  text: `${reason}.\n`,
})

type Signing = { readonly as?: NewClient; readonly scope?: string; readonly resource?: string }

/** The tokens of somebody who signs in to a program. */
async function tokensOf(loginName: string, { as = tool, ...changes }: Signing = {}) {
  const browser = browserOf(provider)
  const end = await browser.signIn(authorizePath(as.id, { resource, ...changes }), loginName)
  const allowed = end.page.includes('value="allow"')
    ? await browser.post(end, { answer: "allow" })
    : end
  const { code = "" } = answerOf(allowed)
  const { answer } = await askToken(provider, codeFields(code), `${as.id}:${as.secret}`)
  expect(answer).toHaveProperty("access_token")
  return { access: String(answer.access_token), id: String(answer.id_token) }
}

const robotToken = async (fields: Readonly<Record<string, string>> = { resource }) => {
  const asked = { grant_type: "client_credentials", ...fields }
  const { answer } = await askToken(provider, asked, basicOf(robot.id, robot.secret))
  return String(answer.access_token)
}

/** A pass of somebody's browser at the protected host. */
async function passOf(loginName: string): Promise<string> {
  const cookies = (answer: Response) =>
    answer.headers.getSetCookie().map((line) => line.split(";")[0])
  const begun = await ask({ target: "/", headers: { "x-forwarded-method": "GET" } })
  const to = new URL(begun.headers.get("location") ?? "")
  const visited = await browserOf(provider).signIn(to.pathname + to.search, loginName)
  const { pathname, search } = new URL(visited.path)
  const headers = { cookie: cookies(begun).join("; ") }
  const done = await ask({ target: pathname + search, headers })
  return cookies(done).join("; ")
}

describe("an access token at a protected host", () => {
  test.each(["bearer", "jwt"] as const)("of a user lets them in by name: %s", async (tokenType) => {
    const as = await provider.addClient({ tokenType })
    const { access } = await tokensOf("pat", { as })
    const answer = await ask({ authorization: `Bearer ${access}` })
    expect(answer.status).toBe(200)
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      "remote-user": "pat",
      "remote-user-id": pat,
      "remote-email": "pat@example.org",
      "remote-groups": "editor",
      "cache-control": "no-store",
    })
    // RFC 9110 §11.1: the scheme is the same in any case.
    expect(await answers({ authorization: `bearer ${access}` })).toMatchObject({ status: 200 })
  })

  test("of a service account lets it in, for the resource and not for the project", async () => {
    const answer = await ask({ authorization: `Bearer ${await robotToken()}` })
    expect([answer.status, answer.headers.get("remote-user-id")]).toEqual([200, robot.userId])
    const scope = "urn:core:iam:org:project:id:wiki:aud"
    const authorization = `Bearer ${await robotToken({ scope })}`
    expect(await answers({ authorization })).toEqual(
      refusedFor("the access token is for another application"),
    )
  })

  test("of the application itself is for its client ID", async () => {
    const own = "https://wiki.example.com/cli"
    await changeApplication(provider.cx(), client.appId, {
      oidc: { redirectUris: [callback, own] },
    })
    const browser = browserOf(provider)
    const path = authorizePath(client.id, { redirect_uri: own })
    const { code = "" } = answerOf(await browser.signIn(path, "pat"))
    const fields = codeFields(code, { redirect_uri: own })
    const { answer } = await askToken(provider, fields, `${client.id}:${client.secret}`)
    const authorization = `Bearer ${answer.access_token}`
    expect(await answers({ authorization })).toMatchObject({ status: 200, user: "pat" })
  })

  test("is accepted where every rule for the path says so, and nowhere else", async () => {
    const authorization = `Bearer ${(await tokensOf("pat")).access}`
    const status = async (target: string) =>
      (await ask({ target, authorization, at: "/check" })).status
    expect(await status("/api")).toBe(200)
    expect(await status("/api/status")).toBe(200)
    expect(await status("/")).toBe(401)
    expect(await status("/apis")).toBe(401)
    expect(await status("/API/pages")).toBe(401)
    expect(await status("/api/../api/pages")).toBe(401)
    expect(await status("/api%2fpages")).toBe(401)
    const open = await ask({ target: "/public", authorization })
    expect([open.status, open.headers.get("remote-user")]).toEqual([200, ""])
    expect(open.headers.get("authorization")).toBe(authorization)
  })

  test("reaches what lies at or below its resource, at its host alone", async () => {
    const authorization = `Bearer ${(await tokensOf("pat")).access}`
    await changeApplication(provider.cx(), client.appId, {
      oidc: {
        redirectUris: [callback, "https://other.example.com/.latchkey/callback"],
        accessRules: [{ prefix: "/", everybody: false, roles: [], accessTokens: true }],
      },
    })
    try {
      const other = { "x-forwarded-host": "other.example.com" }
      const reason = "the access token is for another application"
      expect(await answers({ target: "/api/x", authorization })).toMatchObject({ status: 200 })
      expect(await answers({ target: "/", authorization })).toEqual(refusedFor(reason))
      expect(await answers({ target: "/apis", authorization })).toEqual(refusedFor(reason))
      const elsewhere = await ask({ authorization, headers: other })
      expect(elsewhere.headers.get("www-authenticate")).toContain(reason)
    } finally {
      await changeApplication(provider.cx(), client.appId, { oidc: { accessRules: rules } })
    }
  })

  test("follows the roles of its user, and whom the project lets in, at once", async () => {
    const authorization = `Bearer ${(await tokensOf("pat")).access}`
    const cx = provider.cx()
    const set = (roleKeys: readonly string[]) => changeAuthorization(cx, `a-${pat}`, roleKeys)
    await set([])
    expect(await answers({ authorization })).toMatchObject({ status: 403, user: null })
    await set(["editor"])
    expect(await answers({ authorization })).toMatchObject({ status: 200, user: "pat" })
    await provider.addPerson("sam")
    const other = `Bearer ${(await tokensOf("sam")).access}`
    const target = "/api/status"
    expect(await answers({ target, authorization: other })).toMatchObject({ status: 200 })
    await changeProject(cx, "wiki", { projectRoleCheck: true })
    try {
      expect(await answers({ target, authorization })).toMatchObject({ status: 200 })
      expect((await ask({ target, authorization: other })).status).not.toBe(200)
    } finally {
      await changeProject(cx, "wiki", { projectRoleCheck: false })
    }
  })
})

describe("a token that is not good here", () => {
  test("of another application, of either organization, is refused", async () => {
    const reason = "the access token is for another application"
    const boss = { kind: "user", userId: "boss", orgId: "other", clientId: "console" } as const
    const cx = provider.cx({ caller: boss })
    await createOrganization(cx, "other", { name: "Other" })
    await createProject(cx, "theirs", { orgId: "other", name: "Theirs" })
    const theirs = await provider.addClient({}, "theirs")
    const neighbor = await provider.addClient({}, "wiki")
    for (const as of [theirs, neighbor]) {
      const { access } = await tokensOf("pat", { as, resource: "" })
      expect(await answers({ authorization: `Bearer ${access}` })).toEqual(refusedFor(reason))
    }
  })

  test("for the management API alone is refused", async () => {
    const authorization = `Bearer ${await robotToken({})}`
    const reason = "the access token is for another application"
    expect(await answers({ authorization })).toEqual(refusedFor(reason))
  })

  test("that is an ID token is refused", async () => {
    const { id } = await tokensOf("pat")
    const reason = "the access token is not valid (any more)"
    expect(await answers({ authorization: `Bearer ${id}` })).toEqual(refusedFor(reason))
  })

  test("of a client that registered itself is refused", async () => {
    await letRegister(provider)
    const { answer } = await sendMetadata(provider, {
      ...{ client_name: "Tool", redirect_uris: ["https://app.example.com/callback"] },
    })
    const id = String(answer.client_id)
    const appId = findClient(provider.cx(), id)?.appId ?? ""
    const as = { appId, id, secret: String(answer.client_secret) }
    const { access } = await tokensOf("pat", { as })
    const reason = "the access token was issued to a client that registered itself"
    expect(await answers({ authorization: `Bearer ${access}` })).toEqual(refusedFor(reason))
  })

  test("with which somebody acts for its user is refused: the program could not tell", async () => {
    const cx = provider.cx()
    const security = { enableIframeEmbedding: false, allowedOrigins: [] }
    await setSecurity(cx, "i1", { ...security, enableImpersonation: true })
    const roles = ["IAM_END_USER_IMPERSONATOR"]
    await provider.store.transact(cx, (tx) =>
      addMember(tx, { target: { level: "instance" }, userId: robot.userId, roles }),
    )
    const gateway = await provider.addClient({ grantTypes: ["token_exchange"] })
    const own = `urn:core:iam:org:project:id:${provider.projectId}:aud`
    const actor = await robotToken({ resource: `${resource} ${own}` })
    const fields = {
      ...{ grant_type: exchangeGrant, subject_token: pat, subject_token_type: userIdType },
      ...{ actor_token: actor, actor_token_type: typeOf("access_token"), resource },
    }
    const { answer } = await askToken(provider, fields, `${gateway.id}:${gateway.secret}`)
    expect(answer.error_description).toBeUndefined()
    const reason = "the access token lets somebody act for another user"
    const authorization = `Bearer ${answer.access_token}`
    expect(await answers({ authorization })).toEqual(refusedFor(reason))
  })

  test("that was revoked or has expired is refused, whether opaque or a JWT", async () => {
    const reason = "the access token is not valid (any more)"
    const jwtClient = await provider.addClient({ tokenType: "jwt" })
    for (const as of [tool, jwtClient]) {
      const [revoked, expired] = [await tokensOf("pat", { as }), await tokensOf("pat", { as })]
      await provider.send("/oauth/v2/revoke", {
        method: "POST",
        headers: { authorization: `Basic ${btoa(`${as.id}:${as.secret}`)}` },
        body: new URLSearchParams({ token: revoked.access }),
      })
      const gone = await answers({ authorization: `Bearer ${revoked.access}` })
      expect(gone).toEqual(refusedFor(reason))
      provider.clock.advance(13 * 3_600_000)
      for (const target of ["/api", "/api/status"]) {
        const late = await answers({ target, authorization: `Bearer ${expired.access}` })
        expect(late).toEqual(refusedFor(reason))
      }
    }
  })

  test("that is a personal one is refused: it is for projects, never for one host", async () => {
    const token = await personalTokenOf(provider, robot.userId)
    const authorization = `Bearer ${token}`
    const reason = "the access token is for another application"
    expect(await answers({ authorization })).toEqual(refusedFor(reason))
    const [tokenId = ""] = tokenIds()
    await removePersonalToken(provider.cx(), robot.userId, tokenId)
    expect(await answers({ target: "/api/status", authorization })).toEqual(
      refusedFor("the access token is not valid (any more)"),
    )
  })

  const tokenIds = () => {
    const state = provider.store.state(provider.cx(), user, robot.userId)
    return "personalTokens" in state ? Object.keys(state.personalTokens) : []
  }

  test("that is bound to a key needs its proof, for this request", async () => {
    const key = await newProofKey()
    const body = new URLSearchParams({ grant_type: "client_credentials", resource })
    const dpop = await proofWith(provider, key)
    const basic = `Basic ${btoa(basicOf(robot.id, robot.secret))}`
    const init = { method: "POST", body, headers: { authorization: basic, dpop } }
    const { access_token: token } = await (await provider.send("/oauth/v2/token", init)).json()
    const use = (headers: Readonly<Record<string, string>>, scheme = "DPoP") =>
      ask({ authorization: `${scheme} ${token}`, headers })
    expect((await use({}, "Bearer")).status).toBe(401)
    const unproven = await use({})
    expect(unproven.status).toBe(401)
    expect(unproven.headers.get("www-authenticate")).toMatch(
      /^DPoP realm="wiki\.example\.com", algs="[^"]+", error="invalid_dpop_proof"/,
    )
    const good = await hostProof(key, token)
    expect((await use({ dpop: good })).headers.get("remote-user-id")).toBe(robot.userId)
    expect((await use({ dpop: good })).status).toBe(401)
    for (const changes of [
      { htm: "GET" },
      { htu: "https://other.example.com/api/pages" },
      { htu: `https://${host}/api/others` },
      { htu: "https://id.example.com/api/pages" },
    ]) {
      expect((await use({ dpop: await hostProof(key, token, changes) })).status).toBe(401)
    }
    const named = { dpop: await hostProof(key, token), "x-forwarded-method": "" }
    expect((await use(named)).status).toBe(401)
  })

  const hostProof = ({ privateKey, jwk }: ProofKey, token: string, changes: object = {}) =>
    new SignJWT({
      ...{ jti: crypto.randomUUID(), htm: "POST", htu: `https://${host}/api/pages` },
      iat: Math.floor(provider.clock.now() / 1000),
      ath: createHash("sha256").update(token).digest("base64url"),
      ...changes,
    })
      .setProtectedHeader({ typ: "dpop+jwt", alg: "ES256", jwk })
      .sign(privateKey)
})

describe("the Authorization header", () => {
  const foreign = [
    "Basic cGF0OnNlY3JldA==",
    "Bearer of-the-program",
    "Bearer eyJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJ3aWtpIn0.c2ln",
    "Bearer a.b.c",
    "Token",
    'Digest username="pat", realm="wiki", uri="/"',
    "Basic \xfc\xe9",
  ]
  test.each(foreign)(
    "%s is the program's, and is returned only with a permission",
    async (text) => {
      const open = await ask({ target: "/api/status", authorization: text })
      expect([open.status, open.headers.get("authorization")]).toEqual([200, text])
      const shut = await ask({ authorization: text, headers: { accept: "*/*" } })
      expect([shut.status, shut.headers.get("authorization")]).toEqual([401, null])
      const headers = { cookie: await passOf("pat") }
      const { status, headers: told } = await ask({ authorization: text, headers })
      expect([status, told.get("remote-user"), told.get("authorization")]).toEqual([
        200,
        "pat",
        text,
      ])
    },
  )

  test("with a token of ours is not returned, unless the application receives it", async () => {
    const authorization = `Bearer ${(await tokensOf("pat")).access}`
    const returned = async () => (await ask({ authorization })).headers.get("authorization")
    expect(await returned()).toBeNull()
    const set = (accessTokenForwarded: boolean) =>
      changeApplication(provider.cx(), client.appId, { oidc: { accessTokenForwarded } })
    await set(true)
    expect(await returned()).toBe(authorization)
    await set(false)
    expect(await returned()).toBeNull()
  })

  test("decides alone: the pass of another user counts for nothing beside it", async () => {
    const headers = { cookie: await passOf("olga") }
    const { access } = await tokensOf("pat")
    const both = await ask({ authorization: `Bearer ${access}`, headers })
    expect(both.headers.get("remote-user")).toBe("pat")
    const { id } = await tokensOf("pat")
    for (const target of ["/api", "/api/status"]) {
      const asked = { target, authorization: `Bearer ${id}`, headers }
      expect(await answers(asked)).toMatchObject({ status: 401, user: null })
    }
  })

  test("that comes twice is refused where one of them has a token of ours", async () => {
    const { access } = await tokensOf("pat")
    const target = "/api/status"
    const basic = "Basic cGF0OnNlY3JldA=="
    for (const pair of [
      [`Bearer ${access}`, basic],
      [basic, `bearer ${access}`],
      [`Bearer ${access}`, `Bearer ${access}`],
    ]) {
      const refused = await answers({ target, authorization: pair.join(", ") })
      expect(refused).toMatchObject({ status: 401, user: null })
      expect(refused.challenge).toContain('error="invalid_request"')
    }
  })

  test("is requested where a token is accepted, from programs only (RFC 6750 §3)", async () => {
    const headers = { accept: "application/json" }
    const program = await ask({ headers })
    expect(program.headers.get("www-authenticate")).toBe(`Bearer realm="${host}"`)
    expect((await ask({ target: "/", headers })).headers.get("www-authenticate")).toBeNull()
    expect((await ask()).headers.get("www-authenticate")).toBeNull()
  })

  test("gives nobody another host: X-Forwarded-Host must be registered", async () => {
    const authorization = `Bearer ${(await tokensOf("pat")).access}`
    const headers = { "x-forwarded-host": `${host}, evil.example` }
    expect((await ask({ authorization, headers })).status).toBe(403)
  })
})
