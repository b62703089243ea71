import { createHash } from "node:crypto"
import { SignJWT } from "jose"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { findClient, type RemoteUser, updateApplication } from "../../src/domain/app/index.ts"
import { updateAuthorization } from "../../src/domain/authorization/index.ts"
import { setSecurity } from "../../src/domain/instance/setting-change.ts"
import { addMember } from "../../src/domain/member/index.ts"
import { createOrganization } from "../../src/domain/org/commands.ts"
import { createProject, updateProject } from "../../src/domain/project/index.ts"
import { searchRefusals } from "../../src/domain/refusal/refusal.ts"
import { removePersonalToken } from "../../src/domain/service-account/personal-token.ts"
import { user } from "../../src/domain/user-model/model.ts"
import { encodeBasic } from "./clients.ts"
import { exchangeGrant, typeOf, userIdType } from "./exchange.ts"
import { createProof, newProofKey, type ProofKey } from "./proof.ts"
import {
  accessRules,
  callback,
  host,
  openProtectedHost,
  type ProtectedHost,
  resource,
} from "./protected-host.ts"
import { authorizePath, browserOf, codeFields, responseOf, sendTokenRequest } from "./provider.ts"
import { enableRegistration, sendMetadata } from "./registration.ts"
import { personalTokenOf } from "./service-account.ts"

let protectedHost: ProtectedHost
beforeAll(async () => {
  protectedHost = await openProtectedHost()
})
afterAll(() => protectedHost.provider.close())

const rejectionFor = (reason: string) => ({
  status: 401,
  user: null,
  challenge: `Bearer realm="${host}", error="invalid_token", error_description="${reason}"`,
  text: `${reason}.\n`,
})

