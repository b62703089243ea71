import { withPasskeys } from "../browser.ts"
import { createSynapseMetadata } from "../saml-metadata.ts"
import { choose, type FormCase, type FormContext, pick, pressButton, readResource } from "./case.ts"

const admin = "core.admin.v1.AdminService"
const management = "core.management.v1.ManagementService"

const role = async ({ get, resources: { projectId } }: FormContext) => {
  const { projectRoles } = await get("ListProjectRoles", { projectId })
  return projectRoles.find((each: { readonly key: string }) => each.key === "editor")
}

const grant = async ({ get, resources: { projectId } }: FormContext) => {
  const filters = [{ inProjectIdsFilter: { ids: [projectId] } }]
  return (await get("ListProjectGrants", { filters })).projectGrants[0].grantedRoleKeys.toSorted()
}

const authorization = async ({ get, resources: { projectId } }: FormContext) => {
  const filters = [{ projectId: { id: projectId } }]
  return (await get("ListAuthorizations", { filters })).authorizations[0]
}

const listAssignedRoles = async (context: FormContext) => {
  const { roles } = await authorization(context)
  return roles.map(({ key }: { readonly key: string }) => key).toSorted()
}

const everyRole = ["editor", "viewer", "writer"]

const projectForms: readonly FormCase[] = [
  {
    form: "project/roles.tsx 1",
    path: "/ui/console/projects/$projectId",
    open: pressButton("Edit: editor"),
    otherChange: ({ get, resources: { projectId } }) =>
      get("UpdateProjectRole", { projectId, roleKey: "editor", displayName: "Theirs" }),
    ownChange: { group: "Mine" },
    read: role,
    both: { displayName: "Theirs", group: "Mine" },
    same: {
      otherChange: ({ get, resources: { projectId } }) =>
        get("UpdateProjectRole", { projectId, roleKey: "editor", displayName: "Theirs again" }),
      ownChange: { displayName: "Mine" },
      before: { displayName: "Theirs again" },
      after: { displayName: "Mine", group: "Mine" },
    },
  },
  {
    form: "project/grants.tsx 1",
    path: "/ui/console/projects/$projectId",
    open: pressButton("Edit: Bakery"),
    otherChange: ({ get, resources: { projectId, bakeryId: grantedOrganizationId } }) =>
      get("UpdateProjectGrant", {
        projectId,
        grantedOrganizationId,
        roleKeys: ["editor", "viewer"],
      }),
    ownChange: { roles: pick("writer") },
    read: grant,
    both: everyRole,
  },
  {
    form: "project/authorizations.tsx 1",
    path: "/ui/console/projects/$projectId",
    open: pressButton("Edit: grace Person"),
    otherChange: async (context) => {
      const { id } = await authorization(context)
      await context.get("UpdateAuthorization", { id, roleKeys: ["editor", "viewer"] })
    },
    ownChange: { roles: pick("writer") },
    read: listAssignedRoles,
    both: everyRole,
  },
]

const getUser = async ({ get, resources: { userId } }: FormContext) => {
  const { username, human } = (await get("GetUserByID", { userId })).user
  const { email, phone, profile } = human
  return { username, email: email.email, phone: phone?.phone, ...profile }
}

const changeUser =
  (profile: object) =>
  ({ get, resources: { userId } }: FormContext) =>
    get("UpdateUser", { userId, human: { profile } })

const getServiceAccount = async ({ get, resources: { robotId: userId } }: FormContext) =>
  (await get("GetUserByID", { userId })).user.machine

const changeServiceAccount =
  (machine: object) =>
  ({ get, resources: { robotId: userId } }: FormContext) =>
    get("UpdateUser", { userId, machine })

const setEmail =
  (email: string) =>
  ({ get, resources: { userId } }: FormContext) =>
    get("SetEmail", { userId, email, isVerified: true })

const entry = async ({ get, resources: { userId } }: FormContext) => {
  const [{ key, value }] = (await get("ListUserMetadata", { userId })).metadata
  return { key, value: atob(value) }
}

