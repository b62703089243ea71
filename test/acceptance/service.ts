import type { DescMethod } from "@bufbuild/protobuf"
import { allServices } from "../../src/api/book.ts"
import {
  freePort,
  type RunningServer,
  type ServiceKey,
  serviceToken,
  setUp,
  startLatchkey,
  temporaryFolder,
} from "../support/latchkey.ts"

/** A response; Connect and REST always respond with JSON. */
export type Reply = {
  readonly status: number
  readonly headers: Headers
  readonly body: any
}

export type Service = RunningServer & {
  /** The key of the service account that setup creates; it owns the instance. */
  readonly key: ServiceKey
  readonly token: string
  /** Calls an operation by Connect, by default as the owner; an empty token sends none. */
  readonly call: (name: string, request?: object, token?: string) => Promise<Reply>
  /** Like `call` for calls that must succeed; returns the message. */
  readonly get: (name: string, request?: object, token?: string) => Promise<any>
  readonly close: () => Promise<void>
}

/**
 * Runs the binary on its own port and data directory, set up; `fill` can write to its database
 * first.
 */
export async function openService(
  args: readonly string[] = [],
  fill?: (database: string) => Promise<void>,
): Promise<Service> {
  const folder = temporaryFolder()
  const port = await freePort()
  const data = `${folder.path}/data`
  const key = await setUp(data, `http://localhost:${port}`)
  await fill?.(`${data}/latchkey.db`)
  const server = await startLatchkey({ data, port, args })
  const token = await serviceToken(server.url, key)
  const call: Service["call"] = (name, request = {}, bearer = token) =>
    connect(server.url, name, { request, token: bearer })
  return {
    ...server,
    key,
    token,
    call,
    get: async (name, request, bearer) => {
      const { status, body } = await call(name, request, bearer)
      if (status === 200) return body
      throw new Error(`${name} answered ${status}: ${JSON.stringify(body)}`)
    },
    close: async () => {
      await server.stop()
      folder.remove()
    },
  }
}

