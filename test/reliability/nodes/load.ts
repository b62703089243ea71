// Writers and readers behind the proxy, and the history of their requests.

import type { Attempt, RegisterOperation } from "../../support/history.ts"
import { call, type Reply, sendWrite } from "../../support/load.ts"
import { type Families, openFamilies } from "../../support/token-family.ts"
import type { Cluster } from "./cluster.ts"

export type History = {
  readonly deeds: RegisterOperation[]
  readonly tries: Attempt[]
  /** Users with a unique ID that get an email. */
  readonly requestedUsers: Set<string>
  readonly acknowledgedUsers: string[]
}

export type LoadRun = { readonly history: History; readonly stop: () => Promise<void> }

type LoadSizes = { readonly writers: number; readonly readers: number }

type LoadContext = {
  readonly cluster: Cluster
  readonly families: Families
  readonly registers: readonly string[]
  readonly seen: History
}

/** Runs until it is stopped. */
export async function startClients(
  cluster: Cluster,
  { writers, readers }: LoadSizes,
): Promise<LoadRun> {
  const { client } = cluster
  const families = await openFamilies(client)
  const registers: string[] = []
  for (const name of ["a", "b", "c", "d"]) {
    const { orgId: organizationId } = client
    const made = await call(client, "project.CreateProject", { organizationId, name })
    registers.push(String(made.body.projectId))
  }
  const seen: History = { deeds: [], tries: [], requestedUsers: new Set(), acknowledgedUsers: [] }
  const place = { cluster, families, registers, seen }
  let isOver = false
  const loop = async (work: (count: number) => Promise<void>) => {
    for (let count = 0; !isOver; count++) await work(count)
  }
  const working = [
    ...Array.from({ length: writers }, (_, at) => loop(createWriter(place, at))),
    ...Array.from({ length: readers }, (_, at) => loop((count) => readRegister(place, at + count))),
  ]
  const stop = async () => {
    isOver = true
    await Promise.all(working)
  }
  return { history: seen, stop }
}

function createWriter(context: LoadContext, writer: number): (count: number) => Promise<void> {
  let token: string | undefined
  return async (count) => {
    const name = `${writer}-${count}`
    if (count % 6 === 1) await takeName(context, name, count)
    else if (count % 6 === 3) await redeemTwice(context, name)
    else if (count % 6 === 5) token = await refreshTwice(context, token)
    else await writeRegister(context, name, writer + count)
  }
}

/** A request without a response, or with an unknown result, may have succeeded. */
const outcomeOf = (reply: Reply | undefined): Attempt["outcome"] =>
  reply?.status === 200 ? "won" : isRejection(reply) ? "refused" : undefined

const isRejection = (reply: Reply | undefined): boolean =>
  reply !== undefined && reply.status >= 400 && reply.status < 500

const ignoreErrors = <T>(work: Promise<T>): Promise<T | undefined> => work.catch(() => undefined)

async function writeRegister(
  { cluster, registers, seen }: LoadContext,
  value: string,
  round: number,
) {
  const register = registers[round % registers.length] ?? ""
  const begun = performance.now()
  const reply = await ignoreErrors(
    call(cluster.client, "project.UpdateProject", { projectId: register, name: value }),
  )
  if (isRejection(reply)) return
  const ended = reply?.status === 200 ? performance.now() : undefined
  seen.deeds.push({ register, kind: "write", value, started: begun, ended })
}

async function readRegister({ cluster, registers, seen }: LoadContext, round: number) {
  const register = registers[round % registers.length] ?? ""
  const begun = performance.now()
  const reply = await ignoreErrors(
    call(cluster.client, "project.GetProject", { projectId: register }),
  )
  const value = reply?.body.project?.name
  // The initial value.
  if (reply?.status !== 200 || /^[a-d]$/.test(value)) return
  seen.deeds.push({ register, kind: "read", value, started: begun, ended: performance.now() })
}

/** Users with a name that two others request at about the same time; the winner gets an email. */
async function takeName({ cluster, seen }: LoadContext, id: string, count: number) {
  const { client } = cluster
  const username = `shared-${count}`
  const userId = `user-${id}`
  const email = { email: `${userId}@example.com`, sendCode: {} }
  const human = { profile: { givenName: "Eva", familyName: id }, email }
  seen.requestedUsers.add(userId)
  const begun = performance.now()
  const { orgId: organizationId } = client
  const reply = await ignoreErrors(
    call(client, "user.CreateUser", { organizationId, userId, username, human }),
  )
  const ended = performance.now()
  seen.tries.push({
    resource: username,
    client: userId,
    started: begun,
    outcome: outcomeOf(reply),
    ended,
  })
  if (reply?.status === 200) seen.acknowledgedUsers.push(userId)
}

/**
 * The first request got the code, and before its response another one used the code a second time,
 * which ended its grant (RFC 6749 §4.1.2): then both are rejected, correctly.
 */
const isGrantEnded = (reply: Redeemed | undefined): boolean =>
  reply?.body.error_description ===
  "the grant, user or organization of this token is no longer active"

type Redeemed = Awaited<ReturnType<Families["redeem"]>>

async function redeemTwice({ families, seen }: LoadContext, id: string) {
  const code = await ignoreErrors(families.code())
  if (code === undefined) return
  const redeem = async (userName: string) => {
    const begun = performance.now()
    const reply = await ignoreErrors(families.redeem(code))
    const outcome = isGrantEnded(reply)
      ? undefined
      : outcomeOf(reply && { ...reply, position: 0, requestId: "" })
    seen.tries.push({
      resource: `code ${id}`,
      client: userName,
      started: begun,
      outcome,
      ended: performance.now(),
    })
  }
  await Promise.all([redeem("one"), redeem("two")])
}

/** Uses one token twice; returns the next one, or the same one if there was no response. */
async function refreshTwice(
  { cluster, families }: LoadContext,
  text: string | undefined,
): Promise<string | undefined> {
  const token = text ?? (await ignoreErrors(families.next()))
  if (token === undefined) return undefined
  const deed = { kind: "refresh", clientId: families.clientId, token } as const
  const replies = await Promise.all([
    ignoreErrors(sendWrite(cluster.client, deed)),
    ignoreErrors(sendWrite(cluster.client, deed)),
  ])
  const next = replies.find((reply) => reply?.status === 200)
  if (next) return String(next.body.refresh_token)
  return replies.some(isRejection) ? undefined : token
}
