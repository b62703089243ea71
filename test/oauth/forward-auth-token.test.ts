import { createHash } from "node:crypto"
import { SignJWT } from "jose"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { changeApplication, findClient, type RemoteUser } from "../../src/domain/app/index.ts"
import { changeAuthorization } from "../../src/domain/authorization/index.ts"
import { setSecurity } from "../../src/domain/instance/setting-change.ts"
import { addMember } from "../../src/domain/member/index.ts"
import { createOrganization } from "../../src/domain/org/commands.ts"
import { changeProject, createProject } from "../../src/domain/project/index.ts"
import { searchRefusals } from "../../src/domain/refusal/refusal.ts"
import { removePersonalToken } from "../../src/domain/service-account/personal-token.ts"
import { user } from "../../src/domain/user-model/model.ts"
import { basicOf } from "./clients.ts"
import { exchangeGrant, typeOf, userIdType } from "./exchange.ts"
import { newProofKey, type ProofKey, proofWith } from "./proof.ts"
import {
  callback,
  host,
  openProtectedHost,
  type ProtectedHost,
  resource,
  rules,
} from "./protected-host.ts"
import { answerOf, askToken, authorizePath, browserOf, codeFields } from "./provider.ts"
import { letRegister, sendMetadata } from "./registering.ts"
import { personalTokenOf } from "./service.ts"

let at: ProtectedHost
beforeAll(async () => {
  at = await openProtectedHost()
})
afterAll(() => at.provider.close())

const refusedFor = (reason: string) => ({
  status: 401,
  user: null,
  challenge: `Bearer realm="${host}", error="invalid_token", error_description="${reason}"`,
  text: `${reason}.\n`,
})

