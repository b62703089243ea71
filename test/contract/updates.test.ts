// Concurrent changes by two administrators: neither overwrites an unread change of the other.
import { type DescField, getOption, type JsonObject } from "@bufbuild/protobuf"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { allServices } from "../../src/api/book.ts"
import { sensitive } from "../../src/gen/core/options_pb.ts"
import { openTestServer, type TestServer } from "../scenario/house.ts"
import { requireMethod } from "../scenario/run.ts"
import { type CallAsOwner, createRowResources } from "../scenario/things.ts"
import { type UpdateRow, updatesWith } from "./update-rows.ts"

const secret = "only a secret is stored, which nobody can read before"
const singleValue = "the request holds one value, and replaces nothing else"
const keyedEntries = "each entry is stored by its key, and the others stay"

/** Updates that need no version. */
const unversioned: Readonly<Record<string, string>> = {
  "core.admin.v1.AdminService/SetDefaultLanguage": singleValue,
  "core.admin.v1.AdminService/SetDefaultOrg": singleValue,
  "core.admin.v1.AdminService/UpdateEmailProviderSMTPPassword": secret,
  "core.admin.v1.AdminService/UpdateSMSProviderTwilioToken": secret,
  "core.admin.v1.AdminService/UpdateSMTPConfigPassword": secret,
  "core.auth.v1.AuthService/SetMyEmail": singleValue,
  "core.auth.v1.AuthService/SetMyPhone": singleValue,
  "core.auth.v1.AuthService/UpdateMyPassword": secret,
  "core.auth.v1.AuthService/UpdateMyUserName": singleValue,
  "core.feature.v2.FeatureService/SetOrganizationFeatures": "organizations have no features",
  "core.feature.v2.FeatureService/SetUserFeatures": "users have no features",
  "core.management.v1.ManagementService/SetPrimaryOrgDomain": singleValue,
  "core.org.v2.OrganizationService/SetOrganizationMetadata": keyedEntries,
  "core.session.v2.SessionService/SetSession": "the session token is the version of a session",
  "core.system.v1.SystemService/SetInstanceFeature": singleValue,
  "core.system.v1.SystemService/SetLimits": "fields that are not set stay, and none is a list",
  "core.system.v1.SystemService/SetPrimaryDomain": singleValue,
  "core.user.v2.UserService/SetPassword": secret,
}

const listOnly = "the list is all that the request replaces"
const emptyKeepsStored = "an empty value leaves what is stored"
const wholeValue = "the request replaces the whole value"

/** Updates that need no mask although some of their fields have no presence. */
const maskless: Readonly<Record<string, string>> = {
  "core.action.v2.ActionService/SetExecution": listOnly,
  "core.action.v2.ActionService/UpdateTarget": emptyKeepsStored,
  "core.application.v2.ApplicationService/UpdateApplication": emptyKeepsStored,
  "core.authorization.v2.AuthorizationService/UpdateAuthorization": listOnly,
  "core.authorization.v2.AuthorizationService/UpdateGroupAuthorization": listOnly,
  "core.feature.v2.FeatureService/SetInstanceFeatures": emptyKeepsStored,
  "core.feature.v2.FeatureService/SetSystemFeatures": emptyKeepsStored,
  "core.instance.v2.InstanceService/UpdateInstance": singleValue,
  "core.internal_permission.v2.InternalPermissionService/UpdateAdministrator": listOnly,
  "core.internal_permission.v2.InternalPermissionService/UpdateGroupAdministrator": listOnly,
  "core.internal_permission.v2.InternalPermissionService/UpdateRole": listOnly,
  "core.management.v1.ManagementService/SetTriggerActions": listOnly,
  "core.org.v2.OrganizationService/UpdateOrganization": singleValue,
  "core.project.v2.ProjectService/UpdateProject": emptyKeepsStored,
  "core.project.v2.ProjectService/UpdateProjectGrant": listOnly,
  "core.user.v2.UserService/SetEmail": wholeValue,
  "core.user.v2.UserService/SetPhone": wholeValue,
  "core.user.v2.UserService/SetUserMetadata": keyedEntries,
  "core.user.v2.UserService/UpdateUser": keyedEntries,
}

