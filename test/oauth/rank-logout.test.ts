// An organization's provider can't vouch for users who outrank its authors: any change that causes
// this ends the affected sessions, and applications are notified as usual.
import { decodeJwt } from "jose"
import { afterEach, beforeEach, expect, test } from "vitest"
import { updateApplication } from "../../src/domain/app/index.ts"
import { updateIdp } from "../../src/domain/idp/commands.ts"
import type { Idp } from "../../src/domain/idp/model.ts"
import { instance } from "../../src/domain/instance/index.ts"
import { createRole, updateRole } from "../../src/domain/member/custom-role-commands.ts"
import { member, memberId } from "../../src/domain/member/index.ts"
import { sessionEndReactor } from "../../src/domain/session/index.ts"
import { deactivateUser, removeUser } from "../../src/domain/user/index.ts"
import { findByLoginName } from "../../src/domain/user-lookup/find-name.ts"
import type { Fault } from "../../src/kernel/fault.ts"
import type { OutboundRequest } from "../../src/kernel/port/outbound.ts"
import { backChannelLogout } from "../../src/oauth/index.ts"
import { type Reactors, runReactors } from "../../src/store/index.ts"
import { callerOf } from "../support/test-environment.ts"
import { openSubjects, type Subject, type Subjects } from "./deletion-subject.ts"

let subjects: Subjects
let subject: Subject
let running: Reactors
let posted: OutboundRequest[]
beforeEach(async () => {
  subjects = await openSubjects()
  const { provider } = subjects
  subject = await subjects.begin("org")
  const backChannelLogoutUri = "https://app.example.com/backchannel"
  const oidc = { backChannelLogoutUri }
  await updateApplication(provider.cx(), subject.client.appId, { oidc })
  posted = []
  const call = (at: string) => provider.cx({ instance: at })
  const outbound = async (request: OutboundRequest) => {
    posted.push(request)
    return { status: 200, body: "" }
  }
  const reactors = [sessionEndReactor(call), backChannelLogout(call, outbound)]
  running = runReactors(provider.store, provider.clock, reactors)
})
afterEach(async () => {
  await running.stop()
  await subjects.provider.close()
})

/** The sessions that the application was notified of. */
async function listNotifiedSessions(): Promise<readonly unknown[]> {
  // The first reactor writes events for the second.
  await running.drain()
  await running.drain()
  const tokens = posted.map(({ body }) => new URLSearchParams(body).get("logout_token") ?? "")
  return tokens.map((token) => decodeJwt(token).sid)
}

const author = () => findByLoginName(subjects.provider.cx(), `${subject.name}-author`) ?? ""

const assignRoles = (
  userId: string,
  roles: readonly string[],
  change: "added" | "changed" = "added",
) =>
  subjects.provider.store.transact(subjects.provider.cx(), (tx) => {
    const { orgId } = subject
    const data = { userId, orgId, roles }
    tx.append(member, memberId("org", orgId, userId), [{ type: `org.member.${change}`, data }])
  })

const promotions: Readonly<Record<string, (promote: () => Promise<unknown>) => Promise<unknown>>> =
  {
    "a role on the instance": () =>
      subjects.provider.store.transact(subjects.provider.cx(), (tx) => {
        const data = { userId: subject.userId, orgId: subject.orgId, roles: ["IAM_OWNER"] }
        tx.append(instance, tx.instance, [{ type: "instance.member.added", data }])
      }),
    "an author who loses the role": async (promote) => {
      await promote()
      await subjects.provider.store.transact(subjects.provider.cx(), (tx) => {
        const id = memberId("org", subject.orgId, author())
        tx.append(member, id, [{ type: "org.member.removed", data: { userId: author() } }])
      })
    },
    "an author who is deactivated": async (promote) => {
      await promote()
      await deactivateUser(subjects.provider.cx(), author())
    },
    "an author who is removed": async (promote) => {
      await promote()
      await removeUser(subjects.provider.cx(), author())
    },
    "a role that permits more": async () => {
      const cx = subjects.provider.cx()
      const role = (key: string, permissions: readonly string[]) =>
        createRole(cx, { key, displayName: key, level: "org", permissions })
      await role("AUTHOR", ["org.read", "org.idp.read"])
      await role("HELPER", ["org.read"])
      await assignRoles(author(), ["AUTHOR"], "changed")
      await assignRoles(subject.userId, ["HELPER"])
      expect(await listNotifiedSessions()).toEqual([])
      const change = (confirmed: readonly string[] = []) =>
        updateRole(cx, { key: "HELPER", permissions: ["org.read", "org.write"], confirmed })
      const { preconditions = [] }: Fault = await change().catch((cause) => cause)
      await change(preconditions.map(({ subject: link }) => link))
    },
    "a provider that somebody below saves": async (promote) => {
      await promote()
      const userId = await subjects.provider.addPerson("narrow", subject.orgId)
      await assignRoles(userId, ["ORG_OWNER_VIEWER"])
      const cx = subjects.provider.cx({ caller: callerOf(userId, subject.orgId) })
      const say = (before: Idp) => ({ ...before, name: "Renamed" })
      await updateIdp(cx, subject.orgId, subject.idpId, { kind: "oidc", say })
    },
  }

test.each(Object.entries(promotions))(
  "ends the provider's sessions, and notifies: %s",
  async (_, end) => {
    expect(await listNotifiedSessions()).toEqual([])
    await end(async () => {
      await assignRoles(subject.userId, ["ORG_OWNER"])
      expect(await listNotifiedSessions()).toEqual([])
    })
    expect(await listNotifiedSessions()).toEqual([subject.sessionId])
  },
)
