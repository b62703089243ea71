import { type DescField, type DescMethod, getOption, type JsonObject } from "@bufbuild/protobuf"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type Access, access } from "../../src/gen/core/options_pb.ts"
import {
  createOrganizationFixture,
  methods,
  type OrganizationFixture,
  openService,
  parseReply,
  pathOf,
  type Reply,
  type Service,
} from "./service.ts"

let service: Service
let mine: OrganizationFixture
let theirs: OrganizationFixture

beforeAll(async () => {
  service = await openService()
  mine = await createOrganizationFixture(service, "alpha")
  theirs = await createOrganizationFixture(service, "beta")
})
afterAll(() => service?.close())

/** A well-formed ID that doesn't exist. */
const unknownId = "100000000000000001"

describe("to a manager, resources of another organization look like missing ones, by", () => {
  for (const { method, rule } of listNamedOperations()) {
    const by = rule.parent ? `${rule.id} of ${rule.parent}` : rule.id
    test(`${method.parent.typeName}/${method.name} (${by})`, async () => {
      const foreign = idsOf(theirs)[rule.resource] ?? ""
      const replies = await Promise.all(
        [foreign, unknownId].map((id) => callOperation(method, rule, { id, house: theirs })),
      )
      const [seen, absent] = replies.map(maskResponse)
      expect(seen).toEqual(absent)
      expect(seen?.status).toBe(404)
      if (!method.name.startsWith("Get")) return
      const own = { id: idsOf(mine)[rule.resource] ?? "", house: mine }
      expect((await callOperation(method, rule, own)).status).toBe(200)
    })
  }

  test.each([
    ["GET", "/orgs/me", undefined],
    ["POST", "/projects", JSON.stringify({ name: "Theirs" })],
  ])("x-core-orgid of any value (%s %s)", async (method, path, body) => {
    const ask = async (orgId: string) => {
      const headers = { authorization: `Bearer ${mine.token}`, "x-core-orgid": orgId }
      const init = { method, headers, ...(body !== undefined && { body }) }
      return parseReply(await fetch(`${service.url}/management/v1${path}`, init))
    }
    const [seen, absent, own] = [
      maskResponse(await ask(theirs.orgId)),
      maskResponse(await ask(unknownId)),
      await ask(mine.orgId),
    ]
    expect(seen).toEqual(absent)
    expect(seen.status).toBe(404)
    expect(own.status).toBe(200)
  })

  test("an ID inside the request: a key, and its owner", async () => {
    const ask = (userId: string, keyId: string) =>
      service.call("RemoveKey", { userId, keyId }, mine.token)
    const foreign = maskResponse(await ask(mine.userId, theirs.keyId))
    const absent = maskResponse(await ask(mine.userId, unknownId))
    expect(foreign).toEqual(absent)
    const { result } = await service.get("ListKeys", {
      filters: [{ keyIdFilter: { id: theirs.keyId } }],
    })
    expect(result).toHaveLength(1)
  })
})

test("none of the calls changes the other organization", async () => {
  const { user } = await service.get("GetUserByID", { userId: theirs.userId })
  expect(user.state).toBe("USER_STATE_ACTIVE")
  const { project } = await service.get("GetProject", { projectId: theirs.projectId })
  expect(project.state).toBe("PROJECT_STATE_ACTIVE")
  const { application } = await service.get("GetApplication", { applicationId: theirs.appId })
  expect(application.name).toBe("beta app")
})

type NamedOperation = { readonly method: DescMethod; readonly rule: Access }

/**
 * Every operation that names its resource, once for each way to name it. Operations that only the
 * instance permits are rejected for a manager of an organization whether or not the resource
 * exists.
 */
function listNamedOperations(): readonly NamedOperation[] {
  return methods.flatMap((method) => {
    const option = getOption(method, access)
    return [option, ...option.either]
      .filter(({ id, resource }) => id && !id.startsWith("@") && kinds.has(resource))
      .filter(({ permission }) => !permission.startsWith("iam."))
      .map((rule) => ({ method, rule }))
  })
}

