import { decodeJwt } from "jose"
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest"
import { shares } from "../../../src/domain/action/api.ts"
import { complementClaims } from "../../../src/domain/action/index.ts"
import { applyClaimEffect } from "../../../src/domain/action/run/token.ts"
import { addAuthorization } from "../../../src/domain/authorization/index.ts"
import { instance } from "../../../src/domain/instance/index.ts"
import { setSecurity } from "../../../src/domain/instance/setting-change.ts"
import { addMember } from "../../../src/domain/member/index.ts"
import { setMetadata as setOfOrg } from "../../../src/domain/org/metadata.ts"
import { addRoles } from "../../../src/domain/project/index.ts"
import { listMetadata, setMetadata } from "../../../src/domain/user/index.ts"
import { addServiceAccount, encodeBasic } from "../../oauth/clients.ts"
import { openExchange, typeOf, userIdType } from "../../oauth/exchange.ts"
import {
  authorizePath,
  browserOf,
  codeFields,
  type NewClient,
  openProvider,
  type Provider,
  responseOf,
  sendTokenRequest,
} from "../../oauth/provider.ts"
import { callOperation } from "../../support/call-operation.ts"
import { unreachableOutside } from "../../support/outside.ts"
import { bindScripts, testAllUsed } from "./bound.ts"

let provider: Provider
let jwt: NewClient
let pat: string
beforeAll(async () => {
  provider = await openProvider()
  const cx = provider.cx()
  jwt = await provider.addClient({ tokenType: "jwt" })
  pat = await provider.addPerson("pat")
  await addRoles(cx, provider.projectId, [{ key: "editor", displayName: "Editor" }])
  const held = { userId: pat, projectId: provider.projectId, roleKeys: ["editor"] }
  await provider.store.transact(cx, (tx) =>
    addAuthorization(tx, "a1", { ...held, orgId: provider.setup.orgId }),
  )
  await setMetadata(cx, pat, [{ key: "team", value: Buffer.from("red") }])
  await setOfOrg(cx, provider.setup.orgId, [{ key: "plan", value: Buffer.from('{"seats":3}') }])
})
afterAll(() => provider.close())

let unbind: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const each of unbind) await each()
  unbind = []
})
const bindScript = async (
  triggerType: 4 | 5,
  scripts: readonly string[],
  allowedToFail = false,
) => {
  unbind.push(await bindScripts(provider, { flowType: 2, triggerType, scripts, allowedToFail }))
}
const claims = (body: string) => `function f0({ v1 }, api) { ${body} }`
const setClaimScript = (key: string, value: string) =>
  claims(`api.v1.claims.setClaim(${JSON.stringify(key)}, ${value})`)

async function requestTokens(client: NewClient = jwt, scope?: string) {
  const path = authorizePath(client.id, scope === undefined ? {} : { scope })
  const visited = await browserOf(provider).signIn(path, "pat")
  const { code = "" } = responseOf(visited)
  return sendTokenRequest(provider, codeFields(code), `${client.id}:${client.secret}`)
}

/** The claims of each place, for one sign-in. */
async function claimsOf(client: NewClient = jwt, scope?: string) {
  const { answer } = await requestTokens(client, scope)
  const access = String(answer.access_token)
  const userinfo = await provider.send("/oidc/v1/userinfo", {
    headers: { authorization: `Bearer ${access}` },
  })
  const basic = Buffer.from(`${client.id}:${client.secret}`).toString("base64")
  const introspection = await provider.send("/oauth/v2/introspect", {
    method: "POST",
    body: new URLSearchParams({ token: access }),
    headers: { authorization: `Basic ${basic}` },
  })
  return {
    id_token: decodeJwt(String(answer.id_token)),
    userinfo: await userinfo.json(),
    introspection: await introspection.json(),
    access_token: decodeJwt(access),
  }
}

const logKey = "urn:core:iam:action:f0:log"

describe("a script at the userinfo trigger", () => {
  test("adds a claim to userinfo, introspection, and ID tokens, not to access tokens", async () => {
    await bindScript(4, [setClaimScript("colour", '"red"')])
    const { access_token, ...others } = await claimsOf()
    for (const each of Object.values(others)) expect(each.colour).toBe("red")
    expect(access_token.colour).toBeUndefined()
  })
})

