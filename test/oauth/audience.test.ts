import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { createApplication } from "../../src/domain/app/commands.ts"
import * as authorization from "../../src/domain/authorization/index.ts"
import { setSecurity } from "../../src/domain/instance/setting-change.ts"
import * as member from "../../src/domain/member/index.ts"
import { createOrganization } from "../../src/domain/org/commands.ts"
import * as project from "../../src/domain/project/index.ts"
import * as projectGrant from "../../src/domain/project-grant/index.ts"
import { addRobot, basicOf } from "./clients.ts"
import { asOf, exchangeGrant, typeOf, userIdType } from "./exchange.ts"
import {
  answerOf,
  askToken,
  authorizePath,
  browserOf,
  codeFields,
  type NewClient,
  openProvider,
  type Provider,
  type Visited,
} from "./provider.ts"
import { addMachine } from "./service.ts"

/** A project that an application of another one wants tokens for, with an API in it. */
type Target = { readonly id: string; readonly name: string; readonly api: NewClient }
type Fields = Readonly<Record<string, string>>

let provider: Provider
let web: NewClient
let gateway: NewClient
let front: NewClient
let device: NewClient
let robot: Awaited<ReturnType<typeof addRobot>>
const targets: Record<string, Target> = {}

const own = "own"
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
  await project.createProject(cx, own, { orgId, name: "Own" })
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
  web = await provider.addClient({ grantTypes: ["authorization_code", "refresh_token"] }, own)
  gateway = await provider.addClient({ grantTypes: ["token_exchange"] }, own)
  const responseTypes = ["id_token_token"] as const
  front = await provider.addClient({ grantTypes: ["implicit"], responseTypes }, own)
  device = await provider.addClient({ grantTypes: ["device_code", "refresh_token"] }, own)
  robot = await addRobot(provider)
})
afterAll(() => provider.close())

/** Signs in, and allows what the person is asked for; answers what they were shown, too. */
async function allowed(path: string) {
  const browser = browserOf(provider)
  const asked = await browser.signIn(path)
  if (!asked.page.includes("Allow")) return { end: asked, page: "", browser }
  return { end: await browser.post(asked, { answer: "allow" }), page: asked.page, browser }
}

type Got = { readonly answer: Readonly<Record<string, unknown>>; readonly page: string }

async function byCode(fields: Fields): Promise<Got> {
  const scope = "openid offline_access"
  const { end, page } = await allowed(authorizePath(web.id, { scope, ...fields }))
  const { answer } = await askToken(provider, codeFields(answerOf(end).code ?? ""), asOf(web))
  return { answer, page }
}

async function byDevice(scope: string): Promise<Got> {
  const body = new URLSearchParams({ client_id: device.id, client_secret: device.secret, scope })
  const response = await provider.send("/oauth/v2/device_authorization", { method: "POST", body })
  const begun: Record<string, string> = await response.json()
  const browser = browserOf(provider)
  const page = await browser.signIn(authorizePath(web.id))
  expect(answerOf(page)).toHaveProperty("code")
  const asked = await browser.post(await browser.go("/device"), { userCode: begun.user_code ?? "" })
  await browser.post(asked, { answer: "allow" })
  const grant_type = "urn:ietf:params:oauth:grant-type:device_code"
  const fields = { grant_type, device_code: begun.device_code ?? "" }
  const { answer } = await askToken(provider, fields, asOf(device))
  return { answer, page: asked.page }
}

const refreshed = async ({ answer, page }: Got, client = web, more: Fields = {}): Promise<Got> => {
  const fields = { grant_type: "refresh_token", refresh_token: String(answer.refresh_token) }
  return { answer: (await askToken(provider, { ...fields, ...more }, asOf(client))).answer, page }
}

const exchanged = async ({ answer, page }: Got, more: Fields = {}): Promise<Got> => {
  const subject = { subject_token: String(answer.access_token) }
  const type = { subject_token_type: typeOf("access_token") }
  const fields = { grant_type: exchangeGrant, ...subject, ...type, ...more }
  return { answer: (await askToken(provider, fields, asOf(gateway))).answer, page }
}