const updates = allServices.flatMap(({ methods }) =>
  methods.filter(({ name }) => /^(Update|Set|Patch)/.test(name)),
)
const nameOf = ({ parent, name }: (typeof updates)[number]) => `${parent.typeName}/${name}`
const has = ({ input }: (typeof updates)[number], field: string) =>
  input.fields.some(({ name }) => name === field)

/** Identifies the resource and is not changed itself. */
const isKey = ({ name }: DescField) =>
  /(^|_)(id|key|locale|language|unit)$|^(generator|flow|trigger)_type$|^kind$/.test(name)

const lacksPresence = (field: DescField) =>
  (field.presence === 2 || field.fieldKind === "list") && !isKey(field)

describe("every update", () => {
  test("takes the version that its caller has read, or has a reason for not needing one", () => {
    const without = updates.filter((each) => !has(each, "expected_version")).map(nameOf)
    expect(without.toSorted()).toEqual(Object.keys(unversioned).toSorted())
  })

  test("takes a mask if its fields have no presence, or has a reason for not needing one", () => {
    const without = updates
      .filter((each) => has(each, "expected_version") && !has(each, "update_mask"))
      .filter(({ input }) => input.fields.some(lacksPresence))
      .map(nameOf)
    expect(without.toSorted()).toEqual(Object.keys(maskless).toSorted())
  })
})

test("every field can be named in a JSON mask", () => {
  const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  const masked = updates.filter((each) => has(each, "update_mask"))
  const wrong = masked.flatMap(({ input }) =>
    input.fields.filter(({ name, jsonName }) => snake(jsonName) !== name).map(String),
  )
  expect(masked.length).toBeGreaterThan(0)
  expect(wrong).toEqual([])
})

type UpdateResult = {
  readonly outcome: string
  readonly position: string
  readonly events: readonly string[]
}

