import { startError } from "../../boot/start-error.ts"
import { addApplication } from "../../domain/app/index.ts"
import { addAuthorization } from "../../domain/authorization/index.ts"
import { createPassword, type NewPassword } from "../../domain/credential/index.ts"
import { instanceIds } from "../../domain/instance/index.ts"
import { publicKeys, sealPair } from "../../domain/key/index.ts"
import { addMember } from "../../domain/member/index.ts"
import { activateProvider, addProvider, providersOf } from "../../domain/message-provider/index.ts"
import { addOrganization } from "../../domain/org/index.ts"
import { addProject, addRoles } from "../../domain/project/index.ts"
import { firstInstance, setUp } from "../../domain/setup/index.ts"
import { addUser } from "../../domain/user/index.ts"
import type { Cx, Transaction } from "../../store/index.ts"
import type { ServerServices } from "../services.ts"
import { smsEndpoint } from "./mailbox.ts"

/**
 * The public password of all users, which a page shows: anyone who can reach a development instance
 * can sign in as any user.
 */
export const password = "Correct-horse-7-battery"

/** The ID that identifies the fixed keys. */
const fixedKeyId = "development-rs256"

/** The clients, whose IDs are the same in all development instances. */
export const clients = { demo: "development-demo", own: "development" } as const

/** The redirect URI for local programs on any port (RFC 8252 §7.3). */
export const ownRedirectUri = "http://localhost/callback"

type SeedUser = {
  readonly id: string
  readonly loginName: string
  readonly firstName: string
  readonly lastName: string
  readonly organization: "Acme" | "Globex"
  readonly owns?: "instance" | "organization"
  readonly roles: readonly string[]
}

const owner = {
  id: "",
  loginName: "ada@acme.example",
  firstName: "Ada",
  lastName: "Lovelace",
  organization: "Acme",
  owns: "instance",
  roles: [],
} as const satisfies SeedUser

const others: readonly SeedUser[] = [
  {
    id: "grace",
    loginName: "grace@acme.example",
    firstName: "Grace",
    lastName: "Hopper",
    organization: "Acme",
    owns: "organization",
    roles: ["editor"],
  },
  {
    id: "alan",
    loginName: "alan@acme.example",
    firstName: "Alan",
    lastName: "Turing",
    organization: "Acme",
    roles: ["reader"],
  },
  {
    id: "mary",
    loginName: "mary@acme.example",
    firstName: "Mary",
    lastName: "Somerville",
    organization: "Acme",
    roles: [],
  },
  {
    id: "edsger",
    loginName: "edsger@globex.example",
    firstName: "Edsger",
    lastName: "Dijkstra",
    organization: "Globex",
    owns: "organization",
    roles: [],
  },
]

/** All fictitious users. */
export const people: readonly SeedUser[] = [owner, ...others]

/** Creates and fills a new instance; an existing one is not changed. */
export async function seed(
  services: ServerServices,
  { publicUrl, hasFixedKeys }: SeedOptions,
): Promise<void> {
  const cx = services.call(firstInstance, "development")
  if (instanceIds(services.store).length === 0) {
    const { loginName, firstName, lastName } = owner
    const ownerInput = { loginName, email: loginName, firstName, lastName, password }
    const result = await setUp(cx, {
      publicUrl,
      organization: "Acme",
      owner: ownerInput,
      serviceKey: undefined,
      keys: hasFixedKeys ? await fixedPairs(cx) : undefined,
    })
    const hashed = await createPassword(password, { names: [] })
    await cx.store.transact(cx, (tx) => addSeedData(tx, { acme: result.orgId, hashed, publicUrl }))
  }
  if (hasFixedKeys && !signsWithFixedKeys(cx)) {
    throw startError(
      "dev_keys",
      "this directory was created without --fixed-keys and keeps its own keys; name " +
        "another one with --data",
    )
  }
  await addProviders(cx)
}

