// Writers and readers behind the proxy, and all that they saw.
import { type Families, openFamilies } from "../../support/family.ts"
import type { Deed, Try } from "../../support/history.ts"
import { call, perform, type Reply } from "../../support/load.ts"
import type { Cluster } from "./cluster.ts"

export type Seen = {
  readonly deeds: Deed[]
  readonly tries: Try[]
  /** Users whose id is unlike any other's, and to whom a mail goes. */
  readonly askedUsers: Set<string>
  readonly toldUsers: string[]
}

export type Crowd = { readonly seen: Seen; readonly stop: () => Promise<void> }

type Sizes = { readonly writers: number; readonly readers: number }

type Place = {
  readonly cluster: Cluster
  readonly families: Families
  readonly registers: readonly string[]
  readonly seen: Seen
}

/** Works until it is told to stop. */
export async function startCrowd(cluster: Cluster, { writers, readers }: Sizes): Promise<Crowd> {
  const { client } = cluster
  const families = await openFamilies(client)
  const registers: string[] = []
  for (const name of ["a", "b", "c", "d"]) {
    const { orgId: organizationId } = client
    const made = await call(client, "project.CreateProject", { organizationId, name })
    registers.push(String(made.body.projectId))
  }
  const seen: Seen = { deeds: [], tries: [], askedUsers: new Set(), toldUsers: [] }
  const place = { cluster, families, registers, seen }
  let isOver = false
  const loop = async (work: (count: number) => Promise<void>) => {
    for (let count = 0; !isOver; count++) await work(count)
  }
  const working = [
    ...Array.from({ length: writers }, (_, at) => loop(writerOf(place, at))),
    ...Array.from({ length: readers }, (_, at) => loop((count) => read(place, at + count))),
  ]
  const stop = async () => {
    isOver = true
    await Promise.all(working)
  }
  return { seen, stop }
}

function writerOf(place: Place, writer: number): (count: number) => Promise<void> {
  let token: string | undefined
  return async (count) => {
    const name = `${writer}-${count}`
    if (count % 6 === 1) await takeName(place, name, count)
    else if (count % 6 === 3) await redeemTwice(place, name)
    else if (count % 6 === 5) token = await refreshTwice(place, token)
    else await write(place, name, writer + count)
  }
}

/** What nobody answered, or what the server can't say, may have happened. */
const outcomeOf = (reply: Reply | undefined): Try["outcome"] =>
  reply?.status === 200 ? "won" : isRefusal(reply) ? "refused" : undefined

const isRefusal = (reply: Reply | undefined): boolean =>
  reply !== undefined && reply.status >= 400 && reply.status < 500

const quiet = <T>(work: Promise<T>): Promise<T | undefined> => work.catch(() => undefined)

async function write({ cluster, registers, seen }: Place, value: string, turn: number) {
  const register = registers[turn % registers.length] ?? ""
  const begun = performance.now()
  const reply = await quiet(
    call(cluster.client, "project.UpdateProject", { projectId: register, name: value }),
  )
  if (isRefusal(reply)) return
  const ended = reply?.status === 200 ? performance.now() : undefined
  seen.deeds.push({ register, kind: "write", value, begun, ended })
}

async function read({ cluster, registers, seen }: Place, turn: number) {
  const register = registers[turn % registers.length] ?? ""
  const begun = performance.now()
  const reply = await quiet(call(cluster.client, "project.GetProject", { projectId: register }))
  const value = reply?.body.project?.name
  // As it was made.
  if (reply?.status !== 200 || /^[a-d]$/.test(value)) return
  seen.deeds.push({ register, kind: "read", value, begun, ended: performance.now() })
}

/** Users by a name that two others want at about the same time; who gets it gets a mail. */
async function takeName({ cluster, seen }: Place, id: string, count: number) {
  const { client } = cluster
  const username = `shared-${count}`
  const userId = `user-${id}`
  const email = { email: `${userId}@example.com`, sendCode: {} }
  const human = { profile: { givenName: "Eva", familyName: id }, email }
  seen.askedUsers.add(userId)
  const begun = performance.now()
  const { orgId: organizationId } = client
  const reply = await quiet(
    call(client, "user.CreateUser", { organizationId, userId, username, human }),
  )
  const ended = performance.now()
  seen.tries.push({ thing: username, who: userId, begun, outcome: outcomeOf(reply), ended })
  if (reply?.status === 200) seen.toldUsers.push(userId)
}

/**
 * It had the code, and before it was told so whoever presented that a second time ended what it
 * gave (RFC 6749 §4.1.2): then both are refused, and rightly.
 */
const wasEnded = (reply: Redeemed | undefined): boolean =>
  reply?.body.error_description === "what this was granted for has ended"

type Redeemed = Awaited<ReturnType<Families["redeem"]>>

async function redeemTwice({ families, seen }: Place, id: string) {
  const code = await quiet(families.code())
  if (code === undefined) return
  const redeem = async (who: string) => {
    const begun = performance.now()
    const reply = await quiet(families.redeem(code))
    const outcome = wasEnded(reply)
      ? undefined
      : outcomeOf(reply && { ...reply, position: 0, requestId: "" })
    seen.tries.push({ thing: `code ${id}`, who, begun, outcome, ended: performance.now() })
  }
  await Promise.all([redeem("one"), redeem("two")])
}

/** One token, presented twice; answers the next one, or that one again where nobody answered. */
async function refreshTwice(
  { cluster, families }: Place,
  given: string | undefined,
): Promise<string | undefined> {
  const token = given ?? (await quiet(families.next()))
  if (token === undefined) return undefined
  const deed = { kind: "refresh", clientId: families.clientId, token } as const
  const replies = await Promise.all([
    quiet(perform(cluster.client, deed)),
    quiet(perform(cluster.client, deed)),
  ])
  const next = replies.find((reply) => reply?.status === 200)
  if (next) return String(next.body.refresh_token)
  return replies.some(isRefusal) ? undefined : token
}