describe("an access token at a protected host", () => {
  test.each(["bearer", "jwt"] as const)(
    "of a user is accepted with their name: %s",
    async (tokenType) => {
      const as = await protectedHost.provider.addClient({ tokenType })
      const { access } = await protectedHost.tokensOf("pat", { as })
      const answer = await protectedHost.ask({ authorization: `Bearer ${access}` })
      expect(answer.status).toBe(200)
      expect(Object.fromEntries(answer.headers)).toMatchObject({
        "remote-user": "pat",
        "remote-user-id": protectedHost.pat,
        "remote-email": "pat@example.org",
        "remote-groups": "editor",
        "cache-control": "no-store",
      })
      // RFC 9110 §11.1: the scheme is case-insensitive.
      expect(await protectedHost.answers({ authorization: `bearer ${access}` })).toMatchObject({
        status: 200,
      })
    },
  )

  test("of a service account is accepted for the resource and not for the project", async () => {
    const answer = await protectedHost.ask({
      authorization: `Bearer ${await protectedHost.robotToken()}`,
    })
    expect([answer.status, answer.headers.get("remote-user-id")]).toEqual([
      200,
      protectedHost.robot.userId,
    ])
    const scope = "urn:core:iam:org:project:id:wiki:aud"
    const authorization = `Bearer ${await protectedHost.robotToken({ scope })}`
    expect(await protectedHost.answers({ authorization })).toEqual(
      rejectionFor("the access token is not for this application"),
    )
  })

  test("of a service account has no name if programs identify users by address", async () => {
    const authorization = `Bearer ${await protectedHost.robotToken()}`
    const set = (remoteUser: RemoteUser) =>
      updateApplication(protectedHost.provider.cx(), protectedHost.client.appId, {
        oidc: { remoteUser },
      })
    await set("email")
    try {
      expect(await protectedHost.answers({ authorization })).toMatchObject({
        status: 403,
        user: null,
      })
    } finally {
      await set("login_name")
    }
  })

  test("is accepted beside unreadable cookies", async () => {
    const headers = { cookie: `__Host-latchkey-at-${protectedHost.client.id}=x; analytics=1` }
    const authorization = `Bearer ${(await protectedHost.tokensOf("pat")).access}`
    expect(await protectedHost.answers({ authorization, headers })).toMatchObject({
      status: 200,
      user: "pat",
    })
  })

  test("of the application itself has its client ID as audience", async () => {
    const own = "https://wiki.example.com/cli"
    await updateApplication(protectedHost.provider.cx(), protectedHost.client.appId, {
      oidc: { redirectUris: [callback, own] },
    })
    const browser = browserOf(protectedHost.provider)
    const path = authorizePath(protectedHost.client.id, { redirect_uri: own })
    const { code = "" } = responseOf(await browser.signIn(path, "pat"))
    const fields = codeFields(code, { redirect_uri: own })
    const { answer } = await sendTokenRequest(
      protectedHost.provider,
      fields,
      `${protectedHost.client.id}:${protectedHost.client.secret}`,
    )
    const authorization = `Bearer ${answer.access_token}`
    expect(await protectedHost.answers({ authorization })).toMatchObject({
      status: 200,
      user: "pat",
    })
  })

  test("is accepted only if every rule for the path allows it", async () => {
    const authorization = `Bearer ${(await protectedHost.tokensOf("pat")).access}`
    const status = async (target: string) =>
      (await protectedHost.ask({ target, authorization, at: "/check" })).status
    expect(await status("/api")).toBe(200)
    expect(await status("/api/status")).toBe(200)
    expect(await status("/")).toBe(401)
    expect(await status("/apis")).toBe(401)
    expect(await status("/API/pages")).toBe(401)
    expect(await status("/api/../api/pages")).toBe(401)
    expect(await status("/api%2fpages")).toBe(401)
    const open = await protectedHost.ask({ target: "/public", authorization })
    expect([open.status, open.headers.get("remote-user")]).toEqual([200, ""])
    expect(open.headers.get("authorization")).toBe(authorization)
  })

  test("covers paths at or below its resource, at its host only", async () => {
    const authorization = `Bearer ${(await protectedHost.tokensOf("pat")).access}`
    await updateApplication(protectedHost.provider.cx(), protectedHost.client.appId, {
      oidc: {
        redirectUris: [callback, "https://other.example.com/.latchkey/callback"],
        accessRules: [{ prefix: "/", everybody: false, roles: [], accessTokens: true }],
      },
    })
    try {
      const other = { "x-forwarded-host": "other.example.com" }
      const reason = "the access token is not for this application"
      expect(await protectedHost.answers({ target: "/api/x", authorization })).toMatchObject({
        status: 200,
      })
      expect(await protectedHost.answers({ target: "/", authorization })).toEqual(
        rejectionFor(reason),
      )
      expect(await protectedHost.answers({ target: "/apis", authorization })).toEqual(
        rejectionFor(reason),
      )
      const elsewhere = await protectedHost.ask({ authorization, headers: other })
      expect(elsewhere.headers.get("www-authenticate")).toContain(reason)
    } finally {
      await updateApplication(protectedHost.provider.cx(), protectedHost.client.appId, {
        oidc: { accessRules: accessRules },
      })
    }
  })

  test("reflects the user's roles and the project's access immediately", async () => {
    const authorization = `Bearer ${(await protectedHost.tokensOf("pat")).access}`
    const cx = protectedHost.provider.cx()
    const set = (roleKeys: readonly string[]) =>
      updateAuthorization(cx, `a-${protectedHost.pat}`, roleKeys)
    await set([])
    expect(await protectedHost.answers({ authorization })).toMatchObject({
      status: 403,
      user: null,
    })
    await set(["editor"])
    expect(await protectedHost.answers({ authorization })).toMatchObject({
      status: 200,
      user: "pat",
    })
    await protectedHost.provider.addPerson("sam")
    const other = `Bearer ${(await protectedHost.tokensOf("sam")).access}`
    const target = "/api/status"
    expect(await protectedHost.answers({ target, authorization: other })).toMatchObject({
      status: 200,
    })
    await updateProject(cx, "wiki", { projectRoleCheck: true })
    try {
      expect(await protectedHost.answers({ target, authorization })).toMatchObject({ status: 200 })
      expect((await protectedHost.ask({ target, authorization: other })).status).not.toBe(200)
    } finally {
      await updateProject(cx, "wiki", { projectRoleCheck: false })
    }
  })
})

