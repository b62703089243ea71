import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { createApplication } from "../../src/domain/app/commands.ts"
import * as authorization from "../../src/domain/authorization/index.ts"
import { setSecurity } from "../../src/domain/instance/setting-change.ts"
import * as member from "../../src/domain/member/index.ts"
import { createOrganization } from "../../src/domain/org/commands.ts"
import * as project from "../../src/domain/project/index.ts"
import * as projectGrant from "../../src/domain/project-grant/index.ts"
import { addServiceAccount, encodeBasic } from "./clients.ts"
import { credentialsOf, exchangeGrant, typeOf, userIdType } from "./exchange.ts"
import {
  authorizePath,
  browserOf,
  codeFields,
  type NewClient,
  openProvider,
  type Provider,
  responseOf,
  sendTokenRequest,
  type VisitedPage,
} from "./provider.ts"
import { addMachine } from "./service-account.ts"

/** A project that an application of another project requests tokens for, with an API in it. */
type Target = { readonly id: string; readonly name: string; readonly api: NewClient }
type Fields = Readonly<Record<string, string>>

let provider: Provider
let web: NewClient
let gateway: NewClient
let front: NewClient
let device: NewClient
let serviceAccount: Awaited<ReturnType<typeof addServiceAccount>>
const targets: Record<string, Target> = {}

const ownRole = "own"
const urn = (id: string) => `urn:core:iam:org:project:id:${id}:aud`
const editor = { key: "editor", displayName: "Editor" }

async function addTarget(
  name: string,
  input: Omit<Parameters<typeof project.createProject>[2], "name">,
) {
  const cx = provider.cx()
  const id = cx.ids.next()
  await project.createProject(cx, id, { ...input, name })
  await project.addRoles(cx, id, [editor])
  const appId = cx.ids.next()
  const config = { kind: "api", api: { authMethod: "basic" } } as const
  const made = await createApplication(cx, appId, { projectId: id, name, config })
  targets[name] = { id, name, api: { appId, id: made.clientId, secret: made.secret ?? "" } }
  return id
}

const target = (name: string): Target => {
  const known = targets[name]
  if (!known) throw new Error(`no project ${name}`)
  return known
}

beforeAll(async () => {
  provider = await openProvider()
  const cx = provider.cx()
  const { orgId } = provider.setup
  await createOrganization(cx, "globex", { name: "Globex" })
  await project.createProject(cx, ownRole, { orgId, name: "Own" })
  await addTarget("Sibling", { orgId })
  await addTarget("Closed", { orgId, projectRoleCheck: true })
  const granted = await addTarget("Granted", { orgId: "globex" })
  await addTarget("Foreign", { orgId: "globex" })
  await addTarget("Shut", { orgId: "globex", hasProjectCheck: true })
  const guarded = await addTarget("Guarded", { orgId: "globex", projectRoleCheck: true })
  for (const projectId of [granted, guarded]) {
    const given = { projectId, grantedOrgId: orgId, roleKeys: ["editor"] }
    await projectGrant.createGrant(cx, `grant of ${projectId}`, given)
  }
  web = await provider.addClient({ grantTypes: ["authorization_code", "refresh_token"] }, ownRole)
  gateway = await provider.addClient({ grantTypes: ["token_exchange"] }, ownRole)
  const responseTypes = ["id_token_token"] as const
  front = await provider.addClient({ grantTypes: ["implicit"], responseTypes }, ownRole)
  device = await provider.addClient({ grantTypes: ["device_code", "refresh_token"] }, ownRole)
  serviceAccount = await addServiceAccount(provider)
})
afterAll(() => provider.close())

/** Signs in and consents; also returns the consent page. */
async function signInAndAllow(path: string) {
  const browser = browserOf(provider)
  const asked = await browser.signIn(path)
  if (!asked.page.includes("Allow")) return { end: asked, page: "", browser }
  return { end: await browser.post(asked, { answer: "allow" }), page: asked.page, browser }
}

