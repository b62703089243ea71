// The pages of the console and of the account, and one resource of each kind to show on them.
import type { BrowserContext, Page } from "playwright-core"
import { humanInput, type Service } from "../acceptance/service.ts"
import { owner } from "./latchkey.ts"

/** The names of resources. */
export type ResourceNames = {
  readonly organization: string
  readonly project: string
  readonly application: string
  readonly person: string
  readonly group: string
}

export const resourceNames: ResourceNames = {
  organization: "Acme",
  project: "Intranet",
  application: "Wiki",
  person: "grace",
  group: "Finance",
}

const management = "core.management.v1.ManagementService"

/** A word of eighty letters without a break. */
const longWord = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft"

/** The same resources with the longest possible names. */
export const longResourceNames: ResourceNames = {
  organization: longWord,
  project: longWord,
  application: longWord,
  person: longWord,
  group: longWord,
}

/** The IDs on a page, and the resources' names, by the variables in `consoleRoutes`. */
export type ResourceIds = Readonly<Record<string, string>>

/** Every page: its path, and its English heading. `$name` is a resource's ID. */
export const consoleRoutes: readonly (readonly [path: string, heading: string])[] = [
  ["/ui/console/projects", "Projects"],
  ["/ui/console/projects/$projectId", "$project"],
  ["/ui/console/projects/$projectId/new-application", "Create application"],
  ["/ui/console/granted-projects/$grantedId", "Orders"],
  ["/ui/console/applications", "Applications"],
  ["/ui/console/applications/new", "Create application"],
  ["/ui/console/applications/$applicationId", "$application"],
  ["/ui/console/users", "Users"],
  ["/ui/console/users/new", "Create user"],
  ["/ui/console/users/sign-ups", "Sign-ups to approve"],
  ["/ui/console/users/$userId", "$person Person"],
  ["/ui/console/users/$userId/why", "Explain access"],
  // A service account, which has other sections.
  ["/ui/console/users/$robotId", "$application"],
  ["/ui/console/groups", "Groups"],
  ["/ui/console/groups/$groupId", "$group"],
  ["/ui/console/organizations", "Organizations"],
  ["/ui/console/organizations/$organizationId", "$organization"],
  ["/ui/console/organizations/$organizationId/policies", "Policies"],
  ["/ui/console/administrators", "Administrators"],
  ["/ui/console/refused-requests", "Rejected requests"],
  ["/ui/console/refused-requests/$requestId", "Rejected request"],
  ["/ui/console/outbox", "Outbox"],
  ["/ui/console/providers", "Email & SMS"],
  ["/ui/console/identity-providers", "Identity providers"],
  ["/ui/console/organizations/$organizationId/identity-providers", "Identity providers"],
  ["/ui/console/texts", "Custom texts"],
  ["/ui/console/organizations/$organizationId/texts", "Custom texts"],
  ["/ui/console/signing-keys", "Signing keys"],
  ["/ui/console/scripts", "Scripts"],
  ["/ui/console/scripts/$scriptId", "greet"],
  ["/ui/console/targets", "Webhooks"],
  ["/ui/console/targets/$targetId", "$application"],
  ["/ui/console/events", "Audit log"],
  ["/ui/console/nodes", "Nodes"],
  ["/ui/console/transfer", "Export and import"],
  ["/ui/console/settings", "Settings"],
  ["/ui/account", "Profile"],
  ["/ui/account/security", "Security"],
  ["/ui/account/sessions", "Sessions and apps"],
  ["/ui/account/data", "Your data"],
]

/** A text with the variables filled in. */
export const fillVariables = (text: string, resources: ResourceIds): string =>
  text.replace(/\$(\w+)/g, (_, name) => resources[name] ?? "")