describe.each([
  [4, "userinfo"],
  [5, "access_token"],
] as const)("a script at trigger %i, whose claims are in %s", (triggerType, location) => {
  test("receives the user, the client, and all known claims", async () => {
    await bindScript(triggerType, [
      setClaimScript(
        "seen",
        `{
          claims: v1.claims, user: v1.getUser(),
          isDate: v1.getUser().creationDate instanceof Date,
          metadata: v1.user.getMetadata(), org: v1.org.getMetadata(), grants: v1.user.grants,
          client: v1.application.getClientId(), actor: typeof v1.actor,
        }`,
      ),
    ])
    const { orgId } = provider.setup
    const date = expect.stringMatching(/^\d{4}-\d\d-\d\dT.+Z$/)
    const sequence = expect.any(Number)
    const stand = { creationDate: date, changeDate: date, sequence }
    const list = { count: 1, sequence, timestamp: date }
    const noted = { resourceOwner: orgId, ...stand }
    const { seen, ...tells } = (await claimsOf())[location]
    // Claims about the token itself are added later.
    expect(tells).toMatchObject(seen.claims)
    expect(seen).toEqual({
      claims: expect.anything(),
      isDate: true,
      client: jwt.id,
      actor: "undefined",
      user: {
        id: pat,
        resourceOwner: orgId,
        state: 1,
        ...stand,
        username: "pat",
        preferredLoginName: "pat",
        loginNames: ["pat"],
        human: {
          firstName: "Pat",
          lastName: "Person",
          nickName: "",
          displayName: "Pat Person",
          preferredLanguage: expect.any(String),
          gender: 0,
          email: "pat@example.org",
          isEmailVerified: true,
          phone: "",
          isPhoneVerified: false,
        },
      },
      metadata: { ...list, metadata: [{ key: "team", value: "red", ...noted }] },
      org: { ...list, metadata: [{ key: "plan", value: { seats: 3 }, ...noted }] },
      grants: {
        ...list,
        grants: [
          {
            id: "a1",
            userId: pat,
            roles: ["editor"],
            state: 1,
            ...stand,
            projectId: provider.projectId,
            projectName: "Applications",
            projectGrantId: "",
            userResourceOwner: orgId,
            userGrantResourceOwner: orgId,
            userGrantResourceOwnerName: "Example",
          },
        ],
      },
    })
  })

  test("logs to its own claim, and supports the older function names", async () => {
    await bindScript(triggerType, [
      claims(`
        api.v1.claims.appendLogIntoClaims("hello")
        api.v1.userinfo.appendLogIntoClaims("again")
        api.v1.userinfo.setClaim("old", 1)`),
    ])
    expect((await claimsOf())[location]).toMatchObject({ [logKey]: ["hello", "again"], old: 1 })
  })
})

test.each([4, 5] as const)("metadata set at trigger %i is JSON", async (triggerType) => {
  await bindScript(triggerType, [
    claims(`api.v1.user.setMetadata("visits", { n: ${triggerType} })`),
  ])
  await claimsOf()
  const value = listMetadata(provider.cx(), pat).get("visits")
  expect(JSON.parse(Buffer.from(value ?? "").toString())).toEqual({ n: triggerType })
})

test("a script at the access token trigger adds claims to JWTs only, by its older name, too", async () => {
  await bindScript(5, [claims('api.v1.userinfo.setClaim("colour", v1.getUser().human.lastName)')])
  const { access_token, ...others } = await claimsOf()
  expect(access_token.colour).toBe("Person")
  for (const each of Object.values(others)) expect(each.colour).toBeUndefined()
  const opaque = await provider.addClient()
  const { answer } = await requestTokens(opaque)
  expect(String(answer.access_token)).not.toContain("eyJ")
})