/** Sends an update of a row as its caller, with the prepared values. */
async function prepareSender(house: TestServer, { row }: UpdateRow) {
  const send = async (call: string, body: object, headers: Readonly<Record<string, string>>) => {
    const response = await fetch(`${house.url}/core.${call}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...house.headers, ...headers },
      body: JSON.stringify(body),
    })
    return { response, answer: await response.json() }
  }
  const make: CallAsOwner = async (call, body, more = {}) => {
    const isSystem = /^(system|instance)\./.test(call)
    const who = isSystem ? "Bearer system" : `Bearer user ${house.ownerId} ${house.orgId}`
    const { response, answer } = await send(call, body, { authorization: who, ...more })
    if (!response.ok) throw new Error(`${call} ended with ${JSON.stringify(answer)}`)
    return answer
  }
  const things = createRowResources(make, house)
  const headers = await things.headersOf(row.as ?? "manager")
  const body: JsonObject = await things.fill({ ...row.body })
  for (const [call, given] of row.given ?? []) await make(call, await things.fill({ ...given }))
  return {
    body,
    things,
    send,
    update: async (changes: object, more: object = {}): Promise<UpdateResult> => {
      await house.forget()
      const filled = await things.fill({ ...changes })
      const { response, answer } = await send(row.call, { ...filled, ...more }, headers)
      return {
        outcome: response.ok ? "ok" : `${answer.code} ${/\(([\w.]+)\)$/.exec(answer.message)?.[1]}`,
        position: response.headers.get("x-core-position") ?? "",
        events: await house.written(),
      }
    },
  }
}

let server: TestServer
beforeAll(async () => {
  server = await openTestServer()
})
afterAll(() => server.close())

/** In a separate instance if the row changes the whole instance. */
async function prepareUpdate(row: UpdateRow) {
  const own = row.row.once ? await openTestServer() : server
  const close = async () => {
    if (own !== server) await own.close()
  }
  return { ...(await prepareSender(own, row)), close }
}

const titledRows = (field: string) => updatesWith(field).map((row) => [row.row.call, row] as const)

describe("with the version that its caller has read", () => {
  test.each(titledRows("expected_version"))("%s", async (_, row) => {
    const { body, update, close } = await prepareUpdate(row)
    const first = await update(body)
    expect(first).toMatchObject({ outcome: "ok" })
    expect(first.events).not.toEqual([])
    const other = await update({ ...body, ...row.one }, { expectedVersion: first.position })
    expect(other).toMatchObject({ outcome: "ok" })
    expect(other.events).not.toEqual([])
    const mine = { ...body, ...row.two }
    const stale = await update(mine, { expectedVersion: first.position })
    expect(stale).toEqual({ outcome: "aborted edit.stale", position: "", events: [] })
    const again = await update(mine, { expectedVersion: other.position })
    expect(again).toMatchObject({ outcome: "ok" })
    expect(again.events).not.toEqual([])
    await close()
  })
})

/** The request without values that can't be sent again in their stored form. */
const withoutSecrets = (call: string, body: JsonObject): JsonObject => {
  const isSecret = (field: DescField) =>
    getOption(field, sensitive) || /^(password|expiration_signing_key)$/.test(field.name)
  const secrets = requireMethod(call).input.fields.filter(isSecret)
  const names = new Set(secrets.map(({ jsonName }) => jsonName))
  return Object.fromEntries(Object.entries(body).filter(([name]) => !names.has(name)))
}

const isOfSecret = (type: string) =>
  /idp\.secret|provider\.(secret|signing)|(password|token)\.changed/.test(type)
/** The values that a request has for the fields of another one; empty if it has none. */
const pickFields = (body: JsonObject, fields: JsonObject): JsonObject =>
  Object.fromEntries(Object.keys(fields).map((name) => [name, body[name] ?? null]))

describe("with a mask keeps the fields that it does not name", () => {
  test.each(titledRows("update_mask"))("%s", async (call, row) => {
    const { body, update, close } = await prepareUpdate(row)
    const { one, two } = row
    expect(await update(body)).toMatchObject({ outcome: "ok" })
    const ids = Object.fromEntries(
      Object.entries(body).filter(([name]) => {
        const field = requireMethod(call).input.fields.find(({ jsonName }) => jsonName === name)
        return field && isKey(field)
      }),
    )
    const masked = (changes: JsonObject, rest: JsonObject) =>
      update({ ...rest, ...changes }, { updateMask: Object.keys(changes).join(",") })
    const both = await Promise.all([masked(one, ids), masked(two, ids)])
    expect(both.map(({ outcome }) => outcome)).toEqual(["ok", "ok"])
    // A secret that is sent but not named in the mask is neither stored again nor deleted.
    const back = await masked({ ...pickFields(body, one) }, body)
    expect([...both, back].flatMap(({ events }) => events).filter(isOfSecret)).toEqual([])
    await masked(one, ids)
    await masked(two, ids)
    // Sending the same again changes nothing: both changes are stored, and the fields that neither
    // named.
    const whole = { ...withoutSecrets(call, body), ...one, ...two }
    const { outcome, events } = await update(whole)
    expect({ outcome, events }).toEqual({
      outcome: expect.stringMatching(/^ok$|^failed_precondition \w+\.(\w+_)?unchanged$/),
      events: [],
    })
    await close()
  })
})

describe("a caller who would overwrite an unread change", () => {
  const projects = "project.v2.ProjectService"

  /** The error for a caller whose update of a project comes after that of another caller. */
  async function told(by: "owner" | "manager", to: "owner" | "manager") {
    const row = { call: `${projects}/UpdateProject`, body: { projectId: "$project" } }
    const { body, things, send } = await prepareSender(server, { row, one: {}, two: {} })
    const update = async (userName: typeof by, changes: object) =>
      send(row.call, { ...body, ...changes }, await things.headersOf(userName))
    const read = await send(`${projects}/GetProject`, body, await things.headersOf(to))
    const expectedVersion = read.response.headers.get("x-core-position")
    await update(by, { name: "One" })
    const { answer } = await update(to, { name: "Two", expectedVersion })
    expect(answer.code).toBe("aborted")
    const { changedByUserId = "", changedBy = "", changeDate } = answer.details[0].debug
    const names = { [await things.get("manager")]: "manager", [server.ownerId]: "owner" }
    expect(Math.abs(Date.now() - Date.parse(changeDate))).toBeLessThan(60_000)
    return { user: names[changedByUserId] ?? changedByUserId, changedBy }
  }

  test("receives the time and author, after a read that returned its position", async () => {
    expect(await told("manager", "owner")).toEqual({ user: "manager", changedBy: "manager" })
    expect(await told("owner", "owner")).toEqual({ user: "owner", changedBy: "Olga Owner" })
  })

  test("receives only the time if the caller can't read the author", async () => {
    expect(await told("owner", "manager")).toEqual({ user: "", changedBy: "" })
  })
})