const userForms: readonly FormCase[] = [
  {
    form: "user/about.tsx 1",
    path: "/ui/console/users/$userId",
    open: pressButton("Edit: Details"),
    otherChange: changeUser({ givenName: "Theirs" }),
    ownChange: { familyName: "Mine" },
    read: getUser,
    both: { givenName: "Theirs", familyName: "Mine" },
    same: {
      otherChange: changeUser({ givenName: "Grace" }),
      ownChange: { givenName: "Mine" },
      before: { givenName: "Grace" },
      after: { givenName: "Mine" },
    },
  },
  {
    form: "user/about.tsx 2",
    path: "/ui/console/users/$robotId",
    open: pressButton("Edit: Details"),
    otherChange: changeServiceAccount({ description: "Theirs" }),
    ownChange: { name: "Mine" },
    read: getServiceAccount,
    both: { name: "Mine", description: "Theirs" },
    same: {
      otherChange: changeServiceAccount({ name: "Theirs" }),
      ownChange: { name: "Wiki" },
      before: { name: "Theirs" },
      after: { name: "Wiki", description: "Theirs" },
    },
  },
  {
    form: "user/contact.tsx 1",
    path: "/ui/console/users/$userId",
    open: pressButton("Edit: Contact"),
    otherChange: setEmail("theirs@example.com"),
    ownChange: { phone: "+41791234567" },
    read: getUser,
    both: { email: "theirs@example.com", phone: "+41791234567" },
    same: {
      otherChange: setEmail("theirs-again@example.com"),
      ownChange: { email: "mine@example.com" },
      before: { email: "theirs-again@example.com" },
      after: { email: "mine@example.com", phone: "+41791234567" },
    },
  },
  {
    form: "list/metadata.tsx 1",
    path: "/ui/console/users/$userId",
    open: pressButton("Edit: color"),
    read: entry,
    same: {
      otherChange: ({ get, resources: { userId } }) =>
        get("SetUserMetadata", { userId, metadata: [{ key: "color", value: btoa("green") }] }),
      ownChange: { value: "blue" },
      before: { value: "green" },
      after: { value: "blue" },
    },
  },
]

const target = { read: ["GetTarget", "target"], update: "UpdateTarget" } as const

const changeTarget =
  (change: object) =>
  ({ get, resources: { targetId: id } }: FormContext) =>
    get("UpdateTarget", { id, ...change })

const listCalledTargets = async ({ get }: FormContext) =>
  (await get("ListExecutions")).executions[0].targets as readonly string[]

const call =
  (...names: readonly string[]) =>
  ({ get, resources: things }: FormContext) =>
    get("SetExecution", {
      condition: { event: { event: "group.added" } },
      targets: names.map((name) => things[name]),
    })

const flow = async ({ get }: FormContext) => {
  const { triggerActions } = (await get(`${management}/GetFlow`, { type: "2" })).flow
  return triggerActions[0].actions.map(({ name }: { readonly name: string }) => name)
}

const script = ({ get, resources: { scriptId: id } }: FormContext) =>
  get(`${management}/GetAction`, { id }).then(({ action }) => action)

const changeScript = (change: object) => async (context: FormContext) => {
  const { id, name, script: code, timeout, allowedToFail } = await script(context)
  const present = { id, name, script: code, timeout, allowedToFail }
  await context.get(`${management}/UpdateAction`, { ...present, ...change })
}

const extendingForms: readonly FormCase[] = [
  {
    form: "target/target.ts 1",
    path: "/ui/console/targets/$targetId",
    open: pressButton("Edit: Details"),
    otherChange: changeTarget({ endpoint: "https://10.1.2.3/theirs" }),
    ownChange: { timeout: "7" },
    read: ({ get, resources: { targetId: id } }) =>
      readResource({ ...target, of: { id } })({ get, resources: {} }),
    both: { endpoint: "https://10.1.2.3/theirs", timeout: "7s" },
    same: {
      otherChange: changeTarget({ endpoint: "https://10.1.2.3/again" }),
      ownChange: { endpoint: "https://10.1.2.3/mine" },
      before: { endpoint: "https://10.1.2.3/again" },
      after: { endpoint: "https://10.1.2.3/mine", timeout: "7s" },
    },
  },
  {
    form: "target/executions.tsx 1",
    path: "/ui/console/targets",
    open: pressButton(/^Edit: event\/.*group\.added/),
    otherChange: call("targetId", "secondId"),
    ownChange: { targets: choose("Add", "Third") },
    read: async (context) => (await listCalledTargets(context)).map((id) => nameOf(context, id)),
    both: ["targetId", "secondId", "thirdId"],
    same: {
      otherChange: call("secondId", "targetId", "thirdId"),
      ownChange: {
        targets: (form) => form.getByRole("button", { name: "Move up: Third" }).click(),
      },
      before: ["secondId", "targetId", "thirdId"],
      after: ["targetId", "thirdId", "secondId"],
    },
  },
  {
    form: "script/flows.tsx 1",
    path: "/ui/console/scripts",
    open: pressButton("Edit: Tokens: userinfo, introspection and ID tokens"),
    otherChange: ({ get, resources: { scriptId = "", wave = "" } }) =>
      get(`${management}/SetTriggerActions`, {
        flowType: "2",
        triggerType: "4",
        actionIds: [scriptId, wave],
      }),
    ownChange: { actionIds: choose("Add", "nod") },
    read: flow,
    both: ["greet", "wave", "nod"],
  },
  {
    form: "script/script-page.tsx 1",
    path: "/ui/console/scripts/$scriptId",
    open: (page) => page.getByRole("checkbox", { name: "Continue if it fails" }).waitFor(),
    otherChange: changeScript({ timeout: "3s" }),
    ownChange: { allowedToFail: true },
    read: script,
    both: { timeout: "3s", allowedToFail: true },
    same: {
      otherChange: changeScript({ timeout: "4s" }),
      ownChange: { timeout: "5" },
      before: { timeout: "4s" },
      after: { timeout: "5s", allowedToFail: true },
    },
  },
  {
    form: "group/group-form.tsx 1",
    path: "/ui/console/groups/$groupId",
    open: pressButton("Edit: Details"),
    otherChange: ({ get, resources: { groupId: id } }) =>
      get("UpdateGroup", { id, name: "Finance", description: "Theirs" }),
    ownChange: { name: "Mine" },
    read: ({ get, resources: { groupId: id } }) => get("GetGroup", { id }),
    both: { group: { name: "Mine", description: "Theirs" } },
    same: {
      otherChange: ({ get, resources: { groupId: id } }) =>
        get("UpdateGroup", { id, name: "Theirs", description: "Theirs" }),
      ownChange: { name: "Finance" },
      before: { group: { name: "Theirs" } },
      after: { group: { name: "Finance", description: "Theirs" } },
    },
  },
]