test("a script receives the actor at every trigger", async () => {
  const at = await openExchange()
  const { orgId } = at.provider.setup
  const cx = at.provider.cx()
  await setSecurity(cx, "i1", {
    enableIframeEmbedding: false,
    allowedOrigins: [],
    enableImpersonation: true,
  })
  const robot = await addServiceAccount(at.provider)
  const helper = { userId: robot.userId, roles: ["ORG_END_USER_IMPERSONATOR"] }
  const target = { level: "org", id: orgId } as const
  await at.provider.store.transact(cx, (tx) => addMember(tx, { ...helper, target }))
  for (const triggerType of [4, 5] as const) {
    const script = setClaimScript(`by${triggerType}`, "v1.actor ?? 'nobody'")
    const scripts = [script.replace("f0", `f${triggerType}`)]
    await bindScripts(at.provider, { flowType: 2, triggerType, scripts })
  }
  const scope = `openid urn:core:iam:org:project:id:${at.provider.projectId}:aud`
  const asked = { grant_type: "client_credentials", scope }
  const { answer } = await sendTokenRequest(at.provider, asked, encodeBasic(robot.id, robot.secret))
  const ann = await at.provider.addPerson("ann")
  const acting = {
    actor_token: String(answer.access_token),
    actor_token_type: typeOf("access_token"),
    subject_token_type: userIdType,
    requested_token_type: typeOf("jwt"),
  }
  const { access_token: token } = await at.exchanged(ann, acting)
  const act = { sub: robot.userId }
  expect(decodeJwt(String(token))).toMatchObject({ sub: ann, act, by5: act })
  expect(await at.introspect(token)).toMatchObject({ sub: ann, act, by4: act })
  const { id, access } = await at.signIn("ann")
  expect(decodeJwt(id).by4).toBe("nobody")
  expect(await at.introspect(access)).toMatchObject({ by4: "nobody" })
  await at.provider.close()
})

