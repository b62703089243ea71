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

/** Everybody's. A page says it: who gets to a development instance may be anybody anyway. */
export const password = "Correct-horse-7-battery"

/** The key that stands for those that are the same each time. */
const fixedKeyId = "development-rs256"

/** The clients, whose ids are the same in every development instance. */
export const clients = { demo: "development-demo", own: "development" } as const

/** Where programs of this machine come back to, at whatever port (RFC 8252 §7.3). */
export const ownRedirectUri = "http://localhost/callback"

type Seeded = {
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
} as const satisfies Seeded

const others: readonly Seeded[] = [
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

/** Everybody who is made. */
export const people: readonly Seeded[] = [owner, ...others]

/** Sets a new instance up and fills it; one that is there already stays as it is. */
export async function seed(
  services: ServerServices,
  { publicUrl, hasFixedKeys }: Wanted,
): Promise<void> {
  const cx = services.call(firstInstance, "development")
  if (instanceIds(services.store).length === 0) {
    const { loginName, firstName, lastName } = owner
    const given = { loginName, email: loginName, firstName, lastName, password }
    const made = await setUp(cx, {
      publicUrl,
      organization: "Acme",
      owner: given,
      serviceKey: undefined,
      keys: hasFixedKeys ? await fixedPairs(cx) : undefined,
    })
    const hashed = await createPassword(password, { names: [] })
    await cx.store.transact(cx, (tx) => fill(tx, { acme: made.orgId, hashed, publicUrl }))
  }
  if (hasFixedKeys && !signsFixed(cx)) {
    throw startError(
      "dev_keys",
      "this folder was made without --fixed-keys, and keeps its keys; name another one with --data",
    )
  }
  await addProviders(cx)
}

/** `hasFixedKeys`: it signs with keys that are the same each time, which everybody has. */
type Wanted = { readonly publicUrl: string; readonly hasFixedKeys: boolean }

async function fixedPairs(cx: Cx) {
  const { fixedKeys } = await import("./fixed-keys.ts")
  return fixedKeys.map((each) => sealPair(cx, each))
}

/** Whether a key of those is there, as long as they have not been replaced. */
export const signsFixed = (cx: Cx): boolean => publicKeys(cx).some(({ kid }) => kid === fixedKeyId)

type Ground = {
  readonly acme: string
  readonly hashed: NewPassword
  readonly publicUrl: string
}

function fill(tx: Transaction, { acme, hashed, publicUrl }: Ground): void {
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

/** What messages go out by; none of them leaves, see `mailboxOf`. */
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