type TokenResult = { readonly answer: Readonly<Record<string, unknown>>; readonly page: string }

async function byCode(fields: Fields): Promise<TokenResult> {
  const scope = "openid offline_access"
  const { end, page } = await signInAndAllow(authorizePath(web.id, { scope, ...fields }))
  const { answer } = await sendTokenRequest(
    provider,
    codeFields(responseOf(end).code ?? ""),
    credentialsOf(web),
  )
  return { answer, page }
}

async function byDevice(scope: string): Promise<TokenResult> {
  const body = new URLSearchParams({ client_id: device.id, client_secret: device.secret, scope })
  const response = await provider.send("/oauth/v2/device_authorization", { method: "POST", body })
  const begun: Record<string, string> = await response.json()
  const browser = browserOf(provider)
  const page = await browser.signIn(authorizePath(web.id))
  expect(responseOf(page)).toHaveProperty("code")
  const asked = await browser.post(await browser.go("/device"), { userCode: begun.user_code ?? "" })
  await browser.post(asked, { answer: "allow" })
  const grant_type = "urn:ietf:params:oauth:grant-type:device_code"
  const fields = { grant_type, device_code: begun.device_code ?? "" }
  const { answer } = await sendTokenRequest(provider, fields, credentialsOf(device))
  return { answer, page: asked.page }
}

const refreshTokens = async (
  { answer, page }: TokenResult,
  client = web,
  more: Fields = {},
): Promise<TokenResult> => {
  const fields = { grant_type: "refresh_token", refresh_token: String(answer.refresh_token) }
  return {
    answer: (await sendTokenRequest(provider, { ...fields, ...more }, credentialsOf(client)))
      .answer,
    page,
  }
}

const exchangeToken = async (
  { answer, page }: TokenResult,
  more: Fields = {},
): Promise<TokenResult> => {
  const subject = { subject_token: String(answer.access_token) }
  const type = { subject_token_type: typeOf("access_token") }
  const fields = { grant_type: exchangeGrant, ...subject, ...type, ...more }
  return { answer: (await sendTokenRequest(provider, fields, credentialsOf(gateway))).answer, page }
}

/** Every way to get a user's tokens for a given project. */
const userFlows: Readonly<Record<string, (id: string) => Promise<TokenResult>>> = {
  "a code, by scope": (id) => byCode({ scope: `openid offline_access ${urn(id)}` }),
  "a code, by resource": (id) => byCode({ resource: urn(id) }),
  "the front channel": async (id) => {
    const changes = { response_type: "id_token token", scope: `openid ${urn(id)}` }
    const noPkce = { code_challenge: undefined, code_challenge_method: undefined }
    const { end, page } = await signInAndAllow(authorizePath(front.id, { ...changes, ...noPkce }))
    const answer = Object.fromEntries(new URLSearchParams(new URL(end.path).hash.slice(1)))
    return { answer, page }
  },
  "a device": (id) => byDevice(`openid ${urn(id)}`),
  "a refresh": async (id) =>
    refreshTokens(await byCode({ scope: `openid offline_access ${urn(id)}` })),
  "a device's refresh": async (id) =>
    refreshTokens(await byDevice(`openid offline_access ${urn(id)}`), device),
  "an exchange": async (id) => exchangeToken(await byCode({ scope: `openid ${urn(id)}` })),
}

const requestBySecret = (fields: Fields) =>
  sendTokenRequest(
    provider,
    { grant_type: "client_credentials", ...fields },
    encodeBasic(serviceAccount.id, serviceAccount.secret),
  )

/** Every way for a service account to get tokens for itself. */
const serviceFlows: Readonly<Record<string, (id: string) => Promise<TokenResult>>> = {
  "a secret": async (id) => ({
    ...(await requestBySecret({ scope: `openid ${urn(id)}` })),
    page: "",
  }),
  "a signed assertion": async (id) => {
    const { fields } = await addMachine(provider)
    return {
      ...(await sendTokenRequest(provider, await fields({}, `openid ${urn(id)}`))),
      page: "",
    }
  },
  "an exchange": async (id) => {
    const scope = `openid ${urn(id)} ${urn(ownRole)}`
    return exchangeToken({ ...(await requestBySecret({ scope })), page: "" })
  },
}

