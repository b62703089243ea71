import type { DescMessage, DescMethod, JsonObject, JsonValue } from "@bufbuild/protobuf"
import { ApplicationSchema } from "../gen/core/application/v2/application_pb.ts"
import { ApplicationService } from "../gen/core/application/v2/application_service_pb.ts"
import { AuthorizationService } from "../gen/core/authorization/v2/authorization_service_pb.ts"
import { AdministratorSchema } from "../gen/core/internal_permission/v2/internal_permission_pb.ts"
import { InternalPermissionService } from "../gen/core/internal_permission/v2/internal_permission_service_pb.ts"
import { OrganizationSchema } from "../gen/core/org/v2/org_pb.ts"
import { OrganizationService } from "../gen/core/org/v2/organization_service_pb.ts"
import { ProjectRoleSchema, ProjectSchema } from "../gen/core/project/v2/project_pb.ts"
import { ProjectService } from "../gen/core/project/v2/project_service_pb.ts"
import { UserSchema } from "../gen/core/user/v2/user_pb.ts"
import { UserService } from "../gen/core/user/v2/user_service_pb.ts"
import { isObject, listAt, textAt } from "./json.ts"

/** Ids of what a thing hangs from, and names of what it refers to, by how requests call them. */
export type Ids = Readonly<Record<string, string>>

type Act = {
  readonly method: DescMethod
  /** `own` is what is described of a thing, and of an update what differs. */
  readonly request: (ids: Ids, own: JsonObject) => JsonObject
}

/** One kind of thing that can be described; its parts stand in it by their name. */
export type Kind = {
  /** What it is called in a plan. */
  readonly name: string
  /** The field that tells it from others of its kind. */
  readonly key: string
  /** What requests about what hangs from it call its id. */
  readonly id: string
  readonly list: {
    readonly method: DescMethod
    /** Asks for all that hang from the same; of people only for those whose keys are given. */
    readonly request: (ids: Ids, keys: readonly string[]) => JsonObject
    /** Where an answer has what was found, and where a request says which page. */
    readonly items: string
    readonly page: "pagination" | "query"
    /** What one found thing says of itself, in the words of what is described. */
    readonly keyOf: (item: JsonObject) => string
    readonly idOf: (item: JsonObject) => string
    readonly shown: DescMessage
    readonly as?: (item: JsonObject) => JsonObject
  }
  readonly create: Act & {
    /** What is described of a new thing, with what else it starts with. */
    readonly starting?: (own: JsonObject) => JsonObject
  }
  readonly update: Act & {
    /** What differs, with what else of the described and the present thing must be sent with it. */
    readonly completing?: (
      differs: JsonObject,
      described: JsonObject,
      present: JsonObject,
    ) => JsonObject
  }
  readonly parts: Readonly<Record<string, Kind>>
  /** Fields that stay as they were created, by their place in what is described. */
  readonly fixed?: readonly string[]
  /**
   * Whether there may be any number of them, which come by themselves: only those are looked for
   * that are described, and others are no news.
   */
  readonly isOpen?: true
  /** A thing of a kind that it names: where its id is put among the ids. */
  readonly refers?: { readonly field: string; readonly kind: string; readonly id: string }
  /** Whether its updates tell `false` from nothing: then a described `false` turns a switch off. */
  readonly turnsOff?: true
  /** The field of requests that confirms what a refusal lists; no answer shows it. */
  readonly confirms?: string
  /** What an answer says that nobody is told a second time. */
  readonly once?: (answer: JsonObject) => JsonObject
}

const own = (field: string) => (item: JsonObject) => textAt(item, field)

const role: Kind = {
  name: "role",
  key: "key",
  id: "roleKey",
  parts: {},
  list: {
    method: ProjectService.method.listProjectRoles,
    request: ({ projectId = "" }) => ({ projectId }),
    items: "projectRoles",
    page: "pagination",
    shown: ProjectRoleSchema,
    keyOf: own("key"),
    idOf: own("key"),
  },
  create: {
    method: ProjectService.method.addProjectRole,
    request: ({ projectId = "" }, { key = "", ...rest }) => ({
      projectId,
      roleKey: key,
      displayName: key,
      ...rest,
    }),
  },
  update: {
    method: ProjectService.method.updateProjectRole,
    request: ({ projectId = "", roleKey = "" }, changed) => ({ projectId, roleKey, ...changed }),
  },
}

