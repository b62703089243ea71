// The resources that rows name with "$…", created on first use, once for each run of a row.
import { generateKeyPairSync } from "node:crypto"
import type { JsonObject, JsonValue } from "@bufbuild/protobuf"
import { TOTP } from "otpauth"
import { addAuthRequest, addDevice } from "../../src/domain/grant/index.ts"
import { getSamlKeys } from "../../src/domain/key/index.ts"
import { message } from "../../src/domain/message/model.ts"
import { session } from "../../src/domain/session/index.ts"
import { signUpRequest } from "../../src/domain/sign-up/model.ts"
import { requireDeviceByCode } from "../../src/oauth/custom-login/device.ts"
import { newCustomLoginId } from "../../src/oauth/custom-login/login-page.ts"
import { formatUserCode, generateUserCode } from "../../src/oauth/device/user-code.ts"
import { idpForms } from "../support/idps.ts"
import type { TestServer } from "./house.ts"
import type { RowCaller } from "./row.ts"

/** Calls an operation as the instance owner, and returns the response, which must succeed. */
export type CallAsOwner = (
  call: string,
  body: JsonObject,
  headers?: Readonly<Record<string, string>>,
) => Promise<any>

/** The resources of one run, by name. */
export type RowResources = {
  readonly get: (name: string) => Promise<string>
  /** The value with every "$name" replaced. */
  readonly fill: (value: JsonValue) => Promise<any>
  readonly headersOf: (caller: RowCaller) => Promise<Readonly<Record<string, string>>>
}

type ResourceFactory = (
  item: (name: string) => Promise<string>,
  make: CallAsOwner,
  house: TestServer,
) => Promise<string>

let count = 0
/** A unique name. */
const uniqueName = (name: string) => `${name}-${++count}`

const inOneYear = () => new Date(Date.now() + 365 * 86_400_000).toISOString()

const { publicKey } = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  publicKeyEncoding: { type: "spki", format: "pem" },
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
})

const users = "user.v2.UserService"
const projects = "project.v2.ProjectService"
const apps = "application.v2.ApplicationService"
const v1Services = { admin: "admin.v1.AdminService", management: "management.v1.ManagementService" }
const orgs = "org.v2.OrganizationService"
const administrators = "internal_permission.v2.InternalPermissionService"

async function createMachine(
  make: CallAsOwner,
  organizationId: string,
  name: string,
): Promise<string> {
  const body = { organizationId, username: uniqueName(name), machine: { name } }
  return (await make(`${users}/CreateUser`, body)).id
}

async function createManager(
  make: CallAsOwner,
  organizationId: string,
  name: string,
): Promise<string> {
  const userId = await createMachine(make, organizationId, name)
  const seat = { userId, resource: { organizationId }, roles: ["ORG_OWNER"] }
  await make(`${administrators}/CreateAdministrator`, seat)
  return userId
}

const createOrg = async (make: CallAsOwner, name: string) =>
  (await make(`${orgs}/AddOrganization`, { name: uniqueName(name) })).organizationId

/** Providers by level and kind: "instanceGitHub", and "orgGitHub" of the organization. */
const idpFactories: Readonly<Record<string, ResourceFactory>> = Object.fromEntries(
  idpForms.flatMap(({ name, body }): readonly (readonly [string, ResourceFactory])[] => {
    const add = `Add${name}Provider`
    return [
      [
        `instance${name}`,
        async (_, make) => (await make(`${v1Services.admin}/${add}`, { ...body })).id,
      ],
      [
        `org${name}`,
        async (item, make) => {
          const headers = { "x-core-orgid": await item("org") }
          return (await make(`${v1Services.management}/${add}`, { ...body }, headers)).id
        },
      ],
    ]
  }),
)