/** Every way in which a person's tokens are got, for a project that is named. */
const people: Readonly<Record<string, (id: string) => Promise<Got>>> = {
  "a code, by scope": (id) => byCode({ scope: `openid offline_access ${urn(id)}` }),
  "a code, by resource": (id) => byCode({ resource: urn(id) }),
  "the front channel": async (id) => {
    const changes = { response_type: "id_token token", scope: `openid ${urn(id)}` }
    const noPkce = { code_challenge: undefined, code_challenge_method: undefined }
    const { end, page } = await allowed(authorizePath(front.id, { ...changes, ...noPkce }))
    const answer = Object.fromEntries(new URLSearchParams(new URL(end.path).hash.slice(1)))
    return { answer, page }
  },
  "a device": (id) => byDevice(`openid ${urn(id)}`),
  "a refresh": async (id) => refreshed(await byCode({ scope: `openid offline_access ${urn(id)}` })),
  "a device's refresh": async (id) =>
    refreshed(await byDevice(`openid offline_access ${urn(id)}`), device),
  "an exchange": async (id) => exchanged(await byCode({ scope: `openid ${urn(id)}` })),
}

const secretOf = (fields: Fields) =>
  askToken(
    provider,
    { grant_type: "client_credentials", ...fields },
    basicOf(robot.id, robot.secret),
  )

/** Every way in which a service user gets tokens for itself. */
const services: Readonly<Record<string, (id: string) => Promise<Got>>> = {
  "a secret": async (id) => ({ ...(await secretOf({ scope: `openid ${urn(id)}` })), page: "" }),
  "a signed assertion": async (id) => {
    const { fields } = await addMachine(provider)
    return { ...(await askToken(provider, await fields({}, `openid ${urn(id)}`))), page: "" }
  },
  "an exchange": async (id) => {
    const scope = `openid ${urn(id)} ${urn(own)}`
    return exchanged({ ...(await secretOf({ scope })), page: "" })
  },
}

async function introspect(token: unknown, { api }: Target) {
  const headers = { authorization: `Basic ${Buffer.from(asOf(api)).toString("base64")}` }
  const body = new URLSearchParams({ token: String(token) })
  const response = await provider.send("/oauth/v2/introspect", { method: "POST", body, headers })
  return response.json()
}

/** What came of it: whether the person was asked by name, the scope tells, the API takes it. */
async function outcome({ answer, page }: Got, of: Target) {
  expect(answer.access_token).toEqual(expect.any(String))
  const { active } = await introspect(answer.access_token, of)
  return {
    isNamed: page.includes(of.name) && page.includes("Globex"),
    isInScope: String(answer.scope).includes(of.id),
    isActive: active,
  }
}

const given = { isInScope: true, isActive: true }
const left = { isInScope: false, isActive: false }
const unasked = { isNamed: false }

describe("a token that a person's application gets by", () => {
  const rows: Readonly<Record<string, Readonly<Record<string, boolean>>>> = {
    Sibling: { ...unasked, ...given },
    Granted: { ...unasked, ...given },
    Foreign: { isNamed: true, ...given },
    Closed: { ...unasked, ...left },
    Guarded: { ...unasked, ...left },
    Shut: { ...unasked, ...left },
  }
  const cases = Object.keys(people).flatMap((way) =>
    Object.keys(rows).map((name) => ({ way, name })),
  )
  test.each(cases)("$way is for the project $name only as it may be", async ({ way, name }) => {
    const of = target(name)
    const got = await people[way]?.(of.id)
    if (!got) throw new Error(`no way ${way}`)
    // The scope does not say what a resource puts into the audience.
    const { isInScope, ...rest } = await outcome(got, of)
    const { isInScope: expected, ...others } = rows[name] ?? {}
    expect(rest).toEqual(others)
    expect(isInScope).toBe(way === "a code, by resource" ? false : expected)
  })
})

