// What groups cost: `bun scripts/bench/groups.ts [USERS] [GROUPS]`. One organization with so many
// users (default 100,000) in so many groups (default 1,000), of which every tenth has a role on a
// project, and one service user who is in all of them. Compares tokens of service users before and
// after, and measures how long the event loop is kept while 10,000 memberships change. One process
// and a temporary folder; both halves of each comparison are from the same run.
import { decodeJwt } from "jose"
import { addGroupAuthorization, listRolesByOrg } from "../../src/domain/authorization/index.ts"
import {
  addToGroup,
  addUserToGroup,
  createGroup,
  deleteGroup,
  removeFromGroup,
} from "../../src/domain/group/index.ts"
import { addRoles, createProject } from "../../src/domain/project/index.ts"
import { addUser } from "../../src/domain/user/index.ts"
import type { Transaction } from "../../src/store/index.ts"
import { addServiceAccount } from "../../test/oauth/clients.ts"
import { openProvider } from "../../test/oauth/provider.ts"
import { measure } from "./figure.ts"

const [users = 100_000, groups = 1000] = process.argv.slice(2).map(Number)
const seconds = 5
const robotCount = 100
const moved = Math.min(users, 10_000)

type Robot = Awaited<ReturnType<typeof addServiceAccount>>

const provider = await openProvider()
const cx = provider.cx()
const { orgId } = provider.setup
const projectId = "wiki"
await createProject(cx, projectId, { orgId, name: "Wiki", projectRoleAssertion: true })
await addRoles(cx, projectId, [{ key: "editor", displayName: "Editor" }])
const robots: Robot[] = []
for (let count = 0; count < robotCount; count++)
  robots.push(await addServiceAccount(provider, "jwt"))
const inAll = await addServiceAccount(provider, "jwt")
await inSteps(users, (tx, at) => {
  const machine = { kind: "machine", name: "Robot", accessTokenType: "bearer" } as const
  addUser(tx, `u${at}`, { ...machine, orgId, userName: `u${at}` })
})

let next = 0
const issueAny = () => issue(robots[next++ % robotCount] ?? inAll)
await measure(1, 1, issueAny)
const before = await measure(1, seconds, issueAny)
row("token without groups", before.p50)

for (let at = 0; at < groups; at++) {
  await createGroup(cx, `g${at}`, { orgId, name: `Group ${at}`, description: "" })
}
await inSteps(users, (tx, at) => addUserToGroup(tx, `g${at % groups}`, `u${at}`))
await inSteps(groups, (tx, at) => addUserToGroup(tx, `g${at}`, inAll.userId))
await inSteps(robotCount, (tx, at) => {
  addUserToGroup(tx, `g${(at * 10) % groups}`, robots[at]?.userId ?? "")
})
await inSteps(groups / 10, (tx, at) => {
  const given = { groupId: `g${at * 10}`, projectId, orgId, roleKeys: ["editor"] }
  addGroupAuthorization(tx, `a${at}`, given)
})
for (const { userId } of [inAll, ...robots]) {
  if (listRolesByOrg(cx, userId, projectId).length !== 1) throw new Error("a group gives no role")
}
if (!JSON.stringify(decodeJwt(await issue(inAll))).includes("editor")) throw new Error("no claim")

compare("token of a user in one group with a role", await measure(1, seconds, issueAny))
compare("token of a user in all groups", await measure(1, seconds, () => issue(inAll)))
row("roles of a user in all groups, right after a change", await afterChange(inAll.userId))
row(
  "roles of a user in one group, right after a change",
  await afterChange(robots[0]?.userId ?? ""),
)

await createGroup(cx, "large", { orgId, name: "Large", description: "" })
const add = (userIds: string[]) => addToGroup(cx, "large", { userIds, confirmed: [] })
const remove = (userIds: string[]) => removeFromGroup(cx, "large", userIds)
row(`longest wait while ${moved} users are added`, await longestWait(() => inCalls(add)))
row(`longest wait while ${moved} users are removed`, await longestWait(() => inCalls(remove)))
await inCalls(add)
const deleting = () => deleteGroup(cx, "large")
row(`longest wait while a group of ${moved} users is deleted`, await longestWait(deleting))
await provider.close()

async function issue({ id, secret }: Robot): Promise<string> {
  const audience = `urn:core:iam:org:project:id:${projectId}:aud`
  const scope = `openid ${audience} urn:core:iam:org:projects:roles`
  const body = new URLSearchParams({
    grant_type: "client_credentials",
    client_id: id,
    client_secret: secret,
    scope,
  })
  const answer = await provider.send("/oauth/v2/token", { method: "POST", body })
  if (answer.status !== 200) throw new Error(`no token: ${await answer.text()}`)
  return String(Object(await answer.json()).access_token)
}

/** The median of reading a user's roles when a membership has just changed, in ms. */
async function afterChange(userId: string): Promise<number> {
  const times: number[] = []
  for (let turn = 0; turn < 100; turn++) {
    const change = { groupId: "g1", userIds: ["u0"] }
    if (turn % 2 === 0) await addToGroup(cx, change.groupId, { ...change, confirmed: [] })
    else await removeFromGroup(cx, change.groupId, change.userIds)
    const started = performance.now()
    listRolesByOrg(cx, userId, projectId)
    times.push(performance.now() - started)
  }
  return times.toSorted((a, b) => a - b)[times.length / 2] ?? 0
}

async function inSteps(count: number, act: (tx: Transaction, at: number) => void) {
  const size = 500
  for (let from = 0; from < count; from += size) {
    const end = Math.min(count, from + size)
    await provider.store.transact(cx, (tx) => {
      for (let at = from; at < end; at++) act(tx, at)
    })
  }
}

/** As many users at a time as one call takes. */
async function inCalls(act: (userIds: string[]) => Promise<unknown>): Promise<void> {
  for (let from = 0; from < moved; from += 100) {
    await act(Array.from({ length: 100 }, (_, at) => `u${from + at}`))
  }
}

/**
 * How long the event loop was kept at most while something was done, in ms of computing: on a busy
 * machine the process also waits for others.
 */
async function longestWait(act: () => Promise<unknown>): Promise<number> {
  let [last, longest] = [process.cpuUsage(), 0]
  const look = () => {
    const { user, system } = process.cpuUsage(last)
    longest = Math.max(longest, (user + system) / 1000)
    last = process.cpuUsage()
  }
  const timer = setInterval(look, 1)
  await act()
  look()
  clearInterval(timer)
  return longest
}

function row(name: string, ms: number, ratio = ""): void {
  console.log(`${name.padEnd(60)}${ms.toFixed(3).padStart(9)} ms ${ratio}`)
}

function compare(name: string, { p50 }: { readonly p50: number }): void {
  row(name, p50, `(${((p50 / before.p50 - 1) * 100).toFixed(0)} % more)`)
}