/** `hasFixedKeys`: use the public fixed signing keys. */
type SeedOptions = { readonly publicUrl: string; readonly hasFixedKeys: boolean }

async function fixedPairs(cx: Cx) {
  const { fixedKeys } = await import("./fixed-keys.ts")
  return fixedKeys.map((each) => sealPair(cx, each))
}

/** Whether the instance still has a fixed key, which can be rotated. */
export const signsWithFixedKeys = (cx: Cx): boolean =>
  publicKeys(cx).some(({ kid }) => kid === fixedKeyId)

type SeedInput = {
  readonly acme: string
  readonly hashed: NewPassword
  readonly publicUrl: string
}

function addSeedData(tx: Transaction, { acme, hashed, publicUrl }: SeedInput): void {
  const orgs = { Acme: acme, Globex: "globex" }
  const projectId = "notes"
  addOrganization(tx, orgs.Globex, { name: "Globex" })
  addProject(tx, projectId, { orgId: acme, name: "Notes", projectRoleAssertion: true })
  addRoles.within(tx, projectId, [
    { key: "reader", displayName: "Reader" },
    { key: "editor", displayName: "Editor" },
  ])
  for (const { id, loginName, firstName, lastName, organization, owns, roles } of others) {
    const orgId = orgs[organization]
    addUser(tx, id, {
      kind: "human",
      orgId,
      userName: loginName,
      password: hashed,
      profile: { givenName: firstName, familyName: lastName },
      email: { value: loginName, verified: true },
      phone: { value: "+41791234567", verified: true },
    })
    if (owns)
      addMember(tx, { userId: id, target: { level: "org", id: orgId }, roles: ["ORG_OWNER"] })
    if (roles.length > 0) {
      addAuthorization(tx, `${id}-notes`, { userId: id, projectId, orgId, roleKeys: roles })
    }
  }
  addClients(tx, projectId, publicUrl)
}

function addClients(tx: Transaction, projectId: string, publicUrl: string): void {
  const demo = `${publicUrl}/dev/demo`
  const grantTypes = ["authorization_code", "refresh_token"] as const
  addApplication(tx, clients.demo, {
    projectId,
    name: "Demo",
    clientId: clients.demo,
    config: {
      kind: "oidc",
      oidc: {
        redirectUris: [`${demo}/callback`],
        postLogoutRedirectUris: [demo],
        appType: "user_agent",
        authMethod: "none",
        grantTypes,
        idTokenRoleAssertion: true,
        idTokenUserinfoAssertion: true,
      },
    },
  })
  addApplication(tx, clients.own, {
    projectId,
    name: "Your application",
    clientId: clients.own,
    config: {
      kind: "oidc",
      oidc: {
        redirectUris: [ownRedirectUri, "http://127.0.0.1/callback"],
        postLogoutRedirectUris: ["http://localhost", "http://127.0.0.1"],
        appType: "native",
        authMethod: "none",
        grantTypes,
        idTokenRoleAssertion: true,
        idTokenUserinfoAssertion: true,
      },
    },
  })
}

/** Message providers that keep all messages on this machine, see `createMailbox`. */
async function addProviders(cx: Cx): Promise<void> {
  if (!providersOf(cx, "email").active) {
    const added = await addProvider(cx, "email", {
      settings: {
        kind: "smtp",
        description: "On this machine only",
        host: "mail.invalid",
        tls: true,
        user: "",
        auth: { kind: "none" },
        senderName: "Latchkey",
        replyToAddress: "",
        senderAddress: "latchkey@acme.example",
      },
    })
    await activateProvider(
      cx,
      "email",
      Object.keys(providersOf(cx, "email").providers)[0] ?? added.id,
    )
  }
  if (!providersOf(cx, "sms").active) {
    await addProvider(cx, "sms", {
      settings: { kind: "http", description: "On this machine only", endpoint: smsEndpoint },
    })
    await activateProvider(cx, "sms", Object.keys(providersOf(cx, "sms").providers)[0] ?? "")
  }
}
