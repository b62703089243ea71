// The permissions of the golden lists, and one resource of each kind to test them on.
import { create, type DescMethod, fromJson, type JsonObject } from "@bufbuild/protobuf"
import { addAction } from "../../../src/domain/action/index.ts"
import { addAppKey, addApplication } from "../../../src/domain/app/index.ts"
import { addAuthorization } from "../../../src/domain/authorization/index.ts"
import { ownerStreamId } from "../../../src/domain/idp/commands.ts"
import { idps } from "../../../src/domain/idp/model.ts"
import { addInstance } from "../../../src/domain/instance/index.ts"
import { addMember, type Target } from "../../../src/domain/member/index.ts"
import { addOrganization } from "../../../src/domain/org/index.ts"
import { addProject } from "../../../src/domain/project/index.ts"
import { addGrant } from "../../../src/domain/project-grant/index.ts"
import { session } from "../../../src/domain/session/index.ts"
import { addUser } from "../../../src/domain/user/index.ts"
import { user } from "../../../src/domain/user-model/model.ts"
import { neverExpires } from "../../../src/kernel/crypto/signing-key.ts"
import { aggregates, loadOperations, views } from "../../../src/server/modules.ts"
import type { Transaction } from "../../../src/store/index.ts"
import { tableOf } from "../../contract/table.ts"
import { humanInput } from "../../support/tenant.ts"
import { openTestEnvironment, type TestEnvironment } from "../../support/test-environment.ts"

type Level = Target["level"]

/** One access rule in the format of the golden list. */
export type AccessPath = {
  readonly permission: string
  readonly resource: string
  readonly isSearch: boolean
  /** The request fields that name the resource and its parent. */
  readonly id: string
  readonly parent: string
  readonly self: string
}

/** "user.read on user user_id of org_id or self authenticated or system system.user.read" */
const rulePattern = new RegExp(
  "^(\\S+) on (\\w+)( search)?(?: (?!or |of )(\\S+))?(?: of (\\S+))?" +
    "(?: or self (\\S+))?(?: or key \\S+)?(?: or (?:system .+|\\S+ on .+))?$",
)

/**
 * The access rules of an operation; "public", "authenticated", and "system" are returned unchanged.
 */
export function accessWaysOf(
  rule: string,
): readonly AccessPath[] | "public" | "authenticated" | "system" {
  if (rule === "public" || rule === "authenticated") return rule
  if (rule.startsWith("system ")) return "system"
  return rule.split(" | ").map((text) => {
    const [, permission = "", resource = "", search, id = "", parent = "", self = ""] =
      rulePattern.exec(text) ?? []
    if (!permission) throw new Error(`the matrix can't read the rule "${text}"`)
    return { permission, resource, isSearch: search !== undefined, id, parent, self }
  })
}

/** The permission and instance field of a system caller; undefined if there is none. */
export function systemAccessWayOf(rule: string): AccessPath | undefined {
  const [, permission = "", field] =
    /(?:^|or )system (\S+)(?: of instance (\S+))?$/.exec(rule) ?? []
  if (!permission) return undefined
  const ways = accessWaysOf(rule)
  const id = field ?? (typeof ways === "string" ? "" : (ways[0]?.id ?? ""))
  return { permission, resource: "instance", isSearch: false, id, parent: "", self: "" }
}

/**
 * All operations with its rule in the golden list: who may. When they must have proved who they
 * are is tried elsewhere.
 */
export const operationRules: readonly { readonly method: DescMethod; readonly rule: string }[] =
  await (async () => {
    const rules = new Map(
      tableOf("test/contract/access.tsv").map(({ service, rpc, rule }) => [
        `${service}/${rpc}`,
        rule?.replace(/, fresh$/, ""),
      ]),
    )
    return (await loadOperations()).map(({ method }) => {
      const rule = rules.get(`${method.parent.typeName}/${method.name}`)
      if (rule === undefined) throw new Error(`test/contract/access.tsv lacks ${method.name}`)
      return { method, rule }
    })
  })()

