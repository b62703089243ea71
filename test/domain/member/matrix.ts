// What the golden lists say about who may do what, and one of everything to try it on.
import { create, type DescMethod, fromJson, type JsonObject } from "@bufbuild/protobuf"
import { addAction } from "../../../src/domain/action/index.ts"
import { addAppKey, addApplication } from "../../../src/domain/app/index.ts"
import { addAuthorization } from "../../../src/domain/authorization/index.ts"
import { placeId } from "../../../src/domain/idp/commands.ts"
import { idps } from "../../../src/domain/idp/model.ts"
import { addInstance } from "../../../src/domain/instance/index.ts"
import { addMember, type Target } from "../../../src/domain/member/index.ts"
import { addOrganization } from "../../../src/domain/org/index.ts"
import { addProject } from "../../../src/domain/project/index.ts"
import { addGrant } from "../../../src/domain/project-grant/index.ts"
import { session } from "../../../src/domain/session/index.ts"
import { addUser } from "../../../src/domain/user/index.ts"
import { user } from "../../../src/domain/user-model/model.ts"
import { never } from "../../../src/kernel/crypto/signing-key.ts"
import { aggregates, operations, views } from "../../../src/server/modules.ts"
import type { Transaction } from "../../../src/store/index.ts"
import { tableOf } from "../../contract/table.ts"
import { person } from "../../support/estate.ts"
import { openWorld, type World } from "../../support/world.ts"

type Level = Target["level"]

/** One way in, as the golden list of access writes it. */
export type Way = {
  readonly permission: string
  readonly resource: string
  readonly isSearch: boolean
  /** Fields of the request that name the resource and what it hangs from. */
  readonly id: string
  readonly parent: string
  readonly self: string
}

/** "user.read on user user_id of org_id or self authenticated or system system.user.read" */
const written = new RegExp(
  "^(\\S+) on (\\w+)( search)?(?: (?!or |of )(\\S+))?(?: of (\\S+))?" +
    "(?: or self (\\S+))?(?: or key \\S+)?(?: or (?:system .+|\\S+ on .+))?$",
)

/** The ways into an operation; "public", "authenticated" and "system" stand for themselves. */
export function waysOf(rule: string): readonly Way[] | "public" | "authenticated" | "system" {
  if (rule === "public" || rule === "authenticated") return rule
  if (rule.startsWith("system ")) return "system"
  return rule.split(" | ").map((text) => {
    const [, permission = "", resource = "", search, id = "", parent = "", self = ""] =
      written.exec(text) ?? []
    if (!permission) throw new Error(`the matrix can't read the rule "${text}"`)
    return { permission, resource, isSearch: search !== undefined, id, parent, self }
  })
}

/** What who manages several instances needs, and what names the instance; undefined for nothing. */
export function systemWayOf(rule: string): Way | undefined {
  const [, permission = "", field] =
    /(?:^|or )system (\S+)(?: of instance (\S+))?$/.exec(rule) ?? []
  if (!permission) return undefined
  const ways = waysOf(rule)
  const id = field ?? (typeof ways === "string" ? "" : (ways[0]?.id ?? ""))
  return { permission, resource: "instance", isSearch: false, id, parent: "", self: "" }
}

/**
 * Every operation with its rule in the golden list: who may. When they must have proved who they
 * are is tried elsewhere.
 */
export const ruled: readonly { readonly method: DescMethod; readonly rule: string }[] =
  await (async () => {
    const rules = new Map(
      tableOf("test/contract/access.tsv").map(({ service, rpc, rule }) => [
        `${service}/${rpc}`,
        rule?.replace(/, fresh$/, ""),
      ]),
    )
    return (await operations()).map(({ method }) => {
      const rule = rules.get(`${method.parent.typeName}/${method.name}`)
      if (rule === undefined) throw new Error(`test/contract/access.tsv lacks ${method.name}`)
      return { method, rule }
    })
  })()

type Role = { readonly level: string; readonly permissions: ReadonlySet<string> }

/** The built-in roles as the golden list has them. */
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

/** The levels of the golden list that users can hold roles on, in our words. */
export const heldOn: Readonly<Record<string, Level>> = {
  instance: "instance",
  org: "org",
  project: "project",
  projectgrant: "grant",
}

/**
 * What each kind of resource is named by here, and on what a role must be held to reach it. All of
 * it belongs to the organisation "alpha"; the project was granted to "guest".
 */
export const things: Readonly<
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
  /** Of the user of the same id. */
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

export const thingOf = (resource: string) => {
  const thing = things[resource]
  if (!thing) throw new Error(`the matrix has no ${resource}; add one to its things`)
  return thing
}

/** A request that names what the way is about, the thing or another one, and nothing else. */
export function requestFor(method: DescMethod, { resource, id, parent }: Way, other?: string) {
  if (!id || id.startsWith("@")) return create(method.input)
  const thing = thingOf(resource)
  const json: JsonObject = {}
  put(json, method, id, other ?? thing.id)
  if (parent) put(json, method, parent, thing.parent ?? "")
  return fromJson(method.input, json)
}

function put(into: JsonObject, { input }: DescMethod, path: string, value: string): void {
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

/** Two instances; one has everything of "alpha" and something of "beta", the other nothing. */
export async function openMatrix(): Promise<World> {
  const world = openWorld({ aggregates, views })
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
    addUser(tx, "owner2", person("owner2", "home"))
    addMember(tx, { userId: "owner2", target: { level: "instance" }, roles: ["IAM_OWNER"] })
  })
  return world
}

/** An organisation with one of everything, whose ids and names all begin alike. */
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
  addAppKey.within(tx, appId, { keyId: `${name}-key`, publicKey: "key", expires: never })
  addUser(tx, userId, person(userId, name))
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
  tx.append(idps, placeId(name), [added], name)
}

/** A session whose id is that of its user. */
function addSession(tx: Transaction, id: string): void {
  const data = { userId: id, agentId: "browser" }
  tx.append(session, id, [{ type: "session.added", data }], tx.owner(user, id))
}

/** Somebody of alpha for each role that can be held, and the owner of beta. */
function populate(tx: Transaction): void {
  const targets: Readonly<Record<Level, Target>> = {
    instance: { level: "instance" },
    org: { level: "org", id: "alpha" },
    project: { level: "project", id: "alpha-project" },
    grant: { level: "grant", id: "alpha-grant" },
  }
  for (const [role, { level }] of goldenRoles) {
    const on = heldOn[level]
    if (!on) continue
    const userId = `alpha ${role}`.replace(" ", ".")
    addUser(tx, userId, person(userId, "alpha"))
    addSession(tx, userId)
    addMember(tx, { userId, target: targets[on], roles: [role] })
  }
  addUser(tx, "beta-owner", person("beta-owner", "beta"))
  const target: Target = { level: "org", id: "beta" }
  addMember(tx, { userId: "beta-owner", target, roles: ["ORG_OWNER"] })
}