async function introspect(token: unknown, { api }: Target) {
  const headers = { authorization: `Basic ${Buffer.from(credentialsOf(api)).toString("base64")}` }
  const body = new URLSearchParams({ token: String(token) })
  const response = await provider.send("/oauth/v2/introspect", { method: "POST", body, headers })
  return response.json()
}

/**
 * The result: whether the consent page named the project, the scope contains it, and the API
 * accepts the token.
 */
async function checkOutcome({ answer, page }: TokenResult, of: Target) {
  expect(answer.access_token).toEqual(expect.any(String))
  const { active } = await introspect(answer.access_token, of)
  return {
    isNamed: page.includes(of.name) && page.includes("Globex"),
    isInScope: String(answer.scope).includes(of.id),
    isActive: active,
  }
}

const expectedGranted = { isInScope: true, isActive: true }
const expectedRemoved = { isInScope: false, isActive: false }
const notNamed = { isNamed: false }

describe("a token that an application gets for a user by", () => {
  const rows: Readonly<Record<string, Readonly<Record<string, boolean>>>> = {
    Sibling: { ...notNamed, ...expectedGranted },
    Granted: { ...notNamed, ...expectedGranted },
    Foreign: { isNamed: true, ...expectedGranted },
    Closed: { ...notNamed, ...expectedRemoved },
    Guarded: { ...notNamed, ...expectedRemoved },
    Shut: { ...notNamed, ...expectedRemoved },
  }
  const cases = Object.keys(userFlows).flatMap((method) =>
    Object.keys(rows).map((name) => ({ way: method, name })),
  )
  test.each(cases)("$way has the project $name only if permitted", async ({ way, name }) => {
    const of = target(name)
    const got = await userFlows[way]?.(of.id)
    if (!got) throw new Error(`no way ${way}`)
    // The scope does not list audiences added by a resource.
    const { isInScope, ...rest } = await checkOutcome(got, of)
    const { isInScope: expected, ...others } = rows[name] ?? {}
    expect(rest).toEqual(others)
    expect(isInScope).toBe(way === "a code, by resource" ? false : expected)
  })
})

describe("a token that a service account gets by", () => {
  const rows: Readonly<Record<string, Readonly<Record<string, boolean>>>> = {
    Sibling: expectedGranted,
    Granted: expectedGranted,
    Foreign: expectedRemoved,
    Closed: expectedRemoved,
    Guarded: expectedRemoved,
    Shut: expectedRemoved,
  }
  const cases = Object.keys(serviceFlows).flatMap((method) =>
    Object.keys(rows).map((name) => ({ way: method, name })),
  )
  test.each(cases)("$way is for the project $name only as it may be", async ({ way, name }) => {
    const got = await serviceFlows[way]?.(target(name).id)
    if (!got) throw new Error(`no way ${way}`)
    expect(await checkOutcome(got, target(name))).toEqual({ ...notNamed, ...rows[name] })
  })

  test.each(["Foreign", "Closed", "Guarded", "Shut"])(
    "with %s as its resource is rejected",
    async (name) => {
      const resource = urn(target(name).id)
      const { answer } = await requestBySecret({ scope: "openid", resource })
      expect(answer).toMatchObject({ error: "invalid_target" })
    },
  )

  test("its roles has the project that grants them", async () => {
    const cx = provider.cx()
    const { orgId } = provider.setup
    const { id: projectId } = target("Guarded")
    const allowing = { userId: serviceAccount.userId, projectId, orgId, roleKeys: ["editor"] }
    await authorization.createAuthorization(cx, "of the robot", allowing)
    const scope = `openid urn:core:iam:org:projects:roles ${urn(projectId)}`
    const { answer } = await requestBySecret({ scope })
    const roles = `urn:core:iam:org:project:${projectId}:roles`
    expect(await introspect(answer.access_token, target("Guarded"))).toMatchObject({
      active: true,
      [roles]: { editor: expect.anything() },
    })
    await authorization.removeAuthorization(cx, "of the robot")
    expect(await introspect(answer.access_token, target("Guarded"))).toEqual({ active: false })
  })
})