/** Creates one resource of each kind, in the organization that setup created. */
export async function createConsoleResources(
  { get, url }: Pick<Service, "get" | "url">,
  names: ResourceNames = resourceNames,
): Promise<ResourceIds> {
  const organizationId: string = (await get("ListOrganizations")).result[0].id
  if (names.organization !== resourceNames.organization)
    await get("UpdateOrganization", { organizationId, name: names.organization })
  const { projectId } = await get("CreateProject", { organizationId, name: names.project })
  await get("AddProjectRole", { projectId, roleKey: "editor", displayName: names.project })
  const oidcConfiguration = { redirectUris: ["https://app.example.com/callback"] }
  const app = { projectId, name: names.application, oidcConfiguration }
  const created = await get("CreateApplication", app)
  const { clientId } = created.oidcConfiguration
  const human = { ...humanInput("grace"), profile: profileOf(names.person) }
  const { id: userId } = await get("CreateUser", { organizationId, username: "grace", human })
  await get("CreateInviteCode", { userId, sendCode: {} })
  const machine = { name: names.application }
  const serviceAccount = { organizationId, username: "robot", machine }
  const { id: robotId } = await get("CreateUser", serviceAccount)
  const expirationDate = "2040-01-01T00:00:00Z"
  await get("core.user.v2.UserService/AddKey", { userId: robotId, expirationDate })
  const token = { userId: robotId, expirationDate, name: names.project }
  await get("core.user.v2.UserService/AddPersonalAccessToken", token)
  // This address is unreachable, so there is a failed call.
  const target = { name: names.application, endpoint: "https://10.1.2.3/hook", timeout: "5s" }
  const { id: targetId } = await get("CreateTarget", { ...target, restWebhook: {} })
  const condition = { event: { event: "group.added" } }
  await get("core.action.v2.ActionService/SetExecution", { condition, targets: [targetId] })
  const soon = new Date(Date.now() + 86_400_000).toISOString()
  await get("CreateSignUpLink", { organizationId, useLimit: 5, expirationDate: soon })
  const { id: groupId } = await get("CreateGroup", { organizationId, name: names.group })
  await get("AddUsersToGroup", { id: groupId, userIds: [userId] })
  await get("CreateAuthorization", { organizationId, projectId, userId, roleKeys: ["editor"] })
  const roles = ["ORG_OWNER_VIEWER"]
  await get("CreateAdministrator", { userId, resource: { organizationId }, roles })
  const { organizationId: other } = await get("AddOrganization", { name: "Bakery" })
  const orders = { organizationId: other, name: "Orders" }
  const { projectId: grantedId } = await get("CreateProject", orders)
  const grant = { projectId: grantedId, grantedOrganizationId: organizationId }
  await get("CreateProjectGrant", grant)
  const provider = { name: names.application, clientId: "1", clientSecret: "s3cret" }
  await get("core.admin.v1.AdminService/AddGitHubProvider", provider)
  const script = "function greet(ctx, { v1 }) {\n  v1.claims.setClaim('team', 'red')\n}\n"
  const { id: scriptId } = await get(`${management}/CreateAction`, { name: "greet", script })
  const moment = { flowType: "2", triggerType: "4", actionIds: [scriptId] }
  await get(`${management}/SetTriggerActions`, moment)
  const requestId = await createRejectedRequest(url, clientId)
  return {
    ...names,
    organizationId,
    projectId,
    userId,
    robotId,
    groupId,
    clientId,
    grantedId,
    requestId,
    scriptId,
    targetId,
    applicationId: created.applicationId,
  }
}

const profileOf = (givenName: string) => ({ givenName, familyName: "Person" })

/** The ID of a rejected request with an unregistered redirect URI. */
async function createRejectedRequest(url: string, client_id: string): Promise<string> {
  const redirect_uri = "https://elsewhere.example"
  const request = { response_type: "code", scope: "openid", redirect_uri, client_id }
  const response = await fetch(`${url}/oauth/v2/authorize?${new URLSearchParams(request)}`, {
    headers: { accept: "text/html" },
  })
  return /<code>(\d{18})<\/code>/.exec(await response.text())?.[1] ?? ""
}

/** A console page after the owner has signed in on the way to its URL. */
export async function openSignedIn(context: BrowserContext, address: string): Promise<Page> {
  const page = await context.newPage()
  page.setDefaultTimeout(60_000)
  await page.goto(address)
  await page.fill('[name="loginName"]', owner.loginName)
  await page.click('button[type="submit"]')
  await page.fill('[name="password"]', owner.password)
  await page.click('button[type="submit"]')
  await page.locator("main.content:not([aria-busy]) h1").waitFor()
  return page
}