describe("an invalid token", () => {
  test("of another application, of either organization, is rejected", async () => {
    const reason = "the access token is not for this application"
    const boss = { kind: "user", userId: "boss", orgId: "other", clientId: "console" } as const
    const cx = protectedHost.provider.cx({ caller: boss })
    await createOrganization(cx, "other", { name: "Other" })
    await createProject(cx, "theirs", { orgId: "other", name: "Theirs" })
    const theirs = await protectedHost.provider.addClient({}, "theirs")
    const neighbor = await protectedHost.provider.addClient({}, "wiki")
    for (const as of [theirs, neighbor]) {
      const { access } = await protectedHost.tokensOf("pat", { as, resource: "" })
      expect(await protectedHost.answers({ authorization: `Bearer ${access}` })).toEqual(
        rejectionFor(reason),
      )
    }
  })

  test("for the management API only is rejected", async () => {
    const authorization = `Bearer ${await protectedHost.robotToken({})}`
    const reason = "the access token is not for this application"
    expect(await protectedHost.answers({ authorization })).toEqual(rejectionFor(reason))
  })

  test("is recorded once, for the client that it was issued to", async () => {
    const { access } = await protectedHost.tokensOf("pat", { resource: "" })
    const before = noted().length
    await protectedHost.answers({ authorization: `Bearer ${access}` })
    const [refusal, ...others] = noted().slice(0, noted().length - before)
    expect(others).toEqual([])
    expect(refusal).toMatchObject({
      error: "invalid_token",
      clientId: protectedHost.tool.id,
      description: "the access token is not for this application",
    })
  })

  test("that is an ID token is rejected", async () => {
    const { id } = await protectedHost.tokensOf("pat")
    const reason = "the access token is invalid or has expired"
    expect(await protectedHost.answers({ authorization: `Bearer ${id}` })).toEqual(
      rejectionFor(reason),
    )
  })

  test("of a dynamically registered client is rejected", async () => {
    await enableRegistration(protectedHost.provider)
    const { answer } = await sendMetadata(protectedHost.provider, {
      client_name: "Tool",
      redirect_uris: ["https://app.example.com/callback"],
    })
    const id = String(answer.client_id)
    const appId = findClient(protectedHost.provider.cx(), id)?.appId ?? ""
    const as = { appId, id, secret: String(answer.client_secret) }
    const { access } = await protectedHost.tokensOf("pat", { as })
    const reason = "the access token was issued to a client that registered itself"
    expect(await protectedHost.answers({ authorization: `Bearer ${access}` })).toEqual(
      rejectionFor(reason),
    )
  })

  test("of an actor for its user is rejected, because the program can't tell", async () => {
    const cx = protectedHost.provider.cx()
    const security = { enableIframeEmbedding: false, allowedOrigins: [] }
    await setSecurity(cx, "i1", { ...security, enableImpersonation: true })
    const roles = ["IAM_END_USER_IMPERSONATOR"]
    await protectedHost.provider.store.transact(cx, (tx) =>
      addMember(tx, { target: { level: "instance" }, userId: protectedHost.robot.userId, roles }),
    )
    const gateway = await protectedHost.provider.addClient({ grantTypes: ["token_exchange"] })
    const own = `urn:core:iam:org:project:id:${protectedHost.provider.projectId}:aud`
    const actor = await protectedHost.robotToken({ resource: `${resource} ${own}` })
    const fields = {
      grant_type: exchangeGrant,
      subject_token: protectedHost.pat,
      subject_token_type: userIdType,
      actor_token: actor,
      actor_token_type: typeOf("access_token"),
      resource,
    }
    const { answer } = await sendTokenRequest(
      protectedHost.provider,
      fields,
      `${gateway.id}:${gateway.secret}`,
    )
    expect(answer.error_description).toBeUndefined()
    const reason = "the access token is for an impersonated user"
    const authorization = `Bearer ${answer.access_token}`
    expect(await protectedHost.answers({ authorization })).toEqual(rejectionFor(reason))
  })

  test("that was revoked or has expired is rejected, opaque or JWT", async () => {
    const reason = "the access token is invalid or has expired"
    const jwtClient = await protectedHost.provider.addClient({ tokenType: "jwt" })
    for (const as of [protectedHost.tool, jwtClient]) {
      const [revoked, expired] = [
        await protectedHost.tokensOf("pat", { as }),
        await protectedHost.tokensOf("pat", { as }),
      ]
      await protectedHost.provider.send("/oauth/v2/revoke", {
        method: "POST",
        headers: { authorization: `Basic ${btoa(`${as.id}:${as.secret}`)}` },
        body: new URLSearchParams({ token: revoked.access }),
      })
      const gone = await protectedHost.answers({ authorization: `Bearer ${revoked.access}` })
      expect(gone).toEqual(rejectionFor(reason))
      protectedHost.provider.clock.advance(13 * 3_600_000)
      for (const target of ["/api", "/api/status"]) {
        const late = await protectedHost.answers({
          target,
          authorization: `Bearer ${expired.access}`,
        })
        expect(late).toEqual(rejectionFor(reason))
      }
    }
  })

  test("that is a personal access token is rejected, because it is not for one host", async () => {
    const token = await personalTokenOf(protectedHost.provider, protectedHost.robot.userId)
    const authorization = `Bearer ${token}`
    const reason = "the access token is not for this application"
    expect(await protectedHost.answers({ authorization })).toEqual(rejectionFor(reason))
    const [tokenId = ""] = tokenIds()
    await removePersonalToken(protectedHost.provider.cx(), protectedHost.robot.userId, tokenId)
    expect(await protectedHost.answers({ target: "/api/status", authorization })).toEqual(
      rejectionFor("the access token is invalid or has expired"),
    )
  })

  const noted = (appId = protectedHost.tool.appId) => {
    const page = { offset: 0, limit: 100, asc: false }
    const scope = { all: true, orgs: [], projects: [], grants: [] }
    return searchRefusals({ ...protectedHost.provider.cx(), scope }, { requestId: "", appId, page })
      .rows
  }

  const tokenIds = () => {
    const state = protectedHost.provider.store.state(
      protectedHost.provider.cx(),
      user,
      protectedHost.robot.userId,
    )
    return "personalTokens" in state ? Object.keys(state.personalTokens) : []
  }

  /** A token of the service account that is bound to a key. */
  async function boundToken(key: ProofKey, fields: Readonly<Record<string, string>> = {}) {
    const body = new URLSearchParams({ grant_type: "client_credentials", resource, ...fields })
    const dpop = await createProof(protectedHost.provider, key)
    const basic = `Basic ${btoa(encodeBasic(protectedHost.robot.id, protectedHost.robot.secret))}`
    const init = { method: "POST", body, headers: { authorization: basic, dpop } }
    const answer = await (await protectedHost.provider.send("/oauth/v2/token", init)).json()
    return String(answer.access_token)
  }

  test("that is bound to a key requires its proof, for this request", async () => {
    const key = await newProofKey()
    const token = await boundToken(key)
    const use = (headers: Readonly<Record<string, string>>, scheme = "DPoP") =>
      protectedHost.ask({ authorization: `${scheme} ${token}`, headers })
    expect((await use({}, "Bearer")).status).toBe(401)
    const unproven = await use({})
    expect(unproven.status).toBe(401)
    expect(unproven.headers.get("www-authenticate")).toMatch(
      /^DPoP realm="wiki\.example\.com", algs="[^"]+", error="invalid_dpop_proof"/,
    )
    const good = await hostProof(key, token)
    expect((await use({ dpop: good })).headers.get("remote-user-id")).toBe(
      protectedHost.robot.userId,
    )
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

  describe("is rejected by both of nginx's requests, which share a proof, if", () => {
    const twice = async (authorization: string, dpop: string) => {
      const asked = { authorization, headers: { dpop } }
      const check = await protectedHost.ask({ ...asked, at: "/check" })
      const second = await protectedHost.ask({ ...asked, at: "/ask" })
      return [check.status, second.status, await second.text()]
    }
    const replayed = [
      401,
      401,
      expect.stringContaining("the DPoP proof is invalid for this request"),
    ]

    test("the user has no role, which is not recorded as a replay", async () => {
      const key = await newProofKey()
      const token = await boundToken(key)
      const dpop = await hostProof(key, token)
      const set = (roleKeys: readonly string[]) =>
        updateAuthorization(
          protectedHost.provider.cx(),
          `a-${protectedHost.robot.userId}`,
          roleKeys,
        )
      const [before] = refused()
      await set([])
      try {
        const answers = await twice(`DPoP ${token}`, dpop)
        expect(answers).toEqual([
          403,
          403,
          "You don't have any of the roles that this page requires.\n",
        ])
      } finally {
        await set(["editor"])
      }
      expect(refused()[0]).toEqual(before)
      // RFC 9449 §11.1: the first request has consumed it nevertheless.
      expect(await twice(`DPoP ${token}`, dpop)).toEqual(replayed)
    })

    test("the audience differs", async () => {
      const key = await newProofKey()
      const scope = "urn:core:iam:org:project:id:wiki:aud"
      const token = await boundToken(key, { resource: "", scope })
      const text = "the access token is not for this application"
      const answers = await twice(`DPoP ${token}`, await hostProof(key, token))
      expect(answers).toEqual([401, 401, `${text}.\n`])
      expect(refused()[0]).toMatchObject({ error: "invalid_token", description: text })
    })

    test("the proof has another key", async () => {
      const token = await boundToken(await newProofKey())
      const dpop = await hostProof(await newProofKey(), token)
      const text = "the access token is invalid or has expired"
      expect(await twice(`DPoP ${token}`, dpop)).toEqual([401, 401, `${text}.\n`])
      expect(refused()[0]).toMatchObject({ error: "invalid_token", description: text })
    })

    test("and neither accepts a proof that another request has used", async () => {
      const key = await newProofKey()
      const token = await boundToken(key)
      const dpop = await hostProof(key, token)
      expect(
        (await protectedHost.ask({ authorization: `DPoP ${token}`, headers: { dpop } })).status,
      ).toBe(200)
      expect(await twice(`DPoP ${token}`, dpop)).toEqual(replayed)
      expect(refused()[0]).toMatchObject({ error: "invalid_dpop_proof" })
    })

    test("nor does the second accept a proof twice when sent alone", async () => {
      const key = await newProofKey()
      const token = await boundToken(key)
      const asked = { authorization: `DPoP ${token}`, at: "/ask" }
      const headers = { dpop: await hostProof(key, token) }
      expect((await protectedHost.ask({ ...asked, headers })).status).toBe(200)
      expect((await protectedHost.ask({ ...asked, headers })).status).toBe(401)
      expect((await protectedHost.ask({ ...asked, headers, at: "/check" })).status).toBe(401)
    })
  })

  const refused = () => noted("")

  const hostProof = ({ privateKey, jwk }: ProofKey, token: string, changes: object = {}) =>
    new SignJWT({
      jti: crypto.randomUUID(),
      htm: "POST",
      htu: `https://${host}/api/pages`,
      iat: Math.floor(protectedHost.provider.clock.now() / 1000),
      ath: createHash("sha256").update(token).digest("base64url"),
      ...changes,
    })
      .setProtectedHeader({ typ: "dpop+jwt", alg: "ES256", jwk })
      .sign(privateKey)
})
