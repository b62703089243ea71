// Measures what groups cost: `bun scripts/bench/groups.ts [USERS] [GROUPS]`. Creates one
// organization with USERS users (default 100,000) in GROUPS groups (default 1,000), of which every
// tenth has a role on a project, and one service account that is in all of them. Compares tokens of
// service accounts before and after, and measures how long the event loop is blocked while 10,000
// memberships change. Uses one process and a temporary directory; both halves of each comparison
// are from the same run.
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
const accountCount = 100
const movedUsers = Math.min(users, 10_000)

type ServiceAccount = Awaited<ReturnType<typeof addServiceAccount>>

const provider = await openProvider()
const cx = provider.cx()
const { orgId } = provider.setup
const projectId = "wiki"
await createProject(cx, projectId, { orgId, name: "Wiki", projectRoleAssertion: true })
await addRoles(cx, projectId, [{ key: "editor", displayName: "Editor" }])
const accounts: ServiceAccount[] = []
for (let count = 0; count < accountCount; count++)
  accounts.push(await addServiceAccount(provider, "jwt"))
const accountInAll = await addServiceAccount(provider, "jwt")
await inBatches(users, (tx, index) => {
  const machine = { kind: "machine", name: "Robot", accessTokenType: "bearer" } as const
  addUser(tx, `u${index}`, { ...machine, orgId, userName: `u${index}` })
})

let next = 0
const issueToNextAccount = () => issue(accounts[next++ % accountCount] ?? accountInAll)
await measure(1, 1, issueToNextAccount)
const before = await measure(1, seconds, issueToNextAccount)
row("token without groups", before.p50)

for (let at = 0; at < groups; at++) {
  await createGroup(cx, `g${at}`, { orgId, name: `Group ${at}`, description: "" })
}
await inBatches(users, (tx, index) => addUserToGroup(tx, `g${index % groups}`, `u${index}`))
await inBatches(groups, (tx, index) => addUserToGroup(tx, `g${index}`, accountInAll.userId))
await inBatches(accountCount, (tx, index) => {
  addUserToGroup(tx, `g${(index * 10) % groups}`, accounts[index]?.userId ?? "")
})
await inBatches(groups / 10, (tx, index) => {
  const given = { groupId: `g${index * 10}`, projectId, orgId, roleKeys: ["editor"] }
  addGroupAuthorization(tx, `a${index}`, given)
})
for (const { userId } of [accountInAll, ...accounts]) {
  if (listRolesByOrg(cx, userId, projectId).length !== 1)
    throw new Error("a user has no role from their group")
}
if (!JSON.stringify(decodeJwt(await issue(accountInAll))).includes("editor"))
  throw new Error("the token has no roles claim")

compare("token of a user in one group with a role", await measure(1, seconds, issueToNextAccount))
compare("token of a user in all groups", await measure(1, seconds, () => issue(accountInAll)))
row("roles of a user in all groups, right after a change", await afterChange(accountInAll.userId))
row(
  "roles of a user in one group, right after a change",
  await afterChange(accounts[0]?.userId ?? ""),
)

await createGroup(cx, "large", { orgId, name: "Large", description: "" })
const add = (userIds: string[]) => addToGroup(cx, "large", { userIds, confirmed: [] })
const remove = (userIds: string[]) => removeFromGroup(cx, "large", userIds)
row(`longest block while ${movedUsers} users are added`, await longestWait(() => inCalls(add)))
row(`longest block while ${movedUsers} users are removed`, await longestWait(() => inCalls(remove)))
await inCalls(add)
const deleting = () => deleteGroup(cx, "large")
row(`longest block while a group of ${movedUsers} users is deleted`, await longestWait(deleting))
await provider.close()

async function issue({ id, secret }: ServiceAccount): Promise<string> {
  const audience = `urn:core:iam:org:project:id:${projectId}:aud`
  const scope = `openid ${audience} urn:core:iam:org:projects:roles`
  const body = new URLSearchParams({
    grant_type: "client_credentials",
    client_id: id,
    client_secret: secret,
    scope,
  })
  const answer = await provider.send("/oauth/v2/token", { method: "POST", body })
  if (answer.status !== 200) throw new Error(`token request failed: ${await answer.text()}`)
  return String(Object(await answer.json()).access_token)
}

/** The median time to read a user's roles right after a membership changed, in ms. */
async function afterChange(userId: string): Promise<number> {
  const times: number[] = []
  for (let round = 0; round < 100; round++) {
    const change = { groupId: "g1", userIds: ["u0"] }
    if (round % 2 === 0) await addToGroup(cx, change.groupId, { ...change, confirmed: [] })
    else await removeFromGroup(cx, change.groupId, change.userIds)
    const started = performance.now()
    listRolesByOrg(cx, userId, projectId)
    times.push(performance.now() - started)
  }
  return times.toSorted((a, b) => a - b)[times.length / 2] ?? 0
}

async function inBatches(count: number, run: (tx: Transaction, index: number) => void) {
  const size = 500
  for (let from = 0; from < count; from += size) {
    const end = Math.min(count, from + size)
    await provider.store.transact(cx, (tx) => {
      for (let index = from; index < end; index++) run(tx, index)
    })
  }
}

/** Passes the users in batches of the maximum size of a call. */
async function inCalls(run: (userIds: string[]) => Promise<unknown>): Promise<void> {
  for (let from = 0; from < movedUsers; from += 100) {
    await run(Array.from({ length: 100 }, (_, index) => `u${from + index}`))
  }
}

/**
 * The longest time that the event loop was blocked during a function, in ms of CPU time, because on
 * a busy machine the process also waits for others.
 */
async function longestWait(run: () => Promise<unknown>): Promise<number> {
  let [last, longest] = [process.cpuUsage(), 0]
  const measureWait = () => {
    const { user, system } = process.cpuUsage(last)
    longest = Math.max(longest, (user + system) / 1000)
    last = process.cpuUsage()
  }
  const timer = setInterval(measureWait, 1)
  await run()
  measureWait()
  clearInterval(timer)
  return longest
}

function row(name: string, ms: number, ratio = ""): void {
  console.log(`${name.padEnd(60)}${ms.toFixed(3).padStart(9)} ms ${ratio}`)
}

function compare(name: string, { p50 }: { readonly p50: number }): void {
  row(name, p50, `(${((p50 / before.p50 - 1) * 100).toFixed(0)}% more)`)
}
