// What rows name by "$…", made when it is first named, and once for each run of a row.
import { generateKeyPairSync } from "node:crypto"
import type { JsonObject, JsonValue } from "@bufbuild/protobuf"
import { TOTP } from "otpauth"
import { addAuthRequest, addDevice } from "../../src/domain/grant/index.ts"
import { samlKeys } from "../../src/domain/key/index.ts"
import { message } from "../../src/domain/message/model.ts"
import { session } from "../../src/domain/session/index.ts"
import { signUpRequest } from "../../src/domain/sign-up/model.ts"
import { newUserCode, shownUserCode } from "../../src/oauth/device/user-code.ts"
import { deviceShowing } from "../../src/oauth/handed/device.ts"
import { handedId } from "../../src/oauth/handed/login-page.ts"
import { idpForms } from "../support/idps.ts"
import type { House } from "./house.ts"
import type { Who } from "./row.ts"

/** Calls an operation as the owner of the instance, and answers what must come back. */
export type Make = (
  call: string,
  body: JsonObject,
  headers?: Readonly<Record<string, string>>,
) => Promise<any>

/** Everything of one run, by its name. */
export type Things = {
  readonly get: (name: string) => Promise<string>
  /** A value with every "$name" in it replaced. */
  readonly fill: (value: JsonValue) => Promise<any>
  readonly headersOf: (who: Who) => Promise<Readonly<Record<string, string>>>
}

type Maker = (thing: (name: string) => Promise<string>, make: Make, house: House) => Promise<string>

let count = 0
/** A name that nobody had before. */
const fresh = (name: string) => `${name}-${++count}`

const year = () => new Date(Date.now() + 365 * 86_400_000).toISOString()

const { publicKey } = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  publicKeyEncoding: { type: "spki", format: "pem" },
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
})

const users = "user.v2.UserService"
const projects = "project.v2.ProjectService"
const apps = "application.v2.ApplicationService"
const older = { admin: "admin.v1.AdminService", management: "management.v1.ManagementService" }
const orgs = "org.v2.OrganizationService"
const administrators = "internal_permission.v2.InternalPermissionService"

async function machine(make: Make, organizationId: string, name: string): Promise<string> {
  const body = { organizationId, username: fresh(name), machine: { name } }
  return (await make(`${users}/CreateUser`, body)).id
}

async function administrator(make: Make, organizationId: string, name: string): Promise<string> {
  const userId = await machine(make, organizationId, name)
  const seat = { userId, resource: { organizationId }, roles: ["ORG_OWNER"] }
  await make(`${administrators}/CreateAdministrator`, seat)
  return userId
}

const org = async (make: Make, name: string) =>
  (await make(`${orgs}/AddOrganization`, { name: fresh(name) })).organizationId

/** Providers by their level and kind: "instanceGitHub", and "orgGitHub" of the household. */
const idpMakers: Readonly<Record<string, Maker>> = Object.fromEntries(
  idpForms.flatMap(({ name, body }): readonly (readonly [string, Maker])[] => {
    const add = `Add${name}Provider`
    return [
      [`instance${name}`, async (_, make) => (await make(`${older.admin}/${add}`, { ...body })).id],
      [
        `org${name}`,
        async (thing, make) => {
          const headers = { "x-core-orgid": await thing("org") }
          return (await make(`${older.management}/${add}`, { ...body }, headers)).id
        },
      ],
    ]
  }),
)