const application: Kind = {
  name: "application",
  key: "name",
  id: "applicationId",
  parts: {},
  turnsOff: true,
  fixed: ["oidcConfiguration.clientId", "apiConfiguration.clientId"],
  list: {
    method: ApplicationService.method.listApplications,
    request: ({ projectId = "" }) => ({ filters: [{ projectIdFilter: { projectId } }] }),
    items: "applications",
    page: "pagination",
    shown: ApplicationSchema,
    keyOf: own("name"),
    idOf: own("applicationId"),
  },
  create: {
    method: ApplicationService.method.createApplication,
    request: ({ projectId = "" }, described) => ({ projectId, ...described }),
    starting: (described) => Object.fromEntries(Object.entries(described).map(withProfile)),
  },
  update: {
    method: ApplicationService.method.updateApplication,
    request: ({ projectId = "", applicationId = "" }, changed) => ({
      projectId,
      applicationId,
      ...changed,
    }),
    completing: (differs, described, present) =>
      withMethod(withPermission(differs, described), present),
  },
  once: (answer) => {
    const configurations = ["oidcConfiguration", "apiConfiguration"]
    const said = (field: string) =>
      configurations.map((each) => textAt(answer, `${each}.${field}`)).find((text) => text !== "")
    const [clientId, clientSecret] = [said("clientId"), said("clientSecret")]
    return { ...(clientId && { clientId }), ...(clientSecret && { clientSecret }) }
  },
}

const profile = "idTokenUserinfoAssertion"
const oidcNames = ["oidcConfiguration", "oidc_configuration", "oidc"]

/** Most programs read name and email from the ID token, unless the description says otherwise. */
function withProfile([name, value]: [string, JsonValue]): [string, JsonValue] {
  if (!oidcNames.includes(name) || !isObject(value)) return [name, value]
  const isStated = profile in value || "id_token_userinfo_assertion" in value
  return [name, isStated ? value : { ...value, [profile]: true }]
}

const configuration = "oidcConfiguration"
const permission = "backChannelLogoutPrivateNetwork"

/** The permission for a private network ends with the address that it was for. */
function withPermission(differs: JsonObject, described: JsonObject): JsonObject {
  const [changed, wanted] = [differs[configuration], described[configuration]]
  if (!isObject(changed) || !isObject(wanted)) return differs
  const permitted = wanted[permission]
  if (!("backChannelLogoutUri" in changed) || permitted === undefined) return differs
  return { ...differs, [configuration]: { ...changed, [permission]: permitted } }
}

const apiConfiguration = "apiConfiguration"
const method = "authMethodType"

/** An update of an API always states how it authenticates. */
function withMethod(differs: JsonObject, present: JsonObject): JsonObject {
  const [changed, now] = [differs[apiConfiguration], present[apiConfiguration]]
  if (!isObject(changed) || !isObject(now) || method in changed) return differs
  const stated = now[method]
  if (stated === undefined) return differs
  return { ...differs, [apiConfiguration]: { ...changed, [method]: stated } }
}

const project: Kind = {
  name: "project",
  key: "name",
  id: "projectId",
  turnsOff: true,
  list: {
    method: ProjectService.method.listProjects,
    request: ({ organizationId = "" }) => ({
      filters: [
        { organizationIdFilter: { organizationId, type: "OWNED" } },
        { internalFilter: false },
      ],
    }),
    items: "projects",
    page: "pagination",
    shown: ProjectSchema,
    keyOf: own("name"),
    idOf: own("projectId"),
  },
  create: {
    method: ProjectService.method.createProject,
    request: ({ organizationId = "" }, described) => ({ organizationId, ...described }),
  },
  update: {
    method: ProjectService.method.updateProject,
    request: ({ projectId = "" }, changed) => ({ projectId, ...changed }),
  },
  parts: { roles: role, applications: application },
}