describe("another organization's project", () => {
  const asking = (fields: Fields = {}) =>
    authorizePath(web.id, {
      scope: `openid offline_access ${urn(target("Foreign").id)}`,
      ...fields,
    })

  test("is shown with its organization before an application gets it, each time", async () => {
    const browser = browserOf(provider)
    const asked = await browser.signIn(asking())
    expect(asked.path).toContain("/ui/login/consent")
    expect(asked.page).toContain("It can access “Foreign” of Globex on your behalf.")
    expect(responseOf(await browser.post(asked, { answer: "allow" }))).toHaveProperty("code")
    expect((await browser.go(asking())).path).toContain("/ui/login/consent")
    expect(responseOf(await browser.go(asking({ prompt: "none" }))).error).toBe("consent_required")
  })

  test("is not granted if the user denies it", async () => {
    const browser = browserOf(provider)
    const asked = await browser.signIn(asking())
    const refused = await browser.post(asked, { answer: "cancel" })
    expect(responseOf(refused)).toMatchObject({ error: "access_denied" })
  })

  test("is not shown to users whom it excludes", async () => {
    const scope = `openid ${urn(target("Shut").id)}`
    const asked = await browserOf(provider).signIn(authorizePath(web.id, { scope }))
    expect(asked.path).toContain("/ui/login/consent")
    expect(asked.page).not.toContain("Globex")
  })

  test("that was not shown stays excluded, even if it admits the user later", async () => {
    const { id } = target("Shut")
    const scope = `openid offline_access ${urn(id)}`
    const got = [await byCode({ scope }), await byDevice(scope)] as const
    await project.updateProject(provider.cx(), id, { hasProjectCheck: false })
    const later = [await refreshTokens(got[0]), await refreshTokens(got[1], device)]
    const outcomes = await Promise.all(later.map((each) => checkOutcome(each, target("Shut"))))
    await project.updateProject(provider.cx(), id, { hasProjectCheck: true })
    expect(outcomes).toEqual([
      { ...notNamed, ...expectedRemoved },
      { ...notNamed, ...expectedRemoved },
    ])
  })

  test("is requested again if a form was posted twice", async () => {
    const browser = browserOf(provider)
    const asked = await browser.signIn(asking())
    const before = browser.cookie()
    await browser.post(asked, { answer: "allow" })
    browser.setCookie(before)
    const again: VisitedPage = await browser.post(asked, { answer: "allow" })
    const code = responseOf(again).code ?? ""
    const { answer } = await sendTokenRequest(provider, codeFields(code), credentialsOf(web))
    expect(await checkOutcome({ answer, page: asked.page }, target("Foreign"))).toEqual({
      isNamed: true,
      ...expectedGranted,
    })
  })

  test("gains nothing by an exchange", async () => {
    const { id } = target("Foreign")
    const got = await byCode({ scope: `openid ${urn(id)}` })
    const narrowed = await exchangeToken(got, { audience: id })
    const told = await introspect(narrowed.answer.access_token, target("Foreign"))
    expect(told).toMatchObject({ active: true, aud: [id] })
    const without = await byCode({ scope: "openid" })
    for (const wish of [{ audience: id }, { resource: urn(id) }]) {
      expect((await exchangeToken(without, wish)).answer.error).toBe("invalid_target")
    }
  })
})

