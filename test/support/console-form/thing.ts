import { withPasskeys } from "../browser.ts"
import { synapseMetadata } from "../saml-metadata.ts"
import { type Beside, choosing, type FormCase, picking, pressing, reading } from "./case.ts"

const admin = "core.admin.v1.AdminService"
const management = "core.management.v1.ManagementService"

const role = async ({ get, things: { projectId } }: Beside) => {
  const { projectRoles } = await get("ListProjectRoles", { projectId })
  return projectRoles.find((each: { readonly key: string }) => each.key === "editor")
}

const grant = async ({ get, things: { projectId } }: Beside) => {
  const filters = [{ inProjectIdsFilter: { ids: [projectId] } }]
  return (await get("ListProjectGrants", { filters })).projectGrants[0].grantedRoleKeys.toSorted()
}

const authorization = async ({ get, things: { projectId } }: Beside) => {
  const filters = [{ projectId: { id: projectId } }]
  return (await get("ListAuthorizations", { filters })).authorizations[0]
}

const rolesGiven = async (beside: Beside) => {
  const { roles } = await authorization(beside)
  return roles.map(({ key }: { readonly key: string }) => key).toSorted()
}

const everyRole = ["editor", "viewer", "writer"]

const projectForms: readonly FormCase[] = [
  {
    form: "project/roles.tsx 1",
    path: "/ui/console/projects/$projectId",
    open: pressing("Edit: editor"),
    theirs: ({ get, things: { projectId } }) =>
      get("UpdateProjectRole", { projectId, roleKey: "editor", displayName: "Theirs" }),
    mine: { group: "Mine" },
    read: role,
    both: { displayName: "Theirs", group: "Mine" },
    same: {
      theirs: ({ get, things: { projectId } }) =>
        get("UpdateProjectRole", { projectId, roleKey: "editor", displayName: "Theirs again" }),
      mine: { displayName: "Mine" },
      before: { displayName: "Theirs again" },
      after: { displayName: "Mine", group: "Mine" },
    },
  },
  {
    form: "project/grants.tsx 1",
    path: "/ui/console/projects/$projectId",
    open: pressing("Edit: Bakery"),
    theirs: ({ get, things: { projectId, bakeryId: grantedOrganizationId } }) =>
      get("UpdateProjectGrant", {
        projectId,
        grantedOrganizationId,
        roleKeys: ["editor", "viewer"],
      }),
    mine: { roles: picking("writer") },
    read: grant,
    both: everyRole,
  },
  {
    form: "project/authorizations.tsx 1",
    path: "/ui/console/projects/$projectId",
    open: pressing("Edit: grace Person"),
    theirs: async (beside) => {
      const { id } = await authorization(beside)
      await beside.get("UpdateAuthorization", { id, roleKeys: ["editor", "viewer"] })
    },
    mine: { roles: picking("writer") },
    read: rolesGiven,
    both: everyRole,
  },
]

const person = async ({ get, things: { userId } }: Beside) => {
  const { username, human } = (await get("GetUserByID", { userId })).user
  const { email, phone, profile } = human
  return { username, email: email.email, phone: phone?.phone, ...profile }
}

const changePerson =
  (profile: object) =>
  ({ get, things: { userId } }: Beside) =>
    get("UpdateUser", { userId, human: { profile } })

const robot = async ({ get, things: { robotId: userId } }: Beside) =>
  (await get("GetUserByID", { userId })).user.machine

const changeRobot =
  (machine: object) =>
  ({ get, things: { robotId: userId } }: Beside) =>
    get("UpdateUser", { userId, machine })

const setEmail =
  (email: string) =>
  ({ get, things: { userId } }: Beside) =>
    get("SetEmail", { userId, email, isVerified: true })

const entry = async ({ get, things: { userId } }: Beside) => {
  const [{ key, value }] = (await get("ListUserMetadata", { userId })).metadata
  return { key, value: atob(value) }
}

const userForms: readonly FormCase[] = [
  {
    form: "user/about.tsx 1",
    path: "/ui/console/users/$userId",
    open: pressing("Edit: Details"),
    theirs: changePerson({ givenName: "Theirs" }),
    mine: { familyName: "Mine" },
    read: person,
    both: { givenName: "Theirs", familyName: "Mine" },
    same: {
      theirs: changePerson({ givenName: "Grace" }),
      mine: { givenName: "Mine" },
      before: { givenName: "Grace" },
      after: { givenName: "Mine" },
    },
  },
  {
    form: "user/about.tsx 2",
    path: "/ui/console/users/$robotId",
    open: pressing("Edit: Details"),
    theirs: changeRobot({ description: "Theirs" }),
    mine: { name: "Mine" },
    read: robot,
    both: { name: "Mine", description: "Theirs" },
    same: {
      theirs: changeRobot({ name: "Theirs" }),
      mine: { name: "Wiki" },
      before: { name: "Theirs" },
      after: { name: "Wiki", description: "Theirs" },
    },
  },
  {
    form: "user/contact.tsx 1",
    path: "/ui/console/users/$userId",
    open: pressing("Edit: Contact"),
    theirs: setEmail("theirs@example.com"),
    mine: { phone: "+41791234567" },
    read: person,
    both: { email: "theirs@example.com", phone: "+41791234567" },
    same: {
      theirs: setEmail("theirs-again@example.com"),
      mine: { email: "mine@example.com" },
      before: { email: "theirs-again@example.com" },
      after: { email: "mine@example.com", phone: "+41791234567" },
    },
  },
  {
    form: "list/metadata.tsx 1",
    path: "/ui/console/users/$userId",
    open: pressing("Edit: color"),
    read: entry,
    same: {
      theirs: ({ get, things: { userId } }) =>
        get("SetUserMetadata", { userId, metadata: [{ key: "color", value: btoa("green") }] }),
      mine: { value: "blue" },
      before: { value: "green" },
      after: { value: "blue" },
    },
  },
]