/** A Connect call in JSON. */
export async function connect(
  url: string,
  name: string,
  { request, token }: { readonly request: object; readonly token: string },
): Promise<Reply> {
  const response = await fetch(`${url}${pathOf(methodOf(name))}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...bearer(token) },
    body: JSON.stringify(request),
  })
  return parseReply(response)
}

export const bearer = (token: string): Readonly<Record<string, string>> =>
  token ? { authorization: `Bearer ${token}` } : {}

export async function parseReply(response: Response): Promise<Reply> {
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text && JSON.parse(text) }
}

/** Every operation of the API. */
export const methods: readonly DescMethod[] = allServices.flatMap(({ methods }) => methods)

/** Finds an operation by its full name, or by its rpc name alone in a v2 service. */
export function methodOf(name: string): DescMethod {
  const found = methods.find(
    (each) => pathOf(each) === `/${name}` || (each.name === name && /\.v2$/.test(packageOf(each))),
  )
  if (!found) throw new Error(`the book has no operation ${name}`)
  return found
}

export const pathOf = (method: DescMethod): string => `/${method.parent.typeName}/${method.name}`

const packageOf = (method: DescMethod) => method.parent.file.proto.package

/** An organization with its own manager, who is one of its service accounts. */
export type OrganizationFixture = {
  readonly orgId: string
  readonly managerId: string
  readonly key: ServiceKey
  readonly token: string
  readonly userId: string
  readonly keyId: string
  readonly tokenId: string
  readonly projectId: string
  readonly appId: string
  readonly appKeyId: string
  readonly authorizationId: string
  readonly groupId: string
  readonly groupAuthorizationId: string
  readonly signUpLinkId: string
  readonly idpId: string
  readonly actionId: string
  /** The organization that the project is granted to, and the grant. */
  readonly guestId: string
  readonly grantId: string
}

/** Creates an organization with one resource of each kind. */
export async function createOrganizationFixture(
  service: Service,
  name: string,
): Promise<OrganizationFixture> {
  const { organizationId: orgId } = await service.get("AddOrganization", { name })
  const managerId = await addMachine(service, orgId, `${name}-manager`)
  const resource = { organizationId: orgId }
  const roles = ["ORG_OWNER"]
  await service.get("CreateAdministrator", { userId: managerId, resource, roles })
  const key = await addKey(service, managerId)
  const userId = await addMachine(service, orgId, `${name}-robot`)
  const { keyId } = await addKey(service, userId)
  const expirationDate = new Date(Date.now() + 86_400_000).toISOString()
  const { tokenId } = await service.get("AddPersonalAccessToken", { userId, expirationDate })
  const { projectId } = await service.get("CreateProject", {
    organizationId: orgId,
    name: `${name} project`,
  })
  const { applicationId: appId } = await service.get("CreateApplication", {
    projectId,
    name: `${name} app`,
    oidcConfiguration: { redirectUris: [`https://${name}.example.com/callback`] },
  })
  const { keyId: appKeyId } = await service.get("CreateApplicationKey", {
    applicationId: appId,
    projectId,
  })
  const { id: authorizationId } = await service.get("CreateAuthorization", {
    organizationId: orgId,
    projectId,
    userId,
  })
  const { id: groupId } = await service.get("CreateGroup", { organizationId: orgId, name })
  const { id: groupAuthorizationId } = await service.get("CreateGroupAuthorization", {
    organizationId: orgId,
    projectId,
    groupId,
  })
  const soon = new Date(Date.now() + 86_400_000).toISOString()
  const terms = { organizationId: orgId, useLimit: 1, expirationDate: soon }
  const { id: signUpLinkId } = await service.get("CreateSignUpLink", terms)
  const given = await grantTo(service, { name: `${name}-guest`, projectId, managerId })
  const token = await serviceToken(service.url, key)
  const idp = { clientId: "client", clientSecret: "s3cret" }
  const added = await service.call(
    "core.management.v1.ManagementService/AddGoogleProvider",
    idp,
    token,
  )
  const written = await service.call(
    "core.management.v1.ManagementService/CreateAction",
    { name: "greet", script: "function greet() {}" },
    token,
  )
  const ofUser = { userId, keyId, tokenId, authorizationId }
  const made = { idpId: added.body.id, actionId: written.body.id }
  const groups = { groupId, groupAuthorizationId }
  const below = { projectId, appId, appKeyId, ...groups, signUpLinkId, ...made }
  return { orgId, managerId, key, token, ...ofUser, ...below, ...given }
}

/** Grants a project to a new organization; the manager also administers the grant. */
async function grantTo(
  { get }: Service,
  of: { readonly name: string; readonly projectId: string; readonly managerId: string },
) {
  const { name, projectId, managerId: userId } = of
  const { organizationId: guestId } = await get("AddOrganization", { name })
  await get("CreateProjectGrant", { projectId, grantedOrganizationId: guestId })
  const resource = { projectGrant: { projectId, organizationId: guestId } }
  await get("CreateAdministrator", { userId, resource, roles: ["PROJECT_GRANT_OWNER"] })
  const { administrators } = await get("ListAdministrators", { filters: [{ resource }] })
  return { guestId, grantId: administrators[0].projectGrant.id as string }
}

/** Adds a service account; returns its ID. */
export async function addMachine(
  { get }: Pick<Service, "get">,
  organizationId: string,
  username: string,
): Promise<string> {
  const machine = { name: username }
  return (await get("CreateUser", { organizationId, username, machine })).id
}

/** Adds a key to a service account, valid for a year. */
export async function addKey({ get }: Pick<Service, "get">, userId: string): Promise<ServiceKey> {
  const expirationDate = new Date(Date.now() + 365 * 86_400_000).toISOString()
  const { keyContent } = await get("AddKey", { userId, expirationDate })
  return JSON.parse(Buffer.from(keyContent, "base64").toString())
}

/** Adds a user with a password; returns their ID. */
export async function addHuman(
  { get }: Pick<Service, "get">,
  organizationId: string,
  username: string,
): Promise<string> {
  const { id } = await get("CreateUser", { organizationId, username, human: humanInput(username) })
  return id
}

export const humanInput = (name: string) => ({
  profile: { givenName: name, familyName: "Person" },
  email: { email: `${name}@example.com`, isVerified: true },
})