describe("an access token at a protected host", () => {
  test.each(["bearer", "jwt"] as const)("of a user lets them in by name: %s", async (tokenType) => {
    const as = await at.provider.addClient({ tokenType })
    const { access } = await at.tokensOf("pat", { as })
    const answer = await at.ask({ authorization: `Bearer ${access}` })
    expect(answer.status).toBe(200)
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      "remote-user": "pat",
      "remote-user-id": at.pat,
      "remote-email": "pat@example.org",
      "remote-groups": "editor",
      "cache-control": "no-store",
    })
    // RFC 9110 §11.1: the scheme is the same in any case.
    expect(await at.answers({ authorization: `bearer ${access}` })).toMatchObject({ status: 200 })
  })

  test("of a service account lets it in, for the resource and not for the project", async () => {
    const answer = await at.ask({ authorization: `Bearer ${await at.robotToken()}` })
    expect([answer.status, answer.headers.get("remote-user-id")]).toEqual([200, at.robot.userId])
    const scope = "urn:core:iam:org:project:id:wiki:aud"
    const authorization = `Bearer ${await at.robotToken({ scope })}`
    expect(await at.answers({ authorization })).toEqual(
      refusedFor("the access token is for another application"),
    )
  })

  test("of a service account names none where programs know users by an address", async () => {
    const authorization = `Bearer ${await at.robotToken()}`
    const set = (remoteUser: RemoteUser) =>
      changeApplication(at.provider.cx(), at.client.appId, { oidc: { remoteUser } })
    await set("email")
    try {
      expect(await at.answers({ authorization })).toMatchObject({ status: 403, user: null })
    } finally {
      await set("login_name")
    }
  })

  test("counts beside cookies that nobody can read", async () => {
    const headers = { cookie: `__Host-latchkey-at-${at.client.id}=x; analytics=1` }
    const authorization = `Bearer ${(await at.tokensOf("pat")).access}`
    expect(await at.answers({ authorization, headers })).toMatchObject({ status: 200, user: "pat" })
  })

  test("of the application itself is for its client ID", async () => {
    const own = "https://wiki.example.com/cli"
    await changeApplication(at.provider.cx(), at.client.appId, {
      oidc: { redirectUris: [callback, own] },
    })
    const browser = browserOf(at.provider)
    const path = authorizePath(at.client.id, { redirect_uri: own })
    const { code = "" } = answerOf(await browser.signIn(path, "pat"))
    const fields = codeFields(code, { redirect_uri: own })
    const { answer } = await askToken(at.provider, fields, `${at.client.id}:${at.client.secret}`)
    const authorization = `Bearer ${answer.access_token}`
    expect(await at.answers({ authorization })).toMatchObject({ status: 200, user: "pat" })
  })

  test("is accepted where every rule for the path says so, and nowhere else", async () => {
    const authorization = `Bearer ${(await at.tokensOf("pat")).access}`
    const status = async (target: string) =>
      (await at.ask({ target, authorization, at: "/check" })).status
    expect(await status("/api")).toBe(200)
    expect(await status("/api/status")).toBe(200)
    expect(await status("/")).toBe(401)
    expect(await status("/apis")).toBe(401)
    expect(await status("/API/pages")).toBe(401)
    expect(await status("/api/../api/pages")).toBe(401)
    expect(await status("/api%2fpages")).toBe(401)
    const open = await at.ask({ target: "/public", authorization })
    expect([open.status, open.headers.get("remote-user")]).toEqual([200, ""])
    expect(open.headers.get("authorization")).toBe(authorization)
  })

  test("reaches what lies at or below its resource, at its host alone", async () => {
    const authorization = `Bearer ${(await at.tokensOf("pat")).access}`
    await changeApplication(at.provider.cx(), at.client.appId, {
      oidc: {
        redirectUris: [callback, "https://other.example.com/.latchkey/callback"],
        accessRules: [{ prefix: "/", everybody: false, roles: [], accessTokens: true }],
      },
    })
    try {
      const other = { "x-forwarded-host": "other.example.com" }
      const reason = "the access token is for another application"
      expect(await at.answers({ target: "/api/x", authorization })).toMatchObject({ status: 200 })
      expect(await at.answers({ target: "/", authorization })).toEqual(refusedFor(reason))
      expect(await at.answers({ target: "/apis", authorization })).toEqual(refusedFor(reason))
      const elsewhere = await at.ask({ authorization, headers: other })
      expect(elsewhere.headers.get("www-authenticate")).toContain(reason)
    } finally {
      await changeApplication(at.provider.cx(), at.client.appId, { oidc: { accessRules: rules } })
    }
  })

  test("follows the roles of its user, and whom the project lets in, at once", async () => {
    const authorization = `Bearer ${(await at.tokensOf("pat")).access}`
    const cx = at.provider.cx()
    const set = (roleKeys: readonly string[]) => changeAuthorization(cx, `a-${at.pat}`, roleKeys)
    await set([])
    expect(await at.answers({ authorization })).toMatchObject({ status: 403, user: null })
    await set(["editor"])
    expect(await at.answers({ authorization })).toMatchObject({ status: 200, user: "pat" })
    await at.provider.addPerson("sam")
    const other = `Bearer ${(await at.tokensOf("sam")).access}`
    const target = "/api/status"
    expect(await at.answers({ target, authorization: other })).toMatchObject({ status: 200 })
    await changeProject(cx, "wiki", { projectRoleCheck: true })
    try {
      expect(await at.answers({ target, authorization })).toMatchObject({ status: 200 })
      expect((await at.ask({ target, authorization: other })).status).not.toBe(200)
    } finally {
      await changeProject(cx, "wiki", { projectRoleCheck: false })
    }
  })
})

