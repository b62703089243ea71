// Each cell of docs/reference/deletion.tsv: what still works after a resource is deactivated,
// locked or deleted.

import { readFileSync } from "node:fs"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { formatDeletionPage, parseDeletionTable } from "../../scripts/deletion.ts"
import {
  createApplication,
  reactivateApplication,
  removeProjectWithApps,
} from "../../src/domain/app/commands.ts"
import * as app from "../../src/domain/app/index.ts"
import { listRolesByOrg } from "../../src/domain/authorization/index.ts"
import { connectedApps, grant } from "../../src/domain/grant/index.ts"
import { linkIdp, removeIdp, unlinkIdp } from "../../src/domain/idp/commands.ts"
import * as instance from "../../src/domain/instance/index.ts"
import { addMember, listMemberships } from "../../src/domain/member/index.ts"
import { activateOrganization, createOrganization } from "../../src/domain/org/commands.ts"
import {
  deactivateOrganizationChecked,
  removeOrganizationCascade,
} from "../../src/domain/org-cascade/index.ts"
import * as project from "../../src/domain/project/index.ts"
import { endSession } from "../../src/domain/session/index.ts"
import { reactivateUser, unlockUser } from "../../src/domain/user/commands.ts"
import { createUser } from "../../src/domain/user/create.ts"
import { deactivateUser, lockUser, removeUser } from "../../src/domain/user/index.ts"
import { linksOf, user as userUser } from "../../src/domain/user-model/index.ts"
import type { Fault } from "../../src/kernel/fault.ts"
import { sealRefreshToken } from "../../src/oauth/token/refresh.ts"
import { type Kind, resourceChecks } from "./deletion-checks.ts"
import {
  appIdsOf,
  claimsOf,
  codeIn,
  openSubjects,
  type Subject,
  type Subjects,
} from "./deletion-subject.ts"
import { authorizePath, browserOf, redirectUri, sendTokenRequest } from "./provider.ts"

type SubjectAction = (subjects: Subjects, subject: Subject) => Promise<unknown>
/** `undo` reverts it, if possible. */
type DeletionAction = {
  readonly kind: Kind
  readonly act: SubjectAction
  readonly undo?: SubjectAction
}

const forEachId =
  (ids: (subject: Subject) => readonly string[], command: typeof lockUser): SubjectAction =>
  async ({ provider }, subject) => {
    for (const id of ids(subject)) await command(provider.cx(), id)
  }
const users = ({ userId, robot }: Subject) => [userId, robot.userId]

/** The actions by the column headings of the table. */
const actions: Readonly<Record<string, DeletionAction>> = {
  "user deactivated": {
    kind: "user",
    act: forEachId(users, deactivateUser),
    undo: forEachId(users, reactivateUser),
  },
  "user locked": {
    kind: "user",
    act: forEachId(users, lockUser),
    undo: forEachId(users, unlockUser),
  },
  "user deleted": { kind: "user", act: forEachId(users, removeUser) },
  "organization deactivated": {
    kind: "organization",
    act: ({ provider }, { orgId }) => deactivateOrganizationChecked(provider.cx(), orgId),
    undo: ({ provider }, { orgId }) => activateOrganization(provider.cx(), orgId),
  },
  "organization deleted": {
    kind: "organization",
    act: ({ provider }, { orgId }) => removeOrganizationCascade(provider.cx(), orgId),
  },
  "project deactivated": {
    kind: "project",
    act: ({ provider }, { projectId }) => project.deactivateProject(provider.cx(), projectId),
    undo: ({ provider }, { projectId }) => project.activateProject(provider.cx(), projectId),
  },
  "project deleted": {
    kind: "project",
    act: ({ provider }, { projectId }) => removeProjectWithApps(provider.cx(), projectId),
  },
  "application deactivated": {
    kind: "application",
    act: forEachId(appIdsOf, app.deactivateApplication),
    undo: forEachId(appIdsOf, reactivateApplication),
  },
  "application deleted": { kind: "application", act: forEachId(appIdsOf, app.removeApplication) },
  "provider deactivated": {
    kind: "provider",
    act: ({ provider }, { idpId }) => unlinkIdp(provider.cx(), undefined, idpId),
    undo: ({ provider }, { idpId }) => linkIdp(provider.cx(), undefined, idpId),
  },
  "provider deleted": {
    kind: "provider",
    act: ({ provider }, { idpId }) => removeIdp(provider.cx(), undefined, idpId),
  },
  "instance deleted": {
    kind: "instance",
    act: async ({ provider }) => {
      await instance.removeInstance(provider.cx(), "i1")
      const keep = { stream: "instance", view: "instance" }
      const stopped = () => false
      await provider.store.purge({ instance: "i1", keep, stopped, isFollowing: false })
    },
  },
}