const idsOf = (house: OrganizationFixture): Readonly<Record<string, string>> => ({
  org: house.orgId,
  project: house.projectId,
  app: house.appId,
  user: house.userId,
  app_key: house.appKeyId,
  authorization: house.authorizationId,
  group: house.groupId,
  group_authorization: house.groupAuthorizationId,
  sign_up_link: house.signUpLinkId,
  idp: house.idpId,
  action: house.actionId,
  grant: house.guestId,
  grant_id: house.grantId,
  held_project: house.orgId,
  shared_project: house.projectId,
})

const kinds: ReadonlySet<string> = new Set([
  "org",
  "project",
  "app",
  "app_key",
  "user",
  "authorization",
  "group",
  "idp",
  "action",
  "sign_up_link",
  "group_authorization",
  "grant",
  "grant_id",
  "held_project",
  "shared_project",
])

function callOperation(
  method: DescMethod,
  rule: Access,
  { id, house }: { readonly id: string; readonly house: OrganizationFixture },
): Promise<Reply> {
  const request = { ...fillRequest(method, rule, house) }
  setPath(request, namesOf(method, rule.id), id)
  if (rule.parent) setPath(request, namesOf(method, rule.parent), house.projectId)
  return service.call(pathOf(method).slice(1), request, mine.token)
}

/** The rest of a valid request, so that only the caller's permission can fail. */
function fillRequest(
  method: DescMethod,
  { resource }: Access,
  house: OrganizationFixture,
): JsonObject {
  const fields = new Map(method.input.fields.map((field) => [field.name, field]))
  const has = (name: string) => fields.get(name)?.fieldKind === "scalar"
  const machine = { name: "robot" }
  return {
    ...(has("name") && { name: "Changed" }),
    ...(has("role_key") && { roleKey: "editor" }),
    ...(has("granted_organization_id") && { grantedOrganizationId: house.guestId }),
    ...(has("display_name") && { displayName: "Changed" }),
    ...(method.name === "CreateUser" && { username: "newcomer", machine }),
    ...(/(?<!Group)Administrator$/.test(method.name) && { userId: mine.userId }),
    ...(has("group_id") && { groupId: house.groupId }),
    ...(fields.has("roles") && !fields.get("roles")?.message && { roles: ["ORG_OWNER"] }),
    ...(has("key_id") && { keyId: resource === "app" ? house.appKeyId : house.keyId }),
    ...(has("token_id") && { tokenId: house.tokenId }),
    ...(method.name === "GetPermissionReason" && {
      permission: "user.read",
      resource: "org",
      id: house.orgId,
    }),
    ...(method.name === "GetEntryReason" && { userId: house.userId }),
    ...(/Undo/.test(method.name) && { sequence: "1" }),
    ...(fields.has("new_password") && { newPassword: { password: "Correct-horse-7-battery" } }),
  }
}

/** The JSON names of a dotted path of the access rules. */
function namesOf(method: DescMethod, path: string): readonly string[] {
  let fields: readonly DescField[] = method.input.fields
  return path.split(".").map((name) => {
    const field = fields.find((each) => each.name === name)
    if (!field) throw new Error(`${method.name} has no field ${path}`)
    fields = field.message?.fields ?? []
    return field.jsonName
  })
}

function setPath(into: JsonObject, [name = "", ...rest]: readonly string[], value: string): void {
  if (rest.length === 0) {
    into[name] = value
    return
  }
  const inner = { ...Object(into[name]) }
  setPath(inner, rest, value)
  into[name] = inner
}

/** A response without the values that differ between calls. */
function maskResponse({ status, headers, body }: Reply) {
  const kept = [...headers].filter(([name]) => !["date", "x-request-id"].includes(name))
  return { status, headers: Object.fromEntries(kept), body }
}