const target = { read: ["GetTarget", "target"], update: "UpdateTarget" } as const

const changeTarget =
  (change: object) =>
  ({ get, things: { targetId: id } }: Beside) =>
    get("UpdateTarget", { id, ...change })

const called = async ({ get }: Beside) =>
  (await get("ListExecutions")).executions[0].targets as readonly string[]

const call =
  (...names: readonly string[]) =>
  ({ get, things }: Beside) =>
    get("SetExecution", {
      condition: { event: { event: "group.added" } },
      targets: names.map((name) => things[name]),
    })

const flow = async ({ get }: Beside) => {
  const { triggerActions } = (await get(`${management}/GetFlow`, { type: "2" })).flow
  return triggerActions[0].actions.map(({ name }: { readonly name: string }) => name)
}

const script = ({ get, things: { scriptId: id } }: Beside) =>
  get(`${management}/GetAction`, { id }).then(({ action }) => action)

const changeScript = (change: object) => async (beside: Beside) => {
  const { id, name, script: code, timeout, allowedToFail } = await script(beside)
  const present = { id, name, script: code, timeout, allowedToFail }
  await beside.get(`${management}/UpdateAction`, { ...present, ...change })
}

const extendingForms: readonly FormCase[] = [
  {
    form: "target/target.ts 1",
    path: "/ui/console/targets/$targetId",
    open: pressing("Edit: Details"),
    theirs: changeTarget({ endpoint: "https://10.1.2.3/theirs" }),
    mine: { timeout: "7" },
    read: ({ get, things: { targetId: id } }) =>
      reading({ ...target, of: { id } })({ get, things: {} }),
    both: { endpoint: "https://10.1.2.3/theirs", timeout: "7s" },
    same: {
      theirs: changeTarget({ endpoint: "https://10.1.2.3/again" }),
      mine: { endpoint: "https://10.1.2.3/mine" },
      before: { endpoint: "https://10.1.2.3/again" },
      after: { endpoint: "https://10.1.2.3/mine", timeout: "7s" },
    },
  },
  {
    form: "target/executions.tsx 1",
    path: "/ui/console/targets",
    open: pressing(/^Edit: event\/.*group\.added/),
    theirs: call("targetId", "secondId"),
    mine: { targets: choosing("Add", "Third") },
    read: async (beside) => (await called(beside)).map((id) => nameOf(beside, id)),
    both: ["targetId", "secondId", "thirdId"],
    same: {
      theirs: call("secondId", "targetId", "thirdId"),
      mine: { targets: (form) => form.getByRole("button", { name: "Move up: Third" }).click() },
      before: ["secondId", "targetId", "thirdId"],
      after: ["targetId", "thirdId", "secondId"],
    },
  },
  {
    form: "script/flows.tsx 1",
    path: "/ui/console/scripts",
    open: pressing("Edit: Tokens: userinfo, introspection and ID tokens"),
    theirs: ({ get, things: { scriptId = "", wave = "" } }) =>
      get(`${management}/SetTriggerActions`, {
        flowType: "2",
        triggerType: "4",
        actionIds: [scriptId, wave],
      }),
    mine: { actionIds: choosing("Add", "nod") },
    read: flow,
    both: ["greet", "wave", "nod"],
  },
  {
    form: "script/script-page.tsx 1",
    path: "/ui/console/scripts/$scriptId",
    open: (page) => page.getByRole("checkbox", { name: "Continue if it fails" }).waitFor(),
    theirs: changeScript({ timeout: "3s" }),
    mine: { allowedToFail: true },
    read: script,
    both: { timeout: "3s", allowedToFail: true },
    same: {
      theirs: changeScript({ timeout: "4s" }),
      mine: { timeout: "5" },
      before: { timeout: "4s" },
      after: { timeout: "5s", allowedToFail: true },
    },
  },
  {
    form: "group/group-form.tsx 1",
    path: "/ui/console/groups/$groupId",
    open: pressing("Edit: Details"),
    theirs: ({ get, things: { groupId: id } }) =>
      get("UpdateGroup", { id, name: "Finance", description: "Theirs" }),
    mine: { name: "Mine" },
    read: ({ get, things: { groupId: id } }) => get("GetGroup", { id }),
    both: { group: { name: "Mine", description: "Theirs" } },
    same: {
      theirs: ({ get, things: { groupId: id } }) =>
        get("UpdateGroup", { id, name: "Theirs", description: "Theirs" }),
      mine: { name: "Finance" },
      before: { group: { name: "Theirs" } },
      after: { group: { name: "Finance", description: "Theirs" } },
    },
  },
]