const tsv = readFileSync("docs/reference/deletion.tsv", "utf8")
const table = parseDeletionTable(tsv)

test("the page is generated from the table: run bun scripts/deletion.ts", () => {
  expect(readFileSync("docs/reference/deletion.md", "utf8")).toBe(formatDeletionPage(tsv))
})

test("the table has each action and each checked resource", () => {
  expect(table.acts).toEqual(Object.keys(actions))
  expect(table.rows.map(({ thing }) => thing)).toEqual(Object.keys(resourceChecks))
})

describe.each(Object.entries(actions))("%s", (name, { kind, act, undo }) => {
  const found = new Map<string, string>()
  let subjects: Subjects
  beforeAll(async () => {
    subjects = await openSubjects()
    const by = kind === "provider" ? "provider" : "password"
    const subject = await subjects.begin(by)
    const control = await subjects.begin(by)
    for (const [thing, works] of Object.entries(resourceChecks))
      expect(await works({ subjects, subject: control, kind }), `${thing} before`).toBe(true)
    await act(subjects, subject)
    for (const [thing, works] of Object.entries(resourceChecks))
      found.set(thing, (await works({ subjects, subject, kind })) ? "works" : "ended")
    if (!undo) return
    await undo(subjects, subject)
    for (const [thing, works] of Object.entries(resourceChecks))
      if (found.get(thing) === "ended" && (await works({ subjects, subject, kind })))
        found.set(thing, "paused")
  })
  afterAll(() => subjects.provider.close())

  test.each(table.rows.map(({ thing }) => thing))("%s", (item) => {
    const outcome = table.outcome(item, name)
    expect(found.get(item), `docs/reference/deletion.tsv: ${item}`).toBe(outcome)
  })
})

describe("deleted and created again", () => {
  let subjects: Subjects
  let subject: Subject
  beforeAll(async () => {
    subjects = await openSubjects()
    subject = await subjects.begin("password")
  })
  afterAll(() => subjects.provider.close())

  test("a reused login name inherits nothing of its previous user", async () => {
    const { provider } = subjects
    const { orgId, projectId, userId, name } = subject
    await removeUser(provider.cx(), userId)
    const heir = await provider.addPerson(name, orgId)
    expect(heir).not.toBe(userId)
    const cx = provider.cx()
    expect(listRolesByOrg(cx, heir, projectId)).toEqual([])
    expect(listMemberships(cx, heir)).toEqual([])
    expect(linksOf(provider.store.state(cx, userUser, heir))).toEqual([])
    for (const thing of ["session", "access_token", "refresh_token", "code", "link", "file"])
      expect(await resourceChecks[thing]?.({ subjects, subject, kind: "user" }), thing).toBe(false)
  })

  test("no ID is reused", async () => {
    const { provider } = subjects
    const { orgId, projectId, userId, client } = subject
    const cx = provider.cx()
    await removeOrganizationCascade(cx, orgId)
    const machine = {
      ...({ kind: "machine", accessTokenType: "bearer" } as const),
      name: "Heir",
      userName: "heir",
    }
    const home = provider.setup.orgId
    const config = { kind: "oidc", oidc: {} } as const
    const input = { name: "Heir", projectId: provider.projectId, config }
    const again = [
      createUser(cx, userId, { ...machine, orgId: home }),
      createOrganization(cx, orgId, { name: "Heir" }),
      project.createProject(cx, projectId, { orgId: home, name: "Heir" }),
      createApplication(cx, client.appId, input),
    ]
    for (const created of again)
      await expect(created).rejects.toMatchObject({ code: "already_exists" })
  })
})