const resourceFactories: Readonly<Record<string, ResourceFactory>> = {
  fresh: async () => uniqueName("name"),
  tomorrow: async () => new Date(Date.now() + 86_400_000).toISOString(),
  publicKey: async () => Buffer.from(publicKey).toString("base64"),
  home: async (_, __, house) => house.orgId,
  ownerId: async (_, __, house) => house.ownerId,
  org: (_, make) => createOrg(make, "household"),
  guest: (_, make) => createOrg(make, "guest"),
  manager: async (item, make) => createManager(make, await item("org"), "manager"),
  stranger: async (item, make) => createManager(make, await item("guest"), "stranger"),
  nobody: async (item, make) => createMachine(make, await item("org"), "nobody"),
  robot: async (item, make) => createMachine(make, await item("org"), "robot"),
  /** A custom login page, as a service account. */
  page: async (_, make, house) => {
    const userId = await createMachine(make, house.orgId, "page")
    const seat = { userId, resource: { instance: true }, roles: ["IAM_LOGIN_CLIENT"] }
    await make(`${administrators}/CreateAdministrator`, seat)
    return userId
  },
  loginName: async () => uniqueName("ada"),
  user: async (item, make) => {
    const username = await item("loginName")
    const profile = { givenName: "Ada", familyName: "Lovelace" }
    const email = { email: `${username}@example.com`, isVerified: true }
    const phone = { phone: "+41791234567", isVerified: true }
    const body = { organizationId: await item("org"), username, human: { profile, email, phone } }
    return (await make(`${users}/CreateUser`, body)).id
  },
  key: async (item, make) => {
    const body = { userId: await item("robot"), expirationDate: inOneYear() }
    return (await make(`${users}/AddKey`, { ...body, publicKey: await item("publicKey") })).keyId
  },
  token: async (item, make) => {
    const body = { userId: await item("robot"), expirationDate: inOneYear() }
    return (await make(`${users}/AddPersonalAccessToken`, body)).tokenId
  },
  emailCode: async (item, make) => {
    const userId = await item("user")
    const body = { userId, email: `${uniqueName("new")}@example.com`, returnCode: {} }
    return (await make(`${users}/SetEmail`, body)).verificationCode
  },
  phoneCode: async (item, make) => {
    const body = { userId: await item("user"), phone: "+41797654321", returnCode: {} }
    return (await make(`${users}/SetPhone`, body)).verificationCode
  },
  inviteCode: async (item, make) => {
    const body = { userId: await item("user"), returnCode: {} }
    return (await make(`${users}/CreateInviteCode`, body)).inviteCode
  },
  passwordCode: async (item, make) => {
    const body = { userId: await item("user"), returnCode: {} }
    return (await make(`${users}/PasswordReset`, body)).verificationCode
  },
  totpCode: async (item, make) => {
    const { secret } = await make(`${users}/RegisterTOTP`, { userId: await item("user") })
    return new TOTP({ secret }).generate()
  },
  passkey: async (item, make) =>
    (await make(`${users}/RegisterPasskey`, { userId: await item("user") })).passkeyId,
  securityKey: async (item, make) =>
    (await make(`${users}/RegisterU2F`, { userId: await item("user") })).u2fId,
  project: async (item, make) => {
    const body = { organizationId: await item("org"), name: uniqueName("project") }
    return (await make(`${projects}/CreateProject`, body)).projectId
  },
  role: async (item, make) => {
    const body = { projectId: await item("project"), roleKey: "editor", displayName: "Editor" }
    await make(`${projects}/AddProjectRole`, body)
    return "editor"
  },
  app: async (item, make) => {
    const body = { projectId: await item("project"), name: uniqueName("app") }
    const oidc = { redirectUris: ["https://app.example.com/callback"] }
    const made = await make(`${apps}/CreateApplication`, { ...body, oidcConfiguration: oidc })
    return made.applicationId
  },
  api: async (item, make) => {
    const body = {
      projectId: await item("project"),
      name: uniqueName("api"),
      apiConfiguration: {},
    }
    return (await make(`${apps}/CreateApplication`, body)).applicationId
  },
  secret: async (item, make) => {
    const body = { applicationId: await item("api"), projectId: await item("project") }
    const { secrets } = await make(`${apps}/ListClientSecrets`, body)
    return secrets[0].secretId
  },
  appKey: async (item, make) => {
    const body = { applicationId: await item("api"), projectId: await item("project") }
    const expirationDate = inOneYear()
    return (await make(`${apps}/CreateApplicationKey`, { ...body, expirationDate })).keyId
  },
  /** The organization with the grant, which identifies it in v2. */
  granted: async (item, make) => {
    const projectId = await item("project")
    const grantedOrganizationId = await item("guest")
    await make(`${projects}/CreateProjectGrant`, { projectId, grantedOrganizationId })
    return grantedOrganizationId
  },
  grant: async (item, make) => {
    const projectId = await item("project")
    await item("granted")
    const resource = { projectGrant: { projectId, organizationId: await item("guest") } }
    const userId = await item("robot")
    const roles = ["PROJECT_GRANT_OWNER"]
    await make(`${administrators}/CreateAdministrator`, { userId, resource, roles })
    const filters = [{ resource }]
    const found = await make(`${administrators}/ListAdministrators`, { filters })
    return found.administrators[0].projectGrant.id
  },
  authorization: async (item, make) => {
    const body = {
      userId: await item("user"),
      projectId: await item("project"),
      organizationId: await item("org"),
    }
    return (await make("authorization.v2.AuthorizationService/CreateAuthorization", body)).id
  },
  group: async (item, make) => {
    const body = { organizationId: await item("org"), name: uniqueName("group") }
    return (await make("group.v2.GroupService/CreateGroup", body)).id
  },
  groupAuthorization: async (item, make) => {
    const body = {
      groupId: await item("group"),
      projectId: await item("project"),
      organizationId: await item("org"),
    }
    return (await make("authorization.v2.AuthorizationService/CreateGroupAuthorization", body)).id
  },
  otherGroup: async (item, make) => {
    const body = { organizationId: await item("org"), name: uniqueName("group") }
    return (await make("group.v2.GroupService/CreateGroup", body)).id
  },
  /** A sign-up whose user has entered the code from the email. */
  signUpRequest: async (item, _, house) => {
    const [owner, cx] = [await item("org"), house.within()]
    const id = cx.ids.next()
    const email = `${uniqueName("applicant")}@example.com`
    const applicant = { email, givenName: "Ada", familyName: "Lovelace", language: "en" }
    const data = { orgId: owner, expires: cx.clock.now() + 86_400_000 }
    await cx.store.transact(cx, (tx) =>
      tx.append(
        signUpRequest,
        id,
        [{ type: "sign_up_request.added", data, private: applicant }],
        owner,
      ),
    )
    return id
  },
  signUpLink: async (item, make) => {
    const body = { organizationId: await item("org"), useLimit: 3, expirationDate: inOneYear() }
    return (await make("signup.v2.SignUpService/CreateSignUpLink", body)).id
  },
  action: async (item, make) => {
    const headers = { "x-core-orgid": await item("org") }
    const body = { name: uniqueName("greet").replace("-", "_"), script: "function greet() {}" }
    return (await make(`${v1Services.management}/CreateAction`, body, headers)).id
  },
  target: async (_, make) => {
    const body = { name: uniqueName("hook"), endpoint: "https://hook.example.com", timeout: "5s" }
    const target = { ...body, restWebhook: { interruptOnError: true } }
    return (await make("action.v2.ActionService/CreateTarget", target)).id
  },
  targetKey: async (item, make) => {
    const body = { targetId: await item("target"), publicKey: await item("publicKey") }
    return (await make("action.v2.ActionService/AddPublicKey", body)).keyId
  },
  /** Runs when tokens are issued, before userinfo. */
  boundAction: async (item, make) => {
    const headers = { "x-core-orgid": await item("org") }
    const id = await item("action")
    const body = { flowType: "2", triggerType: "4", actionIds: [id] }
    await make(`${v1Services.management}/SetTriggerActions`, body, headers)
    return id
  },
  /** A browser session of the user. */
  session: async (item, _, house) => {
    const [userId, owner, cx] = [await item("user"), await item("org"), house.within()]
    const id = cx.ids.next()
    const data = { userId, agentId: "browser" }
    await cx.store.transact(cx, (tx) => {
      tx.append(session, id, [{ type: "session.added", data }], owner)
      const passwordVersion = 1
      tx.append(session, id, [{ type: "session.password.checked", data: { passwordVersion } }])
    })
    return id
  },
  /** The token of the session that a login page has created. */
  pageToken: async (item, make) => {
    const body = { sessionId: await item("pageSession") }
    return (await make("session.v2.SessionService/SetSession", body)).sessionToken
  },
  pageSession: async (item, make) => {
    const body = { checks: { user: { userId: await item("user") } } }
    return (await make("session.v2.SessionService/CreateSession", body)).sessionId
  },
  clientId: async (item, make) => {
    const { application } = await make(`${apps}/GetApplication`, {
      applicationId: await item("app"),
    })
    return application.oidcConfiguration.clientId
  },
  /** A request of the application, for a custom login page. */
  authRequest: async (item, _, house) => {
    const [appId, clientId, cx] = [await item("app"), await item("clientId"), house.within()]
    const id = newCustomLoginId(cx)
    const redirectUri = "https://app.example.com/callback"
    const wanted = { scopes: ["openid"], audience: [clientId], prompts: [], languages: [] }
    const asked = { appId, clientId, redirectUri, responseMode: "query", ...wanted } as const
    await cx.store.transact(cx, (tx) =>
      addAuthRequest(tx, id, { agentId: "", asked, loginHint: "" }),
    )
    return id
  },
  /** A request of a SAML application, for a custom login page. */
  samlRequest: async (item, make, house) => {
    const projectId = await item("project")
    const entityId = `urn:example:${uniqueName("sp")}`
    const redirectUri = "https://sp.example.com/acs"
    const metadataXml = Buffer.from(
      `<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="${entityId}">
      <SPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">
      <AssertionConsumerService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST" index="0"
      Location="${redirectUri}"/></SPSSODescriptor></EntityDescriptor>`,
    ).toString("base64")
    const { applicationId: appId } = await make(`${apps}/CreateApplication`, {
      projectId,
      name: uniqueName("sp"),
      samlConfiguration: { metadataXml },
    })
    const cx = house.within()
    const id = newCustomLoginId(cx)
    const wanted = { scopes: [], audience: [], prompts: [], languages: [] }
    // The first signature creates the key; later ones don't.
    await getSamlKeys(cx)
    const saml = { entityId, requestId: "_r1", binding: "post", nameIdFormat: "email" } as const
    const answer = { redirectUri, responseMode: "form_post" } as const
    const asked = { ...answer, ...wanted, appId, clientId: "", state: "s1", saml }
    await cx.store.transact(cx, (tx) =>
      addAuthRequest(tx, id, { agentId: "", asked, loginHint: "" }),
    )
    return id
  },
  /** The code that a device of the application shows. */
  userCode: async (item, _, house) => {
    const [appId, clientId, cx] = [await item("app"), await item("clientId"), house.within()]
    const userCode = generateUserCode(cx.random)
    const asked = { appId, clientId, scopes: ["openid"], audience: [clientId] }
    await cx.store.transact(cx, (tx) =>
      addDevice(tx, cx.ids.next(), { ...asked, userCode, lifetimeSeconds: 300 }),
    )
    return formatUserCode(userCode)
  },
  device: async (item, _, house) =>
    requireDeviceByCode(house.within(), await item("userCode")).handle,
  /** A failed message to the user. */
  message: async (item, _, house) => {
    const [userId, owner, cx] = [await item("user"), await item("org"), house.within()]
    const id = cx.ids.next()
    const cause = { kind: "password_change", channel: "email", codeExpires: 0, urlTemplate: "" }
    await cx.store.transact(cx, (tx) => {
      const data = { ...cause, userId }
      const to = `${id}@example.com`
      tx.append(message, id, [{ type: "message.added", data, private: { to } }], owner)
      tx.append(message, id, [{ type: "message.failed", data: { error: "no response" } }])
    })
    return id
  },
  customRole: async (_, make) => {
    const key = uniqueName("helpers").toUpperCase().replace("-", "_")
    const permissions = ["org.read", "user.read"]
    const body = { key, displayName: "Helpers", level: "ROLE_LEVEL_ORGANIZATION", permissions }
    await make(`${administrators}/CreateRole`, body)
    return key
  },
  domain: async (item, make) => {
    const domain = `${uniqueName("acme")}.example.com`
    const body = { organizationId: await item("org"), domain }
    await make(`${orgs}/AddOrganizationDomain`, body)
    return domain
  },
  /** The domain that is made for an organization. */
  ownDomain: async (item, make) => {
    const body = { organizationId: await item("org") }
    return (await make(`${orgs}/ListOrganizationDomains`, body)).domains[0].domain
  },
  /** A domain in the login name of another organization's user: it must be verified. */
  contested: async (item, make) => {
    const domain = `${uniqueName("shared")}.example.com`
    const username = `grace@${domain}`
    const machineUser = { username, machine: { name: "Grace" } }
    await make(`${users}/CreateUser`, { organizationId: await item("guest"), ...machineUser })
    await make(`${orgs}/AddOrganizationDomain`, { organizationId: await item("org"), domain })
    return domain
  },
  newDomain: async () => `${uniqueName("new")}.example.com`,
  mailServer: async (_, make) => {
    const body = { senderAddress: "id@example.com", senderName: "Acme", host: "mail.example.com" }
    return (
      await make("admin.v1.AdminService/AddEmailProviderSMTP", {
        ...body,
        tls: true,
        user: "id",
        password: "secret",
      })
    ).id
  },
  mailService: async (_, make) => {
    const body = { endpoint: "https://mail.example.com/send" }
    return (await make("admin.v1.AdminService/AddEmailProviderHTTP", body)).id
  },
  twilio: async (_, make) => {
    const body = { sid: "AC1", token: "secret", senderNumber: "+41791234567" }
    return (await make("admin.v1.AdminService/AddSMSProviderTwilio", body)).id
  },
  smsService: async (_, make) => {
    const body = { endpoint: "https://sms.example.com/send" }
    return (await make("admin.v1.AdminService/AddSMSProviderHTTP", body)).id
  },
  ...idpFactories,
  webKey: async (_, make) =>
    (await make("webkey.v2.WebKeyService/CreateWebKey", { ed25519: {} })).id,
  instance: async (_, make) => {
    const name = uniqueName("instance")
    const machineOwner = { userName: "robot", name: "Robot", personalAccessToken: {} }
    const body = { instanceName: name, firstOrgName: "First", customDomain: `${name}.example.com` }
    const call = "system.v1.SystemService/CreateInstance"
    return (await make(call, { ...body, machine: machineOwner })).instanceId
  },
}