describe("a token that is not good here", () => {
  test("of another application, of either organization, is refused", async () => {
    const reason = "the access token is for another application"
    const boss = { kind: "user", userId: "boss", orgId: "other", clientId: "console" } as const
    const cx = at.provider.cx({ caller: boss })
    await createOrganization(cx, "other", { name: "Other" })
    await createProject(cx, "theirs", { orgId: "other", name: "Theirs" })
    const theirs = await at.provider.addClient({}, "theirs")
    const neighbor = await at.provider.addClient({}, "wiki")
    for (const as of [theirs, neighbor]) {
      const { access } = await at.tokensOf("pat", { as, resource: "" })
      expect(await at.answers({ authorization: `Bearer ${access}` })).toEqual(refusedFor(reason))
    }
  })

  test("for the management API alone is refused", async () => {
    const authorization = `Bearer ${await at.robotToken({})}`
    const reason = "the access token is for another application"
    expect(await at.answers({ authorization })).toEqual(refusedFor(reason))
  })

  test("is noted once, for the client that it was issued to", async () => {
    const { access } = await at.tokensOf("pat", { resource: "" })
    const before = noted().length
    await at.answers({ authorization: `Bearer ${access}` })
    const [refusal, ...others] = noted().slice(0, noted().length - before)
    expect(others).toEqual([])
    expect(refusal).toMatchObject({
      error: "invalid_token",
      clientId: at.tool.id,
      description: "the access token is for another application",
    })
  })

  test("that is an ID token is refused", async () => {
    const { id } = await at.tokensOf("pat")
    const reason = "the access token is not valid (any more)"
    expect(await at.answers({ authorization: `Bearer ${id}` })).toEqual(refusedFor(reason))
  })

  test("of a client that registered itself is refused", async () => {
    await letRegister(at.provider)
    const { answer } = await sendMetadata(at.provider, {
      client_name: "Tool",
      redirect_uris: ["https://app.example.com/callback"],
    })
    const id = String(answer.client_id)
    const appId = findClient(at.provider.cx(), id)?.appId ?? ""
    const as = { appId, id, secret: String(answer.client_secret) }
    const { access } = await at.tokensOf("pat", { as })
    const reason = "the access token was issued to a client that registered itself"
    expect(await at.answers({ authorization: `Bearer ${access}` })).toEqual(refusedFor(reason))
  })

  test("with which somebody acts for its user is refused: the program could not tell", async () => {
    const cx = at.provider.cx()
    const security = { enableIframeEmbedding: false, allowedOrigins: [] }
    await setSecurity(cx, "i1", { ...security, enableImpersonation: true })
    const roles = ["IAM_END_USER_IMPERSONATOR"]
    await at.provider.store.transact(cx, (tx) =>
      addMember(tx, { target: { level: "instance" }, userId: at.robot.userId, roles }),
    )
    const gateway = await at.provider.addClient({ grantTypes: ["token_exchange"] })
    const own = `urn:core:iam:org:project:id:${at.provider.projectId}:aud`
    const actor = await at.robotToken({ resource: `${resource} ${own}` })
    const fields = {
      grant_type: exchangeGrant,
      subject_token: at.pat,
      subject_token_type: userIdType,
      actor_token: actor,
      actor_token_type: typeOf("access_token"),
      resource,
    }
    const { answer } = await askToken(at.provider, fields, `${gateway.id}:${gateway.secret}`)
    expect(answer.error_description).toBeUndefined()
    const reason = "the access token lets somebody act for another user"
    const authorization = `Bearer ${answer.access_token}`
    expect(await at.answers({ authorization })).toEqual(refusedFor(reason))
  })

  test("that was revoked or has expired is refused, whether opaque or a JWT", async () => {
    const reason = "the access token is not valid (any more)"
    const jwtClient = await at.provider.addClient({ tokenType: "jwt" })
    for (const as of [at.tool, jwtClient]) {
      const [revoked, expired] = [
        await at.tokensOf("pat", { as }),
        await at.tokensOf("pat", { as }),
      ]
      await at.provider.send("/oauth/v2/revoke", {
        method: "POST",
        headers: { authorization: `Basic ${btoa(`${as.id}:${as.secret}`)}` },
        body: new URLSearchParams({ token: revoked.access }),
      })
      const gone = await at.answers({ authorization: `Bearer ${revoked.access}` })
      expect(gone).toEqual(refusedFor(reason))
      at.provider.clock.advance(13 * 3_600_000)
      for (const target of ["/api", "/api/status"]) {
        const late = await at.answers({ target, authorization: `Bearer ${expired.access}` })
        expect(late).toEqual(refusedFor(reason))
      }
    }
  })

  test("that is a personal one is refused: it is for projects, never for one host", async () => {
    const token = await personalTokenOf(at.provider, at.robot.userId)
    const authorization = `Bearer ${token}`
    const reason = "the access token is for another application"
    expect(await at.answers({ authorization })).toEqual(refusedFor(reason))
    const [tokenId = ""] = tokenIds()
    await removePersonalToken(at.provider.cx(), at.robot.userId, tokenId)
    expect(await at.answers({ target: "/api/status", authorization })).toEqual(
      refusedFor("the access token is not valid (any more)"),
    )
  })

  const noted = (appId = at.tool.appId) => {
    const page = { offset: 0, limit: 100, asc: false }
    const scope = { all: true, orgs: [], projects: [], grants: [] }
    return searchRefusals({ ...at.provider.cx(), scope }, { requestId: "", appId, page }).rows
  }

  const tokenIds = () => {
    const state = at.provider.store.state(at.provider.cx(), user, at.robot.userId)
    return "personalTokens" in state ? Object.keys(state.personalTokens) : []
  }

  /** A token of the service account that is bound to a key. */
  async function boundToken(key: ProofKey, fields: Readonly<Record<string, string>> = {}) {
    const body = new URLSearchParams({ grant_type: "client_credentials", resource, ...fields })
    const dpop = await proofWith(at.provider, key)
    const basic = `Basic ${btoa(basicOf(at.robot.id, at.robot.secret))}`
    const init = { method: "POST", body, headers: { authorization: basic, dpop } }
    const answer = await (await at.provider.send("/oauth/v2/token", init)).json()
    return String(answer.access_token)
  }

  test("that is bound to a key needs its proof, for this request", async () => {
    const key = await newProofKey()
    const token = await boundToken(key)
    const use = (headers: Readonly<Record<string, string>>, scheme = "DPoP") =>
      at.ask({ authorization: `${scheme} ${token}`, headers })
    expect((await use({}, "Bearer")).status).toBe(401)
    const unproven = await use({})
    expect(unproven.status).toBe(401)
    expect(unproven.headers.get("www-authenticate")).toMatch(
      /^DPoP realm="wiki\.example\.com", algs="[^"]+", error="invalid_dpop_proof"/,
    )
    const good = await hostProof(key, token)
    expect((await use({ dpop: good })).headers.get("remote-user-id")).toBe(at.robot.userId)
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

  describe("is refused for the same cause by both questions of nginx, which share a proof", () => {
    const twice = async (authorization: string, dpop: string) => {
      const asked = { authorization, headers: { dpop } }
      const check = await at.ask({ ...asked, at: "/check" })
      const second = await at.ask({ ...asked, at: "/ask" })
      return [check.status, second.status, await second.text()]
    }
    const replayed = [401, 401, expect.stringContaining("the DPoP proof is not valid")]

    test("the user has no role; and that is not noted as a replay", async () => {
      const key = await newProofKey()
      const token = await boundToken(key)
      const dpop = await hostProof(key, token)
      const set = (roleKeys: readonly string[]) =>
        changeAuthorization(at.provider.cx(), `a-${at.robot.userId}`, roleKeys)
      const [before] = refused()
      await set([])
      try {
        const answers = await twice(`DPoP ${token}`, dpop)
        expect(answers).toEqual([403, 403, "You have none of the roles that this needs.\n"])
      } finally {
        await set(["editor"])
      }
      expect(refused()[0]).toEqual(before)
      // RFC 9449 §11.1: the first question has used it up, even so.
      expect(await twice(`DPoP ${token}`, dpop)).toEqual(replayed)
    })

    test("the audience is another one", async () => {
      const key = await newProofKey()
      const scope = "urn:core:iam:org:project:id:wiki:aud"
      const token = await boundToken(key, { resource: "", scope })
      const text = "the access token is for another application"
      const answers = await twice(`DPoP ${token}`, await hostProof(key, token))
      expect(answers).toEqual([401, 401, `${text}.\n`])
      expect(refused()[0]).toMatchObject({ error: "invalid_token", description: text })
    })

    test("the proof is of another key", async () => {
      const token = await boundToken(await newProofKey())
      const dpop = await hostProof(await newProofKey(), token)
      const text = "the access token is not valid (any more)"
      expect(await twice(`DPoP ${token}`, dpop)).toEqual([401, 401, `${text}.\n`])
      expect(refused()[0]).toMatchObject({ error: "invalid_token", description: text })
    })

    test("and neither lets a proof in that another request has used", async () => {
      const key = await newProofKey()
      const token = await boundToken(key)
      const dpop = await hostProof(key, token)
      expect((await at.ask({ authorization: `DPoP ${token}`, headers: { dpop } })).status).toBe(200)
      expect(await twice(`DPoP ${token}`, dpop)).toEqual(replayed)
      expect(refused()[0]).toMatchObject({ error: "invalid_dpop_proof" })
    })

    test("nor does the second one let a proof in twice, asked alone", async () => {
      const key = await newProofKey()
      const token = await boundToken(key)
      const asked = { authorization: `DPoP ${token}`, at: "/ask" }
      const headers = { dpop: await hostProof(key, token) }
      expect((await at.ask({ ...asked, headers })).status).toBe(200)
      expect((await at.ask({ ...asked, headers })).status).toBe(401)
      expect((await at.ask({ ...asked, headers, at: "/check" })).status).toBe(401)
    })
  })

  const refused = () => noted("")

  const hostProof = ({ privateKey, jwk }: ProofKey, token: string, changes: object = {}) =>
    new SignJWT({
      jti: crypto.randomUUID(),
      htm: "POST",
      htu: `https://${host}/api/pages`,
      iat: Math.floor(at.provider.clock.now() / 1000),
      ath: createHash("sha256").update(token).digest("base64url"),
      ...changes,
    })
      .setProtectedHeader({ typ: "dpop+jwt", alg: "ES256", jwk })
      .sign(privateKey)
})
