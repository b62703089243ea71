// What two administrators change at once: nobody takes back what the other has changed unread.
import { type DescField, getOption, type JsonObject } from "@bufbuild/protobuf"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { book } from "../../src/api/book.ts"
import { sensitive } from "../../src/gen/core/options_pb.ts"
import { type House, openHouse } from "../scenario/house.ts"
import { methodOf } from "../scenario/run.ts"
import { type Make, thingsOf } from "../scenario/things.ts"
import { type UpdateRow, updatesWith } from "./update-rows.ts"

const secret = "only a secret is stored, which nobody can read before"
const single = "the request holds one value, and replaces nothing else"
const keyed = "each entry is stored by its key, and the others stay"

/** Updates that need no version. */
const unversioned: Readonly<Record<string, string>> = {
  "core.admin.v1.AdminService/SetDefaultLanguage": single,
  "core.admin.v1.AdminService/SetDefaultOrg": single,
  "core.admin.v1.AdminService/UpdateEmailProviderSMTPPassword": secret,
  "core.admin.v1.AdminService/UpdateSMSProviderTwilioToken": secret,
  "core.admin.v1.AdminService/UpdateSMTPConfigPassword": secret,
  "core.auth.v1.AuthService/SetMyEmail": single,
  "core.auth.v1.AuthService/SetMyPhone": single,
  "core.auth.v1.AuthService/UpdateMyPassword": secret,
  "core.auth.v1.AuthService/UpdateMyUserName": single,
  "core.feature.v2.FeatureService/SetOrganizationFeatures": "organizations have no features",
  "core.feature.v2.FeatureService/SetUserFeatures": "users have no features",
  "core.management.v1.ManagementService/SetPrimaryOrgDomain": single,
  "core.org.v2.OrganizationService/SetOrganizationMetadata": keyed,
  "core.session.v2.SessionService/SetSession": "the session token is the version of a session",
  "core.system.v1.SystemService/SetInstanceFeature": single,
  "core.system.v1.SystemService/SetLimits": "fields that are not set stay, and none is a list",
  "core.system.v1.SystemService/SetPrimaryDomain": single,
  "core.user.v2.UserService/SetPassword": secret,
}

const list = "the list is all that the request replaces"
const empty = "an empty value leaves what is stored"
const whole = "the request replaces the whole value"

/** Updates that need no mask though some of their fields have no presence. */
const maskless: Readonly<Record<string, string>> = {
  "core.action.v2.ActionService/SetExecution": list,
  "core.action.v2.ActionService/UpdateTarget": empty,
  "core.application.v2.ApplicationService/UpdateApplication": empty,
  "core.authorization.v2.AuthorizationService/UpdateAuthorization": list,
  "core.authorization.v2.AuthorizationService/UpdateGroupAuthorization": list,
  "core.feature.v2.FeatureService/SetInstanceFeatures": empty,
  "core.feature.v2.FeatureService/SetSystemFeatures": empty,
  "core.instance.v2.InstanceService/UpdateInstance": single,
  "core.internal_permission.v2.InternalPermissionService/UpdateAdministrator": list,
  "core.internal_permission.v2.InternalPermissionService/UpdateGroupAdministrator": list,
  "core.internal_permission.v2.InternalPermissionService/UpdateRole": list,
  "core.management.v1.ManagementService/SetTriggerActions": list,
  "core.org.v2.OrganizationService/UpdateOrganization": single,
  "core.project.v2.ProjectService/UpdateProject": empty,
  "core.project.v2.ProjectService/UpdateProjectGrant": list,
  "core.user.v2.UserService/SetEmail": whole,
  "core.user.v2.UserService/SetPhone": whole,
  "core.user.v2.UserService/SetUserMetadata": keyed,
  "core.user.v2.UserService/UpdateUser": keyed,
}

const updates = book.flatMap(({ methods }) =>
  methods.filter(({ name }) => /^(Update|Set|Patch)/.test(name)),
)
const nameOf = ({ parent, name }: (typeof updates)[number]) => `${parent.typeName}/${name}`
const has = ({ input }: (typeof updates)[number], field: string) =>
  input.fields.some(({ name }) => name === field)

/** Names what is updated, and is not changed itself. */
const isKey = ({ name }: DescField) =>
  /(^|_)(id|key|locale|language|unit)$|^(generator|flow|trigger)_type$|^kind$/.test(name)

const lacksPresence = (field: DescField) =>
  (field.presence === 2 || field.fieldKind === "list") && !isKey(field)

describe("every update", () => {
  test("takes the version that its caller has read, or needs none for a reason", () => {
    const without = updates.filter((each) => !has(each, "expected_version")).map(nameOf)
    expect(without.toSorted()).toEqual(Object.keys(unversioned).toSorted())
  })

  test("takes a mask where its fields have no presence, or needs none for a reason", () => {
    const without = updates
      .filter((each) => has(each, "expected_version") && !has(each, "update_mask"))
      .filter(({ input }) => input.fields.some(lacksPresence))
      .map(nameOf)
    expect(without.toSorted()).toEqual(Object.keys(maskless).toSorted())
  })
})

test("every field can be named by a mask in JSON", () => {
  const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  const masked = updates.filter((each) => has(each, "update_mask"))
  const wrong = masked.flatMap(({ input }) =>
    input.fields.filter(({ name, jsonName }) => snake(jsonName) !== name).map(String),
  )
  expect(masked.length).toBeGreaterThan(0)
  expect(wrong).toEqual([])
})

type Answered = {
  readonly outcome: string
  readonly position: string
  readonly events: readonly string[]
}