const nameOf = ({ resources: things }: FormContext, id: string) =>
  Object.keys(things).find((name) => things[name] === id)

const owner = async ({ get, resources: { ownerId: userId } }: FormContext) => {
  const { username, human } = (await get("GetUserByID", { userId })).user
  return { username, email: human.email.email, phone: human.phone?.phone, ...human.profile }
}

const changeOwner =
  (change: object) =>
  ({ get, resources: { ownerId: userId } }: FormContext) =>
    get("UpdateUser", { userId, ...change })

const passkey = async ({ get, resources: { ownerId: userId } }: FormContext) =>
  (await get("ListPasskeys", { userId })).result[0]

const accountForms: readonly FormCase[] = [
  {
    form: "account/profile-page.tsx 1",
    path: "/ui/account",
    open: pressButton("Edit: Details"),
    otherChange: changeOwner({ human: { profile: { givenName: "Theirs" } } }),
    ownChange: { nickName: "Mine" },
    read: owner,
    both: { givenName: "Theirs", nickName: "Mine" },
    same: {
      otherChange: changeOwner({ human: { profile: { familyName: "Theirs" } } }),
      ownChange: { lastName: "Mine" },
      before: { familyName: "Theirs" },
      after: { familyName: "Mine", givenName: "Theirs" },
    },
  },
  {
    form: "account/profile-page.tsx 2",
    path: "/ui/account",
    open: pressButton("Edit: Login names"),
    read: owner,
    same: {
      otherChange: changeOwner({ username: "theirs" }),
      ownChange: { userName: "mine" },
      before: { username: "theirs" },
      after: { username: "mine" },
    },
  },
  {
    form: "account/contact.tsx 1",
    path: "/ui/account",
    open: pressButton("Add: Phone"),
    read: owner,
    same: {
      otherChange: ({ get, resources: { ownerId: userId } }) =>
        get("SetPhone", { userId, phone: "+41790000005", isVerified: true }),
      ownChange: { value: "+41790000006" },
      before: { phone: "+41790000005" },
      after: {},
    },
  },
]

// A user with a passkey is asked for it from then on, so it comes last.
const passkeyForms: readonly FormCase[] = [
  {
    form: "account/passkeys.tsx 1",
    path: "/ui/account/security",
    open: async (page) => {
      await withPasskeys(page)
      await page.getByRole("button", { name: "Add passkey" }).click()
      await page.getByLabel("Name").fill("My laptop")
      await page.getByRole("button", { name: "Continue" }).click()
      await page.getByRole("button", { name: "Rename: My laptop" }).click()
    },
    read: passkey,
    same: {
      otherChange: async (context) => {
        const { id: passkeyId } = await passkey(context)
        const { ownerId: userId } = context.resources
        await context.get("RenamePasskey", { userId, passkeyId, name: "Theirs" })
      },
      ownChange: { name: "Mine" },
      before: { name: "Theirs" },
      after: { name: "Mine" },
    },
  },
]