type Role = { readonly level: string; readonly permissions: ReadonlySet<string> }

/** The built-in roles of the golden list. */
export const goldenRoles: ReadonlyMap<string, Role> = (() => {
  const rows = tableOf("test/contract/roles.tsv")
  const names = [...new Set(rows.map(({ role = "" }) => role))]
  return new Map(
    names.map((name) => {
      const own = rows.filter(({ role }) => role === name)
      const permissions = new Set(own.map(({ permission = "" }) => permission))
      return [name, { level: own[0]?.level ?? "", permissions }]
    }),
  )
})()

/** The levels on which users can hold roles, by their names in the golden list. */
export const levelsByName: Readonly<Record<string, Level>> = {
  instance: "instance",
  org: "org",
  project: "project",
  projectgrant: "grant",
}

/**
 * The IDs of each kind of resource, and the levels on which a role reaches it. Everything belongs
 * to the organization "alpha"; the project was granted to "guest".
 */
export const resourceFixtures: Readonly<
  Record<string, { readonly id: string; readonly parent?: string; readonly from: readonly Level[] }>
> = {
  instance: { id: "i1", from: ["instance"] },
  org: { id: "alpha", from: ["instance", "org"] },
  org_domain: { id: "alpha.id.example.com", from: ["instance", "org"] },
  user: { id: "alpha-user", from: ["instance", "org"] },
  group: { id: "alpha-group", from: ["instance", "org"] },
  sign_up_request: { id: "alpha-request", from: ["instance", "org"] },
  sign_up_link: { id: "alpha-link", from: ["instance", "org"] },
  action: { id: "alpha-action", from: ["instance", "org"] },
  idp: { id: "alpha-idp", from: ["instance", "org"] },
  /** Belongs to the user with the same ID. */
  session: { id: "alpha-user", from: ["instance", "org"] },
  project: { id: "alpha-project", from: ["instance", "org", "project"] },
  shared_project: { id: "alpha-project", from: ["instance", "org", "project", "grant"] },
  held_project: { id: "alpha", parent: "alpha-project", from: ["instance", "org", "project"] },
  app: { id: "alpha-app", parent: "alpha-project", from: ["instance", "org", "project"] },
  app_key: { id: "alpha-key", from: ["instance", "org", "project"] },
  authorization: { id: "alpha-authorization", from: ["instance", "org", "project"] },
  group_authorization: { id: "alpha-group-authorization", from: ["instance", "org", "project"] },
  grant: {
    id: "guest",
    parent: "alpha-project",
    from: ["instance", "org", "project", "grant"],
  },
  grant_id: {
    id: "alpha-grant",
    parent: "alpha-project",
    from: ["instance", "org", "project", "grant"],
  },
}

export const requireFixture = (resource: string) => {
  const thing = resourceFixtures[resource]
  if (!thing) throw new Error(`the matrix has no ${resource}; add one to its things`)
  return thing
}

/** A request that names only the resource of the rule, or another one. */
export function requestFor(
  method: DescMethod,
  { resource, id, parent }: AccessPath,
  other?: string,
) {
  if (!id || id.startsWith("@")) return create(method.input)
  const thing = requireFixture(resource)
  const json: JsonObject = {}
  setField(json, method, id, other ?? thing.id)
  if (parent) setField(json, method, parent, thing.parent ?? "")
  return fromJson(method.input, json)
}

function setField(into: JsonObject, { input }: DescMethod, path: string, value: string): void {
  const names = path.split(".")
  let [at, fields] = [into, input.fields]
  for (const name of names.slice(0, -1)) {
    const field = fields.find((each) => each.name === name)
    at = Object.assign(at, { [name]: { ...Object(at[name]) } })[name] as JsonObject
    fields = field?.message?.fields ?? []
  }
  const last = names.at(-1) ?? ""
  const isFlag = fields.find(({ name }) => name === last)?.scalar === 8
  at[last] = isFlag ? true : value
}