test("scripts can't overwrite existing or reserved claims", async () => {
  const keys = ["sub", "iss", "email", "urn:core:iam:org:project:roles", "URN:core:iam:x", "act"]
  await bindScript(4, [
    claims(`for (const key of ${JSON.stringify(keys)}) api.v1.claims.setClaim(key, "other")`),
  ])
  const { userinfo, introspection, id_token } = await claimsOf()
  for (const each of [userinfo, introspection, id_token]) expect(each.sub).toBe(pat)
  expect(userinfo.email).toBe("pat@example.org")
  expect(JSON.stringify(Object.keys(userinfo))).not.toMatch(/roles|URN|act"/)
  expect(userinfo[logKey]).toEqual([
    'key "sub" is reserved',
    'key "iss" is reserved',
    'key "email" already exists',
    'key "urn:core:iam:org:project:roles" is reserved',
    'key "URN:core:iam:x" is reserved',
    'key "act" is reserved',
  ])
})

test("scripts can't add email addresses or phone numbers, targets can", async () => {
  const keys = ["email", "Email", "email_verified", "phone_number", "phone_number_verified"]
  await bindScript(5, [
    claims(`for (const key of ${JSON.stringify(keys)}) api.v1.claims.setClaim(key, "other")`),
  ])
  const { access_token } = await claimsOf()
  for (const key of keys) expect(access_token).not.toHaveProperty(key)
  expect(access_token[logKey]).toEqual(keys.map((key) => `key "${key}" is reserved`))
  const added = {}
  const taking = { claims: added, script: { name: "target" }, noted: [], isOfOrg: false }
  applyClaimEffect(["claim", "email", "pat@example.com"], taking)
  expect(added).toEqual({ email: "pat@example.com" })
})

test("several scripts run in order, and receive the changes of earlier ones", async () => {
  const second = "const f1 = ({ v1 }, api) => api.v1.claims.setClaim('two', v1.claims.one + 1)"
  await bindScript(4, [setClaimScript("one", "1"), second])
  expect((await claimsOf()).userinfo).toMatchObject({ one: 1, two: 2 })
})

describe("a script that fails", () => {
  const refusing = claims('throw new Error("not on Sundays")')

  test("rejects the token with its own message", async () => {
    await bindScript(5, [refusing])
    expect(await requestTokens()).toMatchObject({
      status: 403,
      answer: { error: "access_denied", error_description: "not on Sundays" },
    })
  })

  test("rejects userinfo, and its earlier claims are not returned", async () => {
    const { answer } = await requestTokens()
    await bindScript(4, [refusing])
    const response = await provider.send("/oidc/v1/userinfo", {
      headers: { authorization: `Bearer ${answer.access_token}` },
    })
    expect([response.status, (await response.json()).error]).toEqual([403, "access_denied"])
  })

  test("is ignored if it is allowed to fail", async () => {
    await bindScript(
      4,
      [refusing, "function f1(ctx, api) { api.v1.claims.setClaim('b', 2) }"],
      true,
    )
    expect((await claimsOf()).userinfo.b).toBe(2)
  })

  test("does not block the console, where scripts are edited", async () => {
    const cx = provider.cx()
    const { consoleClientId: clientId } = provider.store.state(cx, instance, cx.instance)
    await bindScript(4, [refusing])
    const asked = { triggerType: 4, userId: pat, scopes: [], claims: { sub: pat } } as const
    expect(await complementClaims(cx, { ...asked, clientId })).toEqual({ sub: pat })
    await expect(complementClaims(cx, { ...asked, clientId: jwt.id })).rejects.toMatchObject({
      id: "action.refused",
    })
  })
})

test("logs and errors of scripts are available to users who can read them", async () => {
  await bindScript(
    4,
    [claims(`require("core/log").warn("seen", { a: 1 }); throw new Error("no")`)],
    true,
  )
  await claimsOf()
  const listed = async (orgs: readonly string[], actionId = "") => {
    const scope = { all: false, orgs, projects: [], grants: [] }
    const request = { actionId, pagination: { limit: 1 } }
    return callOperation(shares, "listScriptRuns", provider.cx({ scope }), request)
  }
  const { runs } = await listed([provider.setup.orgId])
  expect(runs).toMatchObject([
    {
      actionName: "f0",
      organizationId: provider.setup.orgId,
      error: "no",
      logs: [{ level: 2, text: 'seen {"a":1}' }],
    },
  ])
  expect((await listed([provider.setup.orgId], runs[0].actionId)).runs).toHaveLength(1)
  expect((await listed([provider.setup.orgId], "404")).runs).toEqual([])
  expect((await listed(["elsewhere"])).runs).toEqual([])
})

test("the reason of a failure is stored shortened", async () => {
  await bindScript(4, [claims(`JSON.stringify = () => '[["' + "x".repeat(5e5) + '"]]'`)], true)
  await claimsOf()
  const scope = { all: true, orgs: [], projects: [], grants: [] }
  const { runs } = await callOperation(shares, "listScriptRuns", provider.cx({ scope }), {
    actionId: "",
    pagination: { limit: 1 },
  })
  expect(runs[0].error).toHaveLength(1000)
})

test("fetch is synchronous and sends the given request", async () => {
  const sent: unknown[] = []
  const outside = {
    ...unreachableOutside,
    send: async (request: unknown) => {
      sent.push(request)
      return { status: 201, body: '{"level":7}' }
    },
  }
  const { answer } = await requestTokens()
  await bindScript(4, [
    claims(`
      const { fetch } = require("core/http")
      const made = fetch("https://api.example.com/x", {
        method: "PUT", headers: { "X-Key": ["a", "b"], Host: "evil" }, body: { id: v1.claims.sub },
      })
      api.v1.claims.setClaim("level", [made.status, made.json().level, made.text().length])`),
  ])
  const init = { headers: { authorization: `Bearer ${answer.access_token}` } }
  const response = await provider.send("/oidc/v1/userinfo", init, { outside })
  expect((await response.json()).level).toEqual([201, 7, 11])
  expect(sent).toMatchObject([
    {
      url: "https://api.example.com/x",
      method: "PUT",
      headers: { "x-key": "a, b", "content-type": "application/json" },
      body: JSON.stringify({ id: pat }),
    },
  ])
  expect(JSON.stringify(sent)).not.toContain("evil")
})

test("generated UUIDs conform to RFC 9562", async () => {
  await bindScript(4, [
    setClaimScript(
      "ids",
      `(({ v1: one, v3, v4, v5, v7, namespaceDNS: dns }) =>
        [one(), v3(dns, "www.example.com"), v4(), v5(dns, "www.example.com"), v7()]
      )(require("core/uuid"))`,
    ),
  ])
  const { ids } = (await claimsOf()).userinfo
  expect(ids.map((id: string) => id[14])).toEqual(["1", "3", "4", "5", "7"])
  expect([ids[1], ids[3]]).toEqual([
    "5df41881-3aed-3515-88a7-2f4a814cf09e",
    "2ed6657d-e927-568b-95e1-2665a8aea6a2",
  ])
})

testAllUsed(2)