/** Everything that the rows of one run name. */
export function createRowResources(make: CallAsOwner, house: TestServer): RowResources {
  const made = new Map<string, Promise<string>>()
  const get = (name: string): Promise<string> => {
    const maker = resourceFactories[name]
    if (!maker) throw new Error(`no resource is named "$${name}"; see things.ts`)
    const known = made.get(name) ?? maker(get, make, house)
    made.set(name, known)
    return known
  }
  const fill = async (value: JsonValue): Promise<any> => {
    if (typeof value === "string") return value.startsWith("$") ? get(value.slice(1)) : value
    if (Array.isArray(value)) return Promise.all(value.map(fill))
    if (value === null || typeof value !== "object") return value
    const filled: JsonObject = {}
    // In sequence, so that resources are created in the order in which the row names them.
    for (const [name, inner] of Object.entries(value)) filled[name] = await fill(inner)
    return filled
  }
  return { get, fill, headersOf: (user) => headersOf(user, get) }
}

/** The resource and organization of each caller. */
const people: Readonly<Record<string, readonly [user: string, org: string]>> = {
  owner: ["ownerId", "home"],
  manager: ["manager", "org"],
  stranger: ["stranger", "guest"],
  nobody: ["nobody", "org"],
  page: ["page", "home"],
  user: ["user", "org"],
}

async function headersOf(
  caller: RowCaller,
  get: RowResources["get"],
): Promise<Readonly<Record<string, string>>> {
  if (caller === "anonymous") return {}
  const [userId, orgId] = people[caller] ?? []
  if (!userId || !orgId) return { authorization: "Bearer system" }
  return { authorization: `Bearer user ${await get(userId)} ${await get(orgId)}` }
}