describe("a token that a service user gets by", () => {
  const rows: Readonly<Record<string, Readonly<Record<string, boolean>>>> = {
    Sibling: given,
    Granted: given,
    Foreign: left,
    Closed: left,
    Guarded: left,
    Shut: left,
  }
  const cases = Object.keys(services).flatMap((way) =>
    Object.keys(rows).map((name) => ({ way, name })),
  )
  test.each(cases)("$way is for the project $name only as it may be", async ({ way, name }) => {
    const got = await services[way]?.(target(name).id)
    if (!got) throw new Error(`no way ${way}`)
    expect(await outcome(got, target(name))).toEqual({ ...unasked, ...rows[name] })
  })

  test.each(["Foreign", "Closed", "Guarded", "Shut"])(
    "naming %s as its resource is none",
    async (name) => {
      const resource = urn(target(name).id)
      const { answer } = await secretOf({ scope: "openid", resource })
      expect(answer).toMatchObject({ error: "invalid_target" })
    },
  )

  test("its roles is for the project that gives them", async () => {
    const cx = provider.cx()
    const { orgId } = provider.setup
    const { id: projectId } = target("Guarded")
    const allowing = { userId: robot.userId, projectId, orgId, roleKeys: ["editor"] }
    await authorization.createAuthorization(cx, "of the robot", allowing)
    const scope = `openid urn:core:iam:org:projects:roles ${urn(projectId)}`
    const { answer } = await secretOf({ scope })
    const roles = `urn:core:iam:org:project:${projectId}:roles`
    expect(await introspect(answer.access_token, target("Guarded"))).toMatchObject({
      active: true,
      [roles]: { editor: expect.anything() },
    })
    await authorization.removeAuthorization(cx, "of the robot")
    expect(await introspect(answer.access_token, target("Guarded"))).toEqual({ active: false })
  })
})

describe("another organisation's project", () => {
  const asking = (fields: Fields = {}) =>
    authorizePath(web.id, {
      scope: `openid offline_access ${urn(target("Foreign").id)}`,
      ...fields,
    })

  test("is named with its organisation before an application gets it, each time", async () => {
    const browser = browserOf(provider)
    const asked = await browser.signIn(asking())
    expect(asked.path).toContain("/ui/login/consent")
    expect(asked.page).toContain("It can access “Foreign” of Globex on your behalf.")
    expect(answerOf(await browser.post(asked, { answer: "allow" }))).toHaveProperty("code")
    expect((await browser.go(asking())).path).toContain("/ui/login/consent")
    expect(answerOf(await browser.go(asking({ prompt: "none" }))).error).toBe("consent_required")
  })

  test("is nobody's whom the person refuses it to", async () => {
    const browser = browserOf(provider)
    const asked = await browser.signIn(asking())
    const refused = await browser.post(asked, { answer: "cancel" })
    expect(answerOf(refused)).toMatchObject({ error: "access_denied" })
  })

  test("is not even named to whom it does not let in", async () => {
    const scope = `openid ${urn(target("Shut").id)}`
    const asked = await browserOf(provider).signIn(authorizePath(web.id, { scope }))
    expect(asked.path).toContain("/ui/login/consent")
    expect(asked.page).not.toContain("Globex")
  })

  test("that was not named stays out, though it lets the person in later", async () => {
    const { id } = target("Shut")
    const scope = `openid offline_access ${urn(id)}`
    const got = [await byCode({ scope }), await byDevice(scope)] as const
    await project.changeProject(provider.cx(), id, { hasProjectCheck: false })
    const later = [await refreshed(got[0]), await refreshed(got[1], device)]
    const outcomes = await Promise.all(later.map((each) => outcome(each, target("Shut"))))
    await project.changeProject(provider.cx(), id, { hasProjectCheck: true })
    expect(outcomes).toEqual([
      { ...unasked, ...left },
      { ...unasked, ...left },
    ])
  })

  test("is asked for again where a form was posted twice", async () => {
    const browser = browserOf(provider)
    const asked = await browser.signIn(asking())
    const before = browser.cookie()
    await browser.post(asked, { answer: "allow" })
    browser.setCookie(before)
    const again: Visited = await browser.post(asked, { answer: "allow" })
    const code = answerOf(again).code ?? ""
    const { answer } = await askToken(provider, codeFields(code), asOf(web))
    expect(await outcome({ answer, page: asked.page }, target("Foreign"))).toEqual({
      isNamed: true,
      ...given,
    })
  })

  test("is no more by an exchange than it was by the token that was shown", async () => {
    const { id } = target("Foreign")
    const got = await byCode({ scope: `openid ${urn(id)}` })
    const narrowed = await exchanged(got, { audience: id })
    const told = await introspect(narrowed.answer.access_token, target("Foreign"))
    expect(told).toMatchObject({ active: true, aud: [id] })
    const without = await byCode({ scope: "openid" })
    for (const wish of [{ audience: id }, { resource: urn(id) }]) {
      expect((await exchanged(without, wish)).answer.error).toBe("invalid_target")
    }
  })
})