describe("the audience of a token is checked again when it is used:", () => {
  let granted: Target
  let got: TokenResult
  beforeEach(async () => {
    granted = target("Granted")
    got = await byCode({ scope: `openid offline_access ${urn(granted.id)}` })
    expect(await checkOutcome(got, granted)).toEqual({ ...notNamed, ...expectedGranted })
  })

  const changes: Readonly<
    Record<string, readonly [() => Promise<unknown>, () => Promise<unknown>]>
  > = {
    "the grant of the project": [
      () => projectGrant.deactivateGrant(provider.cx(), `grant of ${granted.id}`),
      () => projectGrant.activateGrant(provider.cx(), `grant of ${granted.id}`),
    ],
    "the entry to the project": [
      () => project.updateProject(provider.cx(), granted.id, { projectRoleCheck: true }),
      () => project.updateProject(provider.cx(), granted.id, { projectRoleCheck: false }),
    ],
    "the project itself": [
      () => project.deactivateProject(provider.cx(), granted.id),
      () => project.activateProject(provider.cx(), granted.id),
    ],
  }
  test.each(Object.entries(changes))("%s", async (_, [close, open]) => {
    await close()
    const closed = await refreshTokens(got)
    const words = { grant_type: "refresh_token", scope: `openid ${urn(granted.id)}` }
    const named = { ...words, refresh_token: String(closed.answer.refresh_token) }
    const resource = urn(granted.id)
    const refused = await sendTokenRequest(provider, { ...named, resource }, credentialsOf(web))
    const again = await sendTokenRequest(provider, named, credentialsOf(web))
    const before = await provider.send("/oauth/v2/introspect", {
      method: "POST",
      headers: { authorization: `Basic ${Buffer.from(credentialsOf(web)).toString("base64")}` },
      body: new URLSearchParams({ token: String(got.answer.access_token) }),
    })
    const told = await before.json()
    await open()
    expect(refused.answer.error).toBe("invalid_target")
    expect(closed.answer.scope).toBe("openid offline_access")
    expect(again.answer.scope).toBe("openid")
    expect(told).toMatchObject({
      active: true,
      aud: [web.id, ownRole],
      scope: "openid offline_access",
    })
    expect(await checkOutcome(got, granted)).toEqual({ ...notNamed, ...expectedGranted })
  })

  test("users whom it excludes while it is closed", async () => {
    await projectGrant.deactivateGrant(provider.cx(), `grant of ${granted.id}`)
    const inactive = await introspect(got.answer.access_token, granted)
    await projectGrant.activateGrant(provider.cx(), `grant of ${granted.id}`)
    expect(inactive).toEqual({ active: false })
  })
})

describe("an actor for another user", () => {
  test("gets no token for a project that excludes the actor", async () => {
    const cx = provider.cx()
    await setSecurity(cx, "i1", {
      enableIframeEmbedding: false,
      allowedOrigins: [],
      enableImpersonation: true,
    })
    const everywhere = { level: "instance" } as const
    const roles = ["IAM_END_USER_IMPERSONATOR"]
    const userId = serviceAccount.userId
    await provider.store.transact(cx, (tx) =>
      member.addMember(tx, { target: everywhere, userId, roles }),
    )
    const { orgId } = provider.setup
    const { id: projectId } = target("Closed")
    const allowing = { userId, projectId, orgId, roleKeys: [] }
    await authorization.createAuthorization(cx, "of who acts", allowing)
    const ann = await provider.addPerson("ann")
    const { answer: acting } = await requestBySecret({
      scope: `openid ${urn(ownRole)} ${urn(projectId)}`,
    })
    const fields = {
      grant_type: exchangeGrant,
      subject_token: ann,
      subject_token_type: userIdType,
      actor_token: String(acting.access_token),
      actor_token_type: typeOf("access_token"),
    }
    const { answer } = await sendTokenRequest(provider, fields, credentialsOf(gateway))
    expect(await checkOutcome({ answer, page: "" }, target("Closed"))).toEqual({
      ...notNamed,
      ...expectedRemoved,
    })
    const named = await sendTokenRequest(
      provider,
      { ...fields, audience: projectId },
      credentialsOf(gateway),
    )
    expect(named.answer.error).toBe("invalid_target")
  })
})