const nameOf = ({ things }: Beside, id: string) =>
  Object.keys(things).find((name) => things[name] === id)

const owner = async ({ get, things: { ownerId: userId } }: Beside) => {
  const { username, human } = (await get("GetUserByID", { userId })).user
  return { username, email: human.email.email, phone: human.phone?.phone, ...human.profile }
}

const changeOwner =
  (change: object) =>
  ({ get, things: { ownerId: userId } }: Beside) =>
    get("UpdateUser", { userId, ...change })

const passkey = async ({ get, things: { ownerId: userId } }: Beside) =>
  (await get("ListPasskeys", { userId })).result[0]

const accountForms: readonly FormCase[] = [
  {
    form: "account/profile-page.tsx 1",
    path: "/ui/account",
    open: pressing("Edit: Details"),
    theirs: changeOwner({ human: { profile: { givenName: "Theirs" } } }),
    mine: { nickName: "Mine" },
    read: owner,
    both: { givenName: "Theirs", nickName: "Mine" },
    same: {
      theirs: changeOwner({ human: { profile: { familyName: "Theirs" } } }),
      mine: { lastName: "Mine" },
      before: { familyName: "Theirs" },
      after: { familyName: "Mine", givenName: "Theirs" },
    },
  },
  {
    form: "account/profile-page.tsx 2",
    path: "/ui/account",
    open: pressing("Edit: Login names"),
    read: owner,
    same: {
      theirs: changeOwner({ username: "theirs" }),
      mine: { userName: "mine" },
      before: { username: "theirs" },
      after: { username: "mine" },
    },
  },
  {
    form: "account/contact.tsx 1",
    path: "/ui/account",
    open: pressing("Add: Phone"),
    read: owner,
    same: {
      theirs: ({ get, things: { ownerId: userId } }) =>
        get("SetPhone", { userId, phone: "+41790000005", isVerified: true }),
      mine: { value: "+41790000006" },
      before: { phone: "+41790000005" },
      after: {},
    },
  },
]

// A person who has a passkey is asked for it from then on: it comes last.
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
      theirs: async (beside) => {
        const { id: passkeyId } = await passkey(beside)
        const { ownerId: userId } = beside.things
        await beside.get("RenamePasskey", { userId, passkeyId, name: "Theirs" })
      },
      mine: { name: "Mine" },
      before: { name: "Theirs" },
      after: { name: "Mine" },
    },
  },
]

const renamed = (
  path: string,
  one: Pick<FormCase, "of" | "read"> & {
    readonly to: (name: string) => (beside: Beside) => Promise<unknown>
  },
): FormCase => ({
  form: "form/rename.tsx 1",
  of: one.of ?? "",
  path,
  read: one.read,
  open: pressing("Rename"),
  same: {
    theirs: one.to("Theirs"),
    mine: { name: "Mine" },
    before: { name: "Theirs" },
    after: { name: "Mine" },
  },
})

const renameForms: readonly FormCase[] = [
  renamed("/ui/console/projects/$projectId", {
    of: "a project",
    read: async ({ get, things: { projectId } }) =>
      (await get("GetProject", { projectId })).project,
    to:
      (name) =>
      ({ get, things: { projectId } }) =>
        get("UpdateProject", { projectId, name }),
  }),
  renamed("/ui/console/applications/$applicationId", {
    of: "an application",
    read: async ({ get, things: { applicationId } }) =>
      (await get("GetApplication", { applicationId })).application,
    to:
      (name) =>
      ({ get, things: { applicationId, projectId } }) =>
        get("UpdateApplication", { applicationId, projectId, name }),
  }),
  renamed("/ui/console/organizations/$organizationId", {
    of: "an organisation",
    read: async ({ get, things: { organizationId } }) => {
      const { result } = await get("ListOrganizations")
      return result.find(({ id }: { readonly id: string }) => id === organizationId)
    },
    to:
      (name) =>
      ({ get, things: { organizationId } }) =>
        get("UpdateOrganization", { organizationId, name }),
  }),
]

export const thingForms: readonly FormCase[] = [
  ...projectForms,
  ...userForms,
  ...extendingForms,
  ...accountForms,
  ...renameForms,
  ...passkeyForms,
]

/** Makes what the cases need beside one of everything. */
export async function more({ get, things }: Beside): Promise<Beside["things"]> {
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
  const metadataXml = btoa(synapseMetadata("https://chat.example.com"))
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
