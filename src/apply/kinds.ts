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

/**
 * IDs of the parents of a resource and names of the resources it refers to, by their names in
 * requests.
 */
export type Ids = Readonly<Record<string, string>>

type RequestSpec = {
  readonly method: DescMethod
  /** `own` is the description of the resource; for an update, only its differences. */
  readonly request: (ids: Ids, own: JsonObject) => JsonObject
}

/** A kind of resource that can be described, with the kinds of its parts by name. */
export type Kind = {
  /** The name in a plan. */
  readonly name: string
  /** The field that identifies a resource of this kind. */
  readonly key: string
  /** The name of its ID in requests about its children. */
  readonly id: string
  readonly list: {
    readonly method: DescMethod
    /** Requests all resources with the same parent; for users, only those with the given keys. */
    readonly request: (ids: Ids, keys: readonly string[]) => JsonObject
    /**
     * The field of the response that contains the results, and the field of the request that
     * contains the page.
     */
    readonly items: string
    readonly page: "pagination" | "query"
    /** The key of an existing resource, in the terms of the description. */
    readonly keyOf: (item: JsonObject) => string
    readonly idOf: (item: JsonObject) => string
    readonly shown: DescMessage
    readonly as?: (item: JsonObject) => JsonObject
  }
  readonly create: RequestSpec & {
    /** The description of a new resource with default values added. */
    readonly withDefaults?: (own: JsonObject) => JsonObject
  }
  readonly update: RequestSpec & {
    /** The differences with the other described and existing fields that must be sent with them. */
    readonly completeUpdate?: (
      differences: JsonObject,
      described: JsonObject,
      existing: JsonObject,
    ) => JsonObject
  }
  readonly parts: Readonly<Record<string, Kind>>
  /** Fields that can't be changed after creation, by their path in the description. */
  readonly immutableFields?: readonly string[]
  /**
   * Whether there can be any number of resources that are not described, such as users. Only the
   * described ones are looked up.
   */
  readonly isUnbounded?: true
  /** A resource that this kind refers to, and the name of its ID among the IDs. */
  readonly reference?: { readonly field: string; readonly kind: string; readonly id: string }
  /**
   * Whether updates distinguish `false` from an omitted field, so that a described `false` turns a
   * switch off.
   */
  readonly distinguishesFalse?: true
  /**
   * The request field that confirms the conditions of a rejected request; responses don't contain
   * it.
   */
  readonly confirmationField?: string
  /** The values of a response that are returned only once. */
  readonly onceValues?: (answer: JsonObject) => JsonObject
}

const textField = (field: string) => (item: JsonObject) => textAt(item, field)

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
    keyOf: textField("key"),
    idOf: textField("key"),
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
  distinguishesFalse: true,
  immutableFields: ["oidcConfiguration.clientId", "apiConfiguration.clientId"],
  list: {
    method: ApplicationService.method.listApplications,
    request: ({ projectId = "" }) => ({ filters: [{ projectIdFilter: { projectId } }] }),
    items: "applications",
    page: "pagination",
    shown: ApplicationSchema,
    keyOf: textField("name"),
    idOf: textField("applicationId"),
  },
  create: {
    method: ApplicationService.method.createApplication,
    request: ({ projectId = "" }, described) => ({ projectId, ...described }),
    withDefaults: (described) =>
      Object.fromEntries(Object.entries(described).map(addProfileDefault)),
  },
  update: {
    method: ApplicationService.method.updateApplication,
    request: ({ projectId = "", applicationId = "" }, changed) => ({
      projectId,
      applicationId,
      ...changed,
    }),
    completeUpdate: (differences, described, existing) =>
      addAuthMethod(addNetworkPermission(differences, described), existing),
  },
  onceValues: (answer) => {
    const configurations = ["oidcConfiguration", "apiConfiguration"]
    const message = (field: string) =>
      configurations.map((each) => textAt(answer, `${each}.${field}`)).find((text) => text !== "")
    const [clientId, clientSecret] = [message("clientId"), message("clientSecret")]
    return { ...(clientId && { clientId }), ...(clientSecret && { clientSecret }) }
  },
}

const profile = "idTokenUserinfoAssertion"
const oidcNames = ["oidcConfiguration", "oidc_configuration", "oidc"]

/**
 * Includes name and email in the ID token, which most applications need, unless the description
 * sets it.
 */
function addProfileDefault([name, value]: [string, JsonValue]): [string, JsonValue] {
  if (!oidcNames.includes(name) || !isObject(value)) return [name, value]
  const isStated = profile in value || "id_token_userinfo_assertion" in value
  return [name, isStated ? value : { ...value, [profile]: true }]
}

const configuration = "oidcConfiguration"
const permission = "backChannelLogoutPrivateNetwork"

/** The permission for a private network applies only to the address it was given for. */
function addNetworkPermission(differences: JsonObject, described: JsonObject): JsonObject {
  const [changed, wanted] = [differences[configuration], described[configuration]]
  if (!isObject(changed) || !isObject(wanted)) return differences
  const permitted = wanted[permission]
  if (!("backChannelLogoutUri" in changed) || permitted === undefined) return differences
  return { ...differences, [configuration]: { ...changed, [permission]: permitted } }
}

const apiConfiguration = "apiConfiguration"
const method = "authMethodType"

/** An update of an API application must always contain its authentication method. */
function addAuthMethod(differences: JsonObject, existing: JsonObject): JsonObject {
  const [changed, now] = [differences[apiConfiguration], existing[apiConfiguration]]
  if (!isObject(changed) || !isObject(now) || method in changed) return differences
  const stated = now[method]
  if (stated === undefined) return differences
  return { ...differences, [apiConfiguration]: { ...changed, [method]: stated } }
}

const project: Kind = {
  name: "project",
  key: "name",
  id: "projectId",
  distinguishesFalse: true,
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
    keyOf: textField("name"),
    idOf: textField("projectId"),
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
  reference: { field: "project", kind: "project", id: "projectId" },
  list: {
    method: AuthorizationService.method.listAuthorizations,
    request: ({ userId = "", organizationId = "" }) => ({
      filters: [{ inUserIds: { ids: [userId] } }, { organizationId: { id: organizationId } }],
    }),
    items: "authorizations",
    page: "pagination",
    shown: AuthorizationService.method.updateAuthorization.input,
    keyOf: textField("project.name"),
    idOf: textField("id"),
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

const resourceNames = { instance: "the instance", organization: "the organization" } as const

/** The resource of an administrator role. */
const resourceOf = ({ organizationId = "" }: Ids, { on }: JsonObject): JsonObject =>
  on === "instance" ? { instance: true } : { organizationId }

const administrator: Kind = {
  name: "administrator",
  key: "on",
  id: "on",
  parts: {},
  confirmationField: "confirmedCredentials",
  list: {
    method: InternalPermissionService.method.listAdministrators,
    request: ({ userId = "" }) => ({ filters: [{ inUserIdsFilter: { ids: [userId] } }] }),
    items: "administrators",
    page: "pagination",
    shown: AdministratorSchema,
    keyOf: (item) =>
      Object.keys(resourceNames).find((each) => Object.hasOwn(item, each)) ?? "another resource",
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
  isUnbounded: true,
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
    keyOf: textField("username"),
    idOf: textField("userId"),
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
  name: "organization",
  key: "name",
  id: "organizationId",
  list: {
    method: OrganizationService.method.listOrganizations,
    request: () => ({}),
    items: "result",
    page: "query",
    shown: OrganizationSchema,
    keyOf: textField("name"),
    idOf: textField("id"),
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