/** Two instances; one has everything of "alpha" and some of "beta", the other nothing. */
export async function openMatrix(): Promise<TestEnvironment> {
  const world = openTestEnvironment({ aggregates, views })
  await world.store.transact(world.cx(), (tx) => {
    addInstance(tx, { name: "One", publicUrl: "https://id.example.com" })
    provision(tx, "beta")
    provision(tx, "alpha")
    addOrganization(tx, "guest", { name: "guest" })
    const grant = { projectId: "alpha-project", grantedOrgId: "guest", roleKeys: [] }
    addGrant(tx, "alpha-grant", grant)
    populate(tx)
  })
  const other = world.cx({ instance: "i2" })
  await world.store.transact(other, (tx) => {
    addInstance(tx, { name: "Two", publicUrl: "https://two.example.com" })
    addOrganization(tx, "home", { name: "home" })
    addUser(tx, "owner2", humanInput("owner2", "home"))
    addMember(tx, { userId: "owner2", target: { level: "instance" }, roles: ["IAM_OWNER"] })
  })
  return world
}

/** An organization with one resource of each kind, whose IDs and names have the same prefix. */
function provision(tx: Transaction, name: string): void {
  const [projectId, appId, userId] = [`${name}-project`, `${name}-app`, `${name}-user`]
  addOrganization(tx, name, { name })
  addProject(tx, projectId, { orgId: name, name: projectId })
  addApplication(tx, appId, {
    projectId,
    name: appId,
    clientId: `${name}-client`,
    config: { kind: "api", api: { authMethod: "private_key_jwt" } },
  })
  addAppKey.within(tx, appId, { keyId: `${name}-key`, publicKey: "key", expires: neverExpires })
  addUser(tx, userId, humanInput(userId, name))
  addIdp(tx, name)
  const script = { name, script: "0", timeoutMs: 0, allowedToFail: false }
  addAction(tx, `${name}-action`, { ...script, orgId: name })
  addSession(tx, userId)
  const held = { userId, projectId, orgId: name, roleKeys: [] }
  addAuthorization(tx, `${name}-authorization`, held)
}

function addIdp(tx: Transaction, name: string): void {
  const id = `${name}-idp`
  const settings = { kind: "google", clientId: "client", scopes: [] } as const
  const nothing = { isLinkingAllowed: false, isCreationAllowed: false, isAutoCreation: false }
  const options = { ...nothing, isAutoUpdate: false, autoLinking: "off" } as const
  const added = {
    type: "org.idp.google.added",
    data: { id, name, settings, options },
    claims: [{ take: "idp", key: id, taken: { id: "idp.exists", message: "" } }],
  }
  tx.append(idps, ownerStreamId(name), [added], name)
}

/** A session whose ID is that of its user. */
function addSession(tx: Transaction, id: string): void {
  const data = { userId: id, agentId: "browser" }
  tx.append(session, id, [{ type: "session.added", data }], tx.owner(user, id))
}

/** A user of alpha for each role that can be granted, and the owner of beta. */
function populate(tx: Transaction): void {
  const targets: Readonly<Record<Level, Target>> = {
    instance: { level: "instance" },
    org: { level: "org", id: "alpha" },
    project: { level: "project", id: "alpha-project" },
    grant: { level: "grant", id: "alpha-grant" },
  }
  for (const [role, { level }] of goldenRoles) {
    const on = levelsByName[level]
    if (!on) continue
    const userId = `alpha ${role}`.replace(" ", ".")
    addUser(tx, userId, humanInput(userId, "alpha"))
    addSession(tx, userId)
    addMember(tx, { userId, target: targets[on], roles: [role] })
  }
  addUser(tx, "beta-owner", humanInput("beta-owner", "beta"))
  const target: Target = { level: "org", id: "beta" }
  addMember(tx, { userId: "beta-owner", target, roles: ["ORG_OWNER"] })
}