const renameCase = (
  path: string,
  one: Pick<FormCase, "variant" | "read"> & {
    readonly to: (name: string) => (context: FormContext) => Promise<unknown>
  },
): FormCase => ({
  form: "form/rename.tsx 1",
  variant: one.variant ?? "",
  path,
  read: one.read,
  open: pressButton("Rename"),
  same: {
    otherChange: one.to("Theirs"),
    ownChange: { name: "Mine" },
    before: { name: "Theirs" },
    after: { name: "Mine" },
  },
})

const renameForms: readonly FormCase[] = [
  renameCase("/ui/console/projects/$projectId", {
    variant: "a project",
    read: async ({ get, resources: { projectId } }) =>
      (await get("GetProject", { projectId })).project,
    to:
      (name) =>
      ({ get, resources: { projectId } }) =>
        get("UpdateProject", { projectId, name }),
  }),
  renameCase("/ui/console/applications/$applicationId", {
    variant: "an application",
    read: async ({ get, resources: { applicationId } }) =>
      (await get("GetApplication", { applicationId })).application,
    to:
      (name) =>
      ({ get, resources: { applicationId, projectId } }) =>
        get("UpdateApplication", { applicationId, projectId, name }),
  }),
  renameCase("/ui/console/organizations/$organizationId", {
    variant: "an organization",
    read: async ({ get, resources: { organizationId } }) => {
      const { result } = await get("ListOrganizations")
      return result.find(({ id }: { readonly id: string }) => id === organizationId)
    },
    to:
      (name) =>
      ({ get, resources: { organizationId } }) =>
        get("UpdateOrganization", { organizationId, name }),
  }),
]

export const resourceForms: readonly FormCase[] = [
  ...projectForms,
  ...userForms,
  ...extendingForms,
  ...accountForms,
  ...renameForms,
  ...passkeyForms,
]

/** Creates what the cases need in addition to the console resources. */
export async function createMoreResources({
  get,
  resources: things,
}: FormContext): Promise<FormContext["resources"]> {
  const { projectId, userId } = things
  for (const roleKey of ["viewer", "writer"])
    await get("AddProjectRole", { projectId, roleKey, displayName: roleKey })
  const { result } = await get("ListOrganizations")
  const bakery = result.find(({ name }: { readonly name: string }) => name === "Bakery")
  const grantedOrganizationId = bakery.id
  await get("CreateProjectGrant", { projectId, grantedOrganizationId, roleKeys: ["editor"] })
  const redirectUris = ["https://tool.example.com/.latchkey/callback"]
  const proxied = { projectId, name: "Tool", oidcConfiguration: { redirectUris } }
  const api = { projectId, name: "Orders", apiConfiguration: {} }
  const { applicationId: proxiedId } = await get("CreateApplication", proxied)
  const { applicationId: apiId } = await get("CreateApplication", api)
  const metadataXml = btoa(createSynapseMetadata("https://chat.example.com"))
  const chat = { projectId, name: "Chat", samlConfiguration: { metadataXml } }
  const { applicationId: samlId } = await get("CreateApplication", chat)
  const metadata = [{ key: "color", value: btoa("red") }]
  await get("SetUserMetadata", { userId, metadata })
  const made = async (name: string) => {
    const wanted = { name, endpoint: "https://10.1.2.3/hook", timeout: "5s", restWebhook: {} }
    return (await get("CreateTarget", wanted)).id as string
  }
  const action = async (name: string) => {
    const code = `function ${name}() {}`
    return (await get(`${management}/CreateAction`, { name, script: code })).id as string
  }
  const permissions = ["project.read"]
  const level = "ROLE_LEVEL_ORGANIZATION"
  await get("CreateRole", { key: "HELPER", displayName: "HELPER", level, permissions })
  const { id: smtpId } = await get(`${admin}/AddEmailProviderSMTP`, {
    senderAddress: "accounts@example.com",
    senderName: "Accounts",
    description: "Relay",
    host: "mail.example.com:587",
    tls: true,
    none: {},
  })
  const { id: smsId } = await get(`${admin}/AddSMSProviderTwilio`, {
    sid: "AC1",
    token: "s3cret",
    senderNumber: "+41790000001",
    description: "Texts",
  })
  await get(`${management}/AddCustomPasswordAgePolicy`, { maxAgeDays: 365, expireWarnDays: 5 })
  const { result: users } = await get("ListUsers")
  type Row = { readonly userId: string; readonly human?: object; readonly username: string }
  const own = users.find((each: Row) => each.human && each.userId !== userId)
  return {
    ...things,
    ownerId: own.userId,
    proxiedId,
    apiId,
    samlId,
    smtpId,
    smsId,
    bakeryId: grantedOrganizationId,
    secondId: await made("Second"),
    thirdId: await made("Third"),
    wave: await action("wave"),
    nod: await action("nod"),
  }
}