const authorization: Kind = {
  name: "authorization",
  key: "project",
  id: "authorizationId",
  parts: {},
  refers: { field: "project", kind: "project", id: "projectId" },
  list: {
    method: AuthorizationService.method.listAuthorizations,
    request: ({ userId = "", organizationId = "" }) => ({
      filters: [{ inUserIds: { ids: [userId] } }, { organizationId: { id: organizationId } }],
    }),
    items: "authorizations",
    page: "pagination",
    shown: AuthorizationService.method.updateAuthorization.input,
    keyOf: own("project.name"),
    idOf: own("id"),
    as: (item) => ({ roleKeys: listAt(item, "roles").map((each) => textAt(each, "key")) }),
  },
  create: {
    method: AuthorizationService.method.createAuthorization,
    request: ({ userId = "", projectId = "", organizationId = "" }, { project: _, ...rest }) => ({
      userId,
      projectId,
      organizationId,
      ...rest,
    }),
  },
  update: {
    method: AuthorizationService.method.updateAuthorization,
    request: ({ authorizationId: id = "" }, changed) => ({ id, ...changed }),
  },
}

const reaches = { instance: "the instance", organization: "their organisation" } as const

/** What a role of an administrator is held on. */
const resourceOf = ({ organizationId = "" }: Ids, { on }: JsonObject): JsonObject =>
  on === "instance" ? { instance: true } : { organizationId }

const administrator: Kind = {
  name: "administrator",
  key: "on",
  id: "on",
  parts: {},
  confirms: "confirmedCredentials",
  list: {
    method: InternalPermissionService.method.listAdministrators,
    request: ({ userId = "" }) => ({ filters: [{ inUserIdsFilter: { ids: [userId] } }] }),
    items: "administrators",
    page: "pagination",
    shown: AdministratorSchema,
    keyOf: (item) =>
      Object.keys(reaches).find((each) => Object.hasOwn(item, each)) ?? "something else",
    idOf: (item) => (Object.hasOwn(item, "instance") ? "instance" : "organization"),
  },
  create: {
    method: InternalPermissionService.method.createAdministrator,
    request: (ids, { on = "organization", ...rest }) => ({
      userId: ids.userId ?? "",
      resource: resourceOf(ids, { on }),
      ...rest,
    }),
  },
  update: {
    method: InternalPermissionService.method.updateAdministrator,
    request: (ids, changed) => ({
      userId: ids.userId ?? "",
      resource: resourceOf(ids, { on: ids.on ?? "" }),
      ...changed,
    }),
  },
}

const user: Kind = {
  name: "user",
  key: "username",
  id: "userId",
  isOpen: true,
  list: {
    method: UserService.method.listUsers,
    request: ({ organizationId = "" }, keys) => ({
      queries: [
        { organizationIdQuery: { organizationId } },
        { orQuery: { queries: keys.map((userName) => ({ userNameQuery: { userName } })) } },
      ],
    }),
    items: "result",
    page: "query",
    shown: UserSchema,
    keyOf: own("username"),
    idOf: own("userId"),
  },
  create: {
    method: UserService.method.createUser,
    request: ({ organizationId = "" }, described) => ({ organizationId, ...described }),
  },
  update: {
    method: UserService.method.updateUser,
    request: ({ userId = "" }, changed) => ({ userId, ...changed }),
  },
  parts: { authorizations: authorization, administrator },
}

export const organization: Kind = {
  name: "organisation",
  key: "name",
  id: "organizationId",
  list: {
    method: OrganizationService.method.listOrganizations,
    request: () => ({}),
    items: "result",
    page: "query",
    shown: OrganizationSchema,
    keyOf: own("name"),
    idOf: own("id"),
  },
  create: {
    method: OrganizationService.method.addOrganization,
    request: (_, described) => described,
  },
  update: {
    method: OrganizationService.method.updateOrganization,
    request: ({ organizationId = "" }, changed) => ({ organizationId, ...changed }),
  },
  parts: { projects: project, users: user },
}