describe("what a token is for is looked at again when it is used:", () => {
  let granted: Target
  let got: Got
  beforeEach(async () => {
    granted = target("Granted")
    got = await byCode({ scope: `openid offline_access ${urn(granted.id)}` })
    expect(await outcome(got, granted)).toEqual({ ...unasked, ...given })
  })

  const changes: Readonly<
    Record<string, readonly [() => Promise<unknown>, () => Promise<unknown>]>
  > = {
    "the grant of the project": [
      () => projectGrant.deactivateGrant(provider.cx(), `grant of ${granted.id}`),
      () => projectGrant.activateGrant(provider.cx(), `grant of ${granted.id}`),
    ],
    "the entry to the project": [
      () => project.changeProject(provider.cx(), granted.id, { projectRoleCheck: true }),
      () => project.changeProject(provider.cx(), granted.id, { projectRoleCheck: false }),
    ],
    "the project itself": [
      () => project.deactivateProject(provider.cx(), granted.id),
      () => project.activateProject(provider.cx(), granted.id),
    ],
  }
  test.each(Object.entries(changes))("%s", async (_, [close, open]) => {
    await close()
    const closed = await refreshed(got)
    const words = { grant_type: "refresh_token", scope: `openid ${urn(granted.id)}` }
    const named = { ...words, refresh_token: String(closed.answer.refresh_token) }
    const resource = urn(granted.id)
    const refused = await askToken(provider, { ...named, resource }, asOf(web))
    const again = await askToken(provider, named, asOf(web))
    const before = await provider.send("/oauth/v2/introspect", {
      method: "POST",
      headers: { authorization: `Basic ${Buffer.from(asOf(web)).toString("base64")}` },
      body: new URLSearchParams({ token: String(got.answer.access_token) }),
    })
    const told = await before.json()
    await open()
    expect(refused.answer.error).toBe("invalid_target")
    expect(closed.answer.scope).toBe("openid offline_access")
    expect(again.answer.scope).toBe("openid")
    expect(told).toMatchObject({ active: true, aud: [web.id, own], scope: "openid offline_access" })
    expect(await outcome(got, granted)).toEqual({ ...unasked, ...given })
  })

  test("who may not use it while it is closed", async () => {
    await projectGrant.deactivateGrant(provider.cx(), `grant of ${granted.id}`)
    const inactive = await introspect(got.answer.access_token, granted)
    await projectGrant.activateGrant(provider.cx(), `grant of ${granted.id}`)
    expect(inactive).toEqual({ active: false })
  })
})

describe("whoever acts for somebody", () => {
  test("gets no token for a project that keeps them out", async () => {
    const cx = provider.cx()
    await setSecurity(cx, "i1", {
      enableIframeEmbedding: false,
      allowedOrigins: [],
      enableImpersonation: true,
    })
    const everywhere = { level: "instance" } as const
    const roles = ["IAM_END_USER_IMPERSONATOR"]
    const userId = robot.userId
    await provider.store.transact(cx, (tx) =>
      member.addMember(tx, { target: everywhere, userId, roles }),
    )
    const { orgId } = provider.setup
    const { id: projectId } = target("Closed")
    const allowing = { userId, projectId, orgId, roleKeys: [] }
    await authorization.createAuthorization(cx, "of who acts", allowing)
    const ann = await provider.addPerson("ann")
    const { answer: acting } = await secretOf({ scope: `openid ${urn(own)} ${urn(projectId)}` })
    const fields = {
      grant_type: exchangeGrant,
      subject_token: ann,
      subject_token_type: userIdType,
      actor_token: String(acting.access_token),
      actor_token_type: typeOf("access_token"),
    }
    const { answer } = await askToken(provider, fields, asOf(gateway))
    expect(await outcome({ answer, page: "" }, target("Closed"))).toEqual({ ...unasked, ...left })
    const named = await askToken(provider, { ...fields, audience: projectId }, asOf(gateway))
    expect(named.answer.error).toBe("invalid_target")
  })
})