/** Sends an update of a row, as its caller, with what is prepared for it. */
async function sender(house: House, { row }: UpdateRow) {
  const send = async (call: string, body: object, headers: Readonly<Record<string, string>>) => {
    const response = await fetch(`${house.url}/core.${call}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...house.headers, ...headers },
      body: JSON.stringify(body),
    })
    return { response, answer: await response.json() }
  }
  const make: Make = async (call, body, more = {}) => {
    const isSystem = /^(system|instance)\./.test(call)
    const who = isSystem ? "Bearer system" : `Bearer user ${house.ownerId} ${house.orgId}`
    const { response, answer } = await send(call, body, { authorization: who, ...more })
    if (!response.ok) throw new Error(`${call} ended with ${JSON.stringify(answer)}`)
    return answer
  }
  const things = thingsOf(make, house)
  const headers = await things.headersOf(row.as ?? "manager")
  const body: JsonObject = await things.fill({ ...row.body })
  for (const [call, given] of row.given ?? []) await make(call, await things.fill({ ...given }))
  return {
    body,
    things,
    send,
    update: async (changes: object, more: object = {}): Promise<Answered> => {
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

let house: House
beforeAll(async () => {
  house = await openHouse()
})
afterAll(() => house.close())

/** In an instance of its own where the row changes all of it. */
async function prepared(row: UpdateRow) {
  const own = row.row.once ? await openHouse() : house
  const close = async () => {
    if (own !== house) await own.close()
  }
  return { ...(await sender(own, row)), close }
}

const titled = (field: string) => updatesWith(field).map((row) => [row.row.call, row] as const)

describe("with the version that its caller has read", () => {
  test.each(titled("expected_version"))("%s", async (_, row) => {
    const { body, update, close } = await prepared(row)
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

/** A request without what nobody can send again as it was stored. */
const withoutSecrets = (call: string, body: JsonObject): JsonObject => {
  const isSecret = (field: DescField) =>
    getOption(field, sensitive) || /^(password|expiration_signing_key)$/.test(field.name)
  const secrets = methodOf(call).input.fields.filter(isSecret)
  const names = new Set(secrets.map(({ jsonName }) => jsonName))
  return Object.fromEntries(Object.entries(body).filter(([name]) => !names.has(name)))
}

const isOfSecret = (type: string) =>
  /idp\.secret|provider\.(secret|signing)|(password|token)\.changed/.test(type)
/** What a request says of the fields of another one; an empty value where it says nothing. */
const pick = (body: JsonObject, fields: JsonObject): JsonObject =>
  Object.fromEntries(Object.keys(fields).map((name) => [name, body[name] ?? null]))

describe("with a mask leaves what it does not name", () => {
  test.each(titled("update_mask"))("%s", async (call, row) => {
    const { body, update, close } = await prepared(row)
    const { one, two } = row
    expect(await update(body)).toMatchObject({ outcome: "ok" })
    const ids = Object.fromEntries(
      Object.entries(body).filter(([name]) => {
        const field = methodOf(call).input.fields.find(({ jsonName }) => jsonName === name)
        return field && isKey(field)
      }),
    )
    const masked = (changes: JsonObject, rest: JsonObject) =>
      update({ ...rest, ...changes }, { updateMask: Object.keys(changes).join(",") })
    const both = await Promise.all([masked(one, ids), masked(two, ids)])
    expect(both.map(({ outcome }) => outcome)).toEqual(["ok", "ok"])
    // A secret that is sent, but not named, is not stored again; nor is one forgotten.
    const back = await masked({ ...pick(body, one) }, body)
    expect([...both, back].flatMap(({ events }) => events).filter(isOfSecret)).toEqual([])
    await masked(one, ids)
    await masked(two, ids)
    // The same again changes nothing, so that both are stored, and what none of them has named.
    const whole = { ...withoutSecrets(call, body), ...one, ...two }
    const { outcome, events } = await update(whole)
    expect({ outcome, events }).toEqual({
      outcome: expect.stringMatching(/^ok$|^failed_precondition \w+\.(\w+_)?unchanged$/),
      events: [],
    })
    await close()
  })
})

describe("who would replace a change unread", () => {
  const projects = "project.v2.ProjectService"

  /** What somebody is told whose update of a project comes after that of another one. */
  async function told(by: "owner" | "manager", to: "owner" | "manager") {
    const row = { call: `${projects}/UpdateProject`, body: { projectId: "$project" } }
    const { body, things, send } = await sender(house, { row, one: {}, two: {} })
    const update = async (who: typeof by, changes: object) =>
      send(row.call, { ...body, ...changes }, await things.headersOf(who))
    const read = await send(`${projects}/GetProject`, body, await things.headersOf(to))
    const expectedVersion = read.response.headers.get("x-core-position")
    await update(by, { name: "One" })
    const { answer } = await update(to, { name: "Two", expectedVersion })
    expect(answer.code).toBe("aborted")
    const { changedByUserId = "", changedBy = "", changeDate } = answer.details[0].debug
    const names = { [await things.get("manager")]: "manager", [house.ownerId]: "owner" }
    expect(Math.abs(Date.now() - Date.parse(changeDate))).toBeLessThan(60_000)
    return { user: names[changedByUserId] ?? changedByUserId, changedBy }
  }

  test("is told when and by whom, after a read that answered its position", async () => {
    expect(await told("manager", "owner")).toEqual({ user: "manager", changedBy: "manager" })
    expect(await told("owner", "owner")).toEqual({ user: "owner", changedBy: "Olga Owner" })
  })

  test("is told only when by a user whom they may not read", async () => {
    expect(await told("owner", "manager")).toEqual({ user: "", changedBy: "" })
  })
})