describe("the notes below the tables", () => {
  let subjects: Subjects
  beforeAll(async () => {
    subjects = await openSubjects()
  })
  afterAll(() => subjects.provider.close())

  const works = async (subject: Subject, name: string) =>
    resourceChecks[name]?.({ subjects, subject, kind: "provider" })

  const promote = async ({ store, cx }: Subjects["provider"], userId: string) => {
    const onInstance = { target: { level: "instance" }, roles: ["IAM_OWNER"], userId } as const
    const give = (confirmed: readonly string[] = []) =>
      store.transact(cx(), (tx) => addMember(tx, { ...onInstance, confirmed }))
    const refused: Fault = await give().then(
      () => Promise.reject(new Error("nothing had to be confirmed")),
      (cause) => cause,
    )
    await give((refused.preconditions ?? []).map(({ subject }) => subject))
    expect(listMemberships(cx(), userId).map(({ roles }) => roles)).toEqual([["IAM_OWNER"]])
  }

  test("a deleted provider ends nothing of users who signed in with a password", async () => {
    const subject = await subjects.begin("password")
    await removeIdp(subjects.provider.cx(), undefined, subject.idpId)
    for (const thing of ["session", "access_token", "refresh_token", "code"])
      expect(await works(subject, thing), thing).toBe(true)
  })

  test("a deleted provider ends refresh tokens that outlive their session", async () => {
    const { provider } = subjects
    const subject = await subjects.begin("provider")
    const other = await subjects.begin("provider")
    for (const { sessionId } of [subject, other])
      await provider.store.transact(provider.cx(), (tx) => endSession(tx, sessionId))
    await removeIdp(provider.cx(), undefined, subject.idpId)
    expect(await works(other, "refresh_token")).toBe(true)
    expect(await works(subject, "refresh_token")).toBe(false)
    expect(connectedApps(provider.cx(), subject.userId)).toEqual([])
  })

  test.each([
    ["that earlier versions stored without the provider", false],
    ["whose session is no longer stored", true],
  ])("and those of grants %s", async (_, isSessionGone) => {
    const { provider } = subjects
    const subject = await subjects.begin("provider")
    const cx = provider.cx()
    const [grantId = ""] = String(claimsOf(subject.accessTokens[0] ?? "").jti).split("-")
    const given = provider.store.state(cx, grant, grantId)
    if (given.status === "absent" || !given.offline) throw new Error("grant not found")
    const { clientId, appId, userId, scopes, audience } = given
    const { passwordVersion, voucher } = given.offline
    expect(voucher).toEqual({ idpId: subject.idpId, idpOrg: "" })
    const sessionId = isSessionGone ? "gone" : given.sessionId
    const stored = { passwordVersion, ...(isSessionGone && voucher && { voucher }) }
    const earlier = cx.ids.next()
    const lifetimes = { lifetimeSeconds: 3600, idleLifetimeSeconds: 3600 }
    await provider.store.transact(cx, (tx) => {
      tx.begin(grant, earlier)
      tx.append(grant, earlier, [
        {
          type: "oidc_session.added",
          data: { clientId, appId, userId, sessionId, scopes, audience },
        },
        { type: "oidc_session.refresh_token.added", data: { ...stored, ...lifetimes } },
      ])
    })
    const token = (generation: number) => ({
      ...subject,
      refreshToken: sealRefreshToken(cx, { grantId: earlier, generation }),
    })
    expect(await works(token(1), "refresh_token")).toBe(true)
    await removeIdp(cx, undefined, subject.idpId)
    expect(await works(token(2), "refresh_token")).toBe(false)
  })

  test("a role that outranks the provider ends the sessions it started", async () => {
    const { provider } = subjects
    const [subject, other] = [await subjects.begin("org"), await subjects.begin("org")]
    const ended = await subjects.begin("org")
    for (const { userId } of [subject, ended]) {
      expect(listMemberships(provider.cx(), userId)).toEqual([])
    }
    const kept = ["session", "access_token", "refresh_token", "code"]
    await provider.store.transact(provider.cx(), (tx) => endSession(tx, ended.sessionId))
    expect(await works(ended, "refresh_token")).toBe(true)
    for (const { userId } of [subject, ended]) await promote(provider, userId)
    for (const thing of kept) expect(await works(subject, thing), thing).toBe(false)
    expect(await works(ended, "refresh_token")).toBe(false)
    expect(connectedApps(provider.cx(), subject.userId)).toEqual([])
    for (const thing of kept) expect(await works(other, thing), thing).toBe(true)
  })

  test("a new application with a previous client ID accepts none of its tokens", async () => {
    const { provider } = subjects
    const subject = await subjects.begin("password")
    const { client, projectId } = subject
    await app.removeApplication(provider.cx(), client.appId)
    const heir = { appId: provider.cx().ids.next(), id: client.id, secret: "" }
    const fresh = app.newSecret(provider.cx(), heir.appId)
    const redirectUris = [redirectUri]
    const grantTypes = ["authorization_code", "refresh_token"] as const
    const config = { kind: "oidc", oidc: { redirectUris, grantTypes } } as const
    const input = { projectId, name: "Heir", clientId: client.id, config, secret: fresh }
    await provider.store.transact(provider.cx(), (tx) => app.addApplication(tx, heir.appId, input))
    const now = { ...subject, client: { ...heir, secret: fresh.plain } }
    expect(await works(now, "sign_in")).toBe(true)
    expect(await works(now, "refresh_token")).toBe(false)
    expect(await works(now, "code")).toBe(false)
    const [ofClient = ""] = subject.accessTokens
    expect(await works({ ...now, accessTokens: [ofClient] }, "access_token")).toBe(false)
  })

  test("a refresh token issues no tokens for a deactivated API", async () => {
    const { provider } = subjects
    const { client, projectId, name } = await subjects.begin("password")
    const [apiId, resource] = [provider.cx().ids.next(), "https://api.example.com/orders"]
    const config = { kind: "api", api: { authMethod: "basic", resources: [resource] } } as const
    await createApplication(provider.cx(), apiId, { projectId, name: "Orders", config })
    const path = authorizePath(client.id, { scope: "openid offline_access", resource })
    let { answer } = await subjects.redeem(
      client,
      codeIn(await browserOf(provider).signIn(path, name)),
    )
    const audience = async () => {
      const fields = { grant_type: "refresh_token", refresh_token: String(answer.refresh_token) }
      const renewed = await sendTokenRequest(provider, fields, `${client.id}:${client.secret}`)
      answer = renewed.answer
      return claimsOf(String(answer.access_token)).aud
    }
    expect(await audience()).toContain(resource)
    await app.deactivateApplication(provider.cx(), apiId)
    expect(await audience()).not.toContain(resource)
    await reactivateApplication(provider.cx(), apiId)
    expect(await audience()).toContain(resource)
  })

  test("a deactivated project adds no roles to tokens for other projects", async () => {
    const { provider } = subjects
    const subject = await subjects.begin("password")
    const { orgId, projectId } = subject
    const beside = provider.cx().ids.next()
    await project.createProject(provider.cx(), beside, { orgId, name: "Beside" })
    const client = await provider.addClient({}, beside)
    const scope = [
      "openid",
      "urn:core:iam:org:projects:roles",
      `urn:core:iam:org:project:id:${projectId}:aud`,
    ].join(" ")
    const end = await browserOf(provider).signIn(authorizePath(client.id, { scope }), subject.name)
    const { answer } = await subjects.redeem(client, codeIn(end))
    const rolesNow = async () => {
      const headers = { authorization: `Bearer ${answer.access_token}` }
      const claims = await (await provider.send("/oidc/v1/userinfo", { headers })).json()
      return Object.keys(claims[`urn:core:iam:org:project:${projectId}:roles`] ?? {})
    }
    expect(await rolesNow()).toEqual(["editor"])
    await project.deactivateProject(provider.cx(), projectId)
    expect(await rolesNow()).toEqual([])
    await project.activateProject(provider.cx(), projectId)
    expect(await rolesNow()).toEqual(["editor"])
  })
})