const makers: Readonly<Record<string, Maker>> = {
  fresh: async () => fresh("name"),
  tomorrow: async () => new Date(Date.now() + 86_400_000).toISOString(),
  publicKey: async () => Buffer.from(publicKey).toString("base64"),
  home: async (_, __, house) => house.orgId,
  ownerId: async (_, __, house) => house.ownerId,
  org: (_, make) => org(make, "household"),
  guest: (_, make) => org(make, "guest"),
  manager: async (thing, make) => administrator(make, await thing("org"), "manager"),
  stranger: async (thing, make) => administrator(make, await thing("guest"), "stranger"),
  nobody: async (thing, make) => machine(make, await thing("org"), "nobody"),
  robot: async (thing, make) => machine(make, await thing("org"), "robot"),
  /** A login page of somebody else, as a service user. */
  page: async (_, make, house) => {
    const userId = await machine(make, house.orgId, "page")
    const seat = { userId, resource: { instance: true }, roles: ["IAM_LOGIN_CLIENT"] }
    await make(`${administrators}/CreateAdministrator`, seat)
    return userId
  },
  loginName: async () => fresh("ada"),
  user: async (thing, make) => {
    const username = await thing("loginName")
    const profile = { givenName: "Ada", familyName: "Lovelace" }
    const email = { email: `${username}@example.com`, isVerified: true }
    const phone = { phone: "+41791234567", isVerified: true }
    const body = { organizationId: await thing("org"), username, human: { profile, email, phone } }
    return (await make(`${users}/CreateUser`, body)).id
  },
  key: async (thing, make) => {
    const body = { userId: await thing("robot"), expirationDate: year() }
    return (await make(`${users}/AddKey`, { ...body, publicKey: await thing("publicKey") })).keyId
  },
  token: async (thing, make) => {
    const body = { userId: await thing("robot"), expirationDate: year() }
    return (await make(`${users}/AddPersonalAccessToken`, body)).tokenId
  },
  emailCode: async (thing, make) => {
    const userId = await thing("user")
    const body = { userId, email: `${fresh("new")}@example.com`, returnCode: {} }
    return (await make(`${users}/SetEmail`, body)).verificationCode
  },
  phoneCode: async (thing, make) => {
    const body = { userId: await thing("user"), phone: "+41797654321", returnCode: {} }
    return (await make(`${users}/SetPhone`, body)).verificationCode
  },
  inviteCode: async (thing, make) => {
    const body = { userId: await thing("user"), returnCode: {} }
    return (await make(`${users}/CreateInviteCode`, body)).inviteCode
  },
  passwordCode: async (thing, make) => {
    const body = { userId: await thing("user"), returnCode: {} }
    return (await make(`${users}/PasswordReset`, body)).verificationCode
  },
  totpCode: async (thing, make) => {
    const { secret } = await make(`${users}/RegisterTOTP`, { userId: await thing("user") })
    return new TOTP({ secret }).generate()
  },
  passkey: async (thing, make) =>
    (await make(`${users}/RegisterPasskey`, { userId: await thing("user") })).passkeyId,
  securityKey: async (thing, make) =>
    (await make(`${users}/RegisterU2F`, { userId: await thing("user") })).u2fId,
  project: async (thing, make) => {
    const body = { organizationId: await thing("org"), name: fresh("project") }
    return (await make(`${projects}/CreateProject`, body)).projectId
  },
  role: async (thing, make) => {
    const body = { projectId: await thing("project"), roleKey: "editor", displayName: "Editor" }
    await make(`${projects}/AddProjectRole`, body)
    return "editor"
  },
  app: async (thing, make) => {
    const body = { projectId: await thing("project"), name: fresh("app") }
    const oidc = { redirectUris: ["https://app.example.com/callback"] }
    const made = await make(`${apps}/CreateApplication`, { ...body, oidcConfiguration: oidc })
    return made.applicationId
  },
  api: async (thing, make) => {
    const body = { projectId: await thing("project"), name: fresh("api"), apiConfiguration: {} }
    return (await make(`${apps}/CreateApplication`, body)).applicationId
  },
  secret: async (thing, make) => {
    const body = { applicationId: await thing("api"), projectId: await thing("project") }
    const { secrets } = await make(`${apps}/ListClientSecrets`, body)
    return secrets[0].secretId
  },
  appKey: async (thing, make) => {
    const body = { applicationId: await thing("api"), projectId: await thing("project") }
    const expirationDate = year()
    return (await make(`${apps}/CreateApplicationKey`, { ...body, expirationDate })).keyId
  },
  /** The organisation that has the grant, which names it in v2. */
  granted: async (thing, make) => {
    const projectId = await thing("project")
    const grantedOrganizationId = await thing("guest")
    await make(`${projects}/CreateProjectGrant`, { projectId, grantedOrganizationId })
    return grantedOrganizationId
  },
  grant: async (thing, make) => {
    const projectId = await thing("project")
    await thing("granted")
    const resource = { projectGrant: { projectId, organizationId: await thing("guest") } }
    const userId = await thing("robot")
    const roles = ["PROJECT_GRANT_OWNER"]
    await make(`${administrators}/CreateAdministrator`, { userId, resource, roles })
    const filters = [{ resource }]
    const found = await make(`${administrators}/ListAdministrators`, { filters })
    return found.administrators[0].projectGrant.id
  },
  authorization: async (thing, make) => {
    const body = {
      userId: await thing("user"),
      projectId: await thing("project"),
      organizationId: await thing("org"),
    }
    return (await make("authorization.v2.AuthorizationService/CreateAuthorization", body)).id
  },
  group: async (thing, make) => {
    const body = { organizationId: await thing("org"), name: fresh("group") }
    return (await make("group.v2.GroupService/CreateGroup", body)).id
  },
  groupAuthorization: async (thing, make) => {
    const body = {
      groupId: await thing("group"),
      projectId: await thing("project"),
      organizationId: await thing("org"),
    }
    return (await make("authorization.v2.AuthorizationService/CreateGroupAuthorization", body)).id
  },
  otherGroup: async (thing, make) => {
    const body = { organizationId: await thing("org"), name: fresh("group") }
    return (await make("group.v2.GroupService/CreateGroup", body)).id
  },
  /** Of somebody who has shown the code of their mail. */
  signUpRequest: async (thing, _, house) => {
    const [owner, cx] = [await thing("org"), house.within()]
    const id = cx.ids.next()
    const email = `${fresh("applicant")}@example.com`
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
  signUpLink: async (thing, make) => {
    const body = { organizationId: await thing("org"), useLimit: 3, expirationDate: year() }
    return (await make("signup.v2.SignUpService/CreateSignUpLink", body)).id
  },
  action: async (thing, make) => {
    const headers = { "x-core-orgid": await thing("org") }
    const body = { name: fresh("greet").replace("-", "_"), script: "function greet() {}" }
    return (await make(`${older.management}/CreateAction`, body, headers)).id
  },
  target: async (_, make) => {
    const body = { name: fresh("hook"), endpoint: "https://hook.example.com", timeout: "5s" }
    const target = { ...body, restWebhook: { interruptOnError: true } }
    return (await make("action.v2.ActionService/CreateTarget", target)).id
  },
  targetKey: async (thing, make) => {
    const body = { targetId: await thing("target"), publicKey: await thing("publicKey") }
    return (await make("action.v2.ActionService/AddPublicKey", body)).keyId
  },
  /** Runs when tokens are made, before userinfo is. */
  boundAction: async (thing, make) => {
    const headers = { "x-core-orgid": await thing("org") }
    const id = await thing("action")
    const body = { flowType: "2", triggerType: "4", actionIds: [id] }
    await make(`${older.management}/SetTriggerActions`, body, headers)
    return id
  },
  /** Of the user, in a browser of theirs. */
  session: async (thing, _, house) => {
    const [userId, owner, cx] = [await thing("user"), await thing("org"), house.within()]
    const id = cx.ids.next()
    const data = { userId, agentId: "browser" }
    await cx.store.transact(cx, (tx) => {
      tx.append(session, id, [{ type: "session.added", data }], owner)
      const passwordVersion = 1
      tx.append(session, id, [{ type: "session.password.checked", data: { passwordVersion } }])
    })
    return id
  },
  /** The token of the session that a login page has begun. */
  pageToken: async (thing, make) => {
    const body = { sessionId: await thing("pageSession") }
    return (await make("session.v2.SessionService/SetSession", body)).sessionToken
  },
  pageSession: async (thing, make) => {
    const body = { checks: { user: { userId: await thing("user") } } }
    return (await make("session.v2.SessionService/CreateSession", body)).sessionId
  },
  clientId: async (thing, make) => {
    const { application } = await make(`${apps}/GetApplication`, {
      applicationId: await thing("app"),
    })
    return application.oidcConfiguration.clientId
  },
  /** Of the application, for a login page of somebody else. */
  authRequest: async (thing, _, house) => {
    const [appId, clientId, cx] = [await thing("app"), await thing("clientId"), house.within()]
    const id = handedId(cx)
    const redirectUri = "https://app.example.com/callback"
    const wanted = { scopes: ["openid"], audience: [clientId], prompts: [], languages: [] }
    const asked = { appId, clientId, redirectUri, responseMode: "query", ...wanted } as const
    await cx.store.transact(cx, (tx) =>
      addAuthRequest(tx, id, { agentId: "", asked, loginHint: "" }),
    )
    return id
  },
  /** Of an application that speaks SAML, for a login page of somebody else. */
  samlRequest: async (thing, make, house) => {
    const projectId = await thing("project")
    const entityId = `urn:example:${fresh("sp")}`
    const redirectUri = "https://sp.example.com/acs"
    const metadataXml = Buffer.from(
      `<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="${entityId}">
      <SPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">
      <AssertionConsumerService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST" index="0"
      Location="${redirectUri}"/></SPSSODescriptor></EntityDescriptor>`,
    ).toString("base64")
    const { applicationId: appId } = await make(`${apps}/CreateApplication`, {
      projectId,
      name: fresh("sp"),
      samlConfiguration: { metadataXml },
    })
    const cx = house.within()
    const id = handedId(cx)
    const wanted = { scopes: [], audience: [], prompts: [], languages: [] }
    // The first that is signed makes the key; later ones do not.
    await samlKeys(cx)
    const saml = { entityId, requestId: "_r1", binding: "post", nameIdFormat: "email" } as const
    const answer = { redirectUri, responseMode: "form_post" } as const
    const asked = { ...answer, ...wanted, appId, clientId: "", state: "s1", saml }
    await cx.store.transact(cx, (tx) =>
      addAuthRequest(tx, id, { agentId: "", asked, loginHint: "" }),
    )
    return id
  },
  /** What a device of the application shows. */
  userCode: async (thing, _, house) => {
    const [appId, clientId, cx] = [await thing("app"), await thing("clientId"), house.within()]
    const userCode = newUserCode(cx.random)
    const asked = { appId, clientId, scopes: ["openid"], audience: [clientId] }
    await cx.store.transact(cx, (tx) =>
      addDevice(tx, cx.ids.next(), { ...asked, userCode, lifetimeSeconds: 300 }),
    )
    return shownUserCode(userCode)
  },
  device: async (thing, _, house) => deviceShowing(house.within(), await thing("userCode")).handle,
  /** To the user; it has failed. */
  message: async (thing, _, house) => {
    const [userId, owner, cx] = [await thing("user"), await thing("org"), house.within()]
    const id = cx.ids.next()
    const cause = { kind: "password_change", channel: "email", codeExpires: 0, urlTemplate: "" }
    await cx.store.transact(cx, (tx) => {
      const data = { ...cause, userId }
      const to = `${id}@example.com`
      tx.append(message, id, [{ type: "message.added", data, private: { to } }], owner)
      tx.append(message, id, [{ type: "message.failed", data: { error: "nobody answers" } }])
    })
    return id
  },
  customRole: async (_, make) => {
    const key = fresh("helpers").toUpperCase().replace("-", "_")
    const permissions = ["org.read", "user.read"]
    const body = { key, displayName: "Helpers", level: "ROLE_LEVEL_ORGANIZATION", permissions }
    await make(`${administrators}/CreateRole`, body)
    return key
  },
  domain: async (thing, make) => {
    const domain = `${fresh("acme")}.example.com`
    const body = { organizationId: await thing("org"), domain }
    await make(`${orgs}/AddOrganizationDomain`, body)
    return domain
  },
  /** The domain that is made for an organisation. */
  ownDomain: async (thing, make) => {
    const body = { organizationId: await thing("org") }
    return (await make(`${orgs}/ListOrganizationDomains`, body)).domains[0].domain
  },
  /** A domain that somebody of another organisation signs in with: it must be proven. */
  contested: async (thing, make) => {
    const domain = `${fresh("shared")}.example.com`
    const username = `grace@${domain}`
    const machineUser = { username, machine: { name: "Grace" } }
    await make(`${users}/CreateUser`, { organizationId: await thing("guest"), ...machineUser })
    await make(`${orgs}/AddOrganizationDomain`, { organizationId: await thing("org"), domain })
    return domain
  },
  newDomain: async () => `${fresh("new")}.example.com`,
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
  ...idpMakers,
  webKey: async (_, make) =>
    (await make("webkey.v2.WebKeyService/CreateWebKey", { ed25519: {} })).id,
  instance: async (_, make) => {
    const name = fresh("instance")
    const machineOwner = { userName: "robot", name: "Robot", personalAccessToken: {} }
    const body = { instanceName: name, firstOrgName: "First", customDomain: `${name}.example.com` }
    const call = "system.v1.SystemService/CreateInstance"
    return (await make(call, { ...body, machine: machineOwner })).instanceId
  },
}

/** Everything that the rows of one run name. */
export function thingsOf(make: Make, house: House): Things {
  const made = new Map<string, Promise<string>>()
  const get = (name: string): Promise<string> => {
    const maker = makers[name]
    if (!maker) throw new Error(`nobody makes a "$${name}"; see things.ts`)
    const known = made.get(name) ?? maker(get, make, house)
    made.set(name, known)
    return known
  }
  const fill = async (value: JsonValue): Promise<any> => {
    if (typeof value === "string") return value.startsWith("$") ? get(value.slice(1)) : value
    if (Array.isArray(value)) return Promise.all(value.map(fill))
    if (value === null || typeof value !== "object") return value
    const filled: JsonObject = {}
    // One after the other, so that what is made is made in the order that the row names it.
    for (const [name, inner] of Object.entries(value)) filled[name] = await fill(inner)
    return filled
  }
  return { get, fill, headersOf: (who) => headersOf(who, get) }
}

/** Which thing each of them is, and whose. */
const people: Readonly<Record<string, readonly [user: string, org: string]>> = {
  owner: ["ownerId", "home"],
  manager: ["manager", "org"],
  stranger: ["stranger", "guest"],
  nobody: ["nobody", "org"],
  page: ["page", "home"],
  user: ["user", "org"],
}

async function headersOf(who: Who, get: Things["get"]): Promise<Readonly<Record<string, string>>> {
  if (who === "anonymous") return {}
  const [userId, orgId] = people[who] ?? []
  if (!userId || !orgId) return { authorization: "Bearer system" }
  return { authorization: `Bearer user ${await get(userId)} ${await get(orgId)}` }
}
