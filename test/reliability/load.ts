// Writers on a running server, and what they know: the oracle of every test that ends a process.
import { createPrivateKey } from "node:crypto"
import { SignJWT } from "jose"
import { connect, type Reply } from "../acceptance/service.ts"
import type { ServiceKey } from "../support/latchkey.ts"

/** The client's book: a request is noted before it is sent, its answer when it came. */
export type Ledger = {
  /** Users by id, with the names that they may have: the last acknowledged, and later requests. */
  readonly users: Map<string, { isAcknowledged: boolean; names: string[]; isDeleted: boolean }>
  /** Assertions that were traded for a token, each good for one. */
  readonly spent: string[]
  /** Answers that were no success, and no connection that broke. */
  readonly refusals: Reply[]
  acknowledged: number
}

export const newLedger = (): Ledger => ({
  users: new Map(),
  spent: [],
  refusals: [],
  acknowledged: 0,
})

type Target = {
  readonly url: string
  readonly key: ServiceKey
  readonly token: string
  readonly orgId: string
  readonly ledger: Ledger
}

/** Runs `count` writers until the connection breaks or `stopped` says so. */
export async function write(target: Target, count: number, stopped: () => boolean): Promise<void> {
  const one = async () => {
    for (let turn = 0; !stopped(); turn++) {
      if (!(await round(target, turn))) return
    }
  }
  await Promise.all(Array.from({ length: count }, one))
}

let next = 0

/** A user made, renamed, now and then deleted, and a token; false when the server is gone. */
async function round(target: Target, turn: number): Promise<boolean> {
  const { ledger, orgId: organizationId } = target
  const userId = `u${process.pid}x${++next}`
  const user = { isAcknowledged: false, names: [userId], isDeleted: false }
  ledger.users.set(userId, user)
  const machine = { name: userId }
  const request = { organizationId, userId, username: userId, machine }
  if (!(await send(target, "CreateUser", request))) return false
  user.isAcknowledged = true

  user.names.push(`${userId} renamed`)
  const renamed = { userId, machine: { name: `${userId} renamed` } }
  if (!(await send(target, "UpdateUser", renamed))) return false
  user.names.shift()

  if (turn % 7 === 3) {
    user.isDeleted = true
    if (!(await send(target, "DeleteUser", { userId }))) return false
    ledger.users.delete(userId)
  }
  return turn % 5 !== 0 || spend(target)
}

/** One request; false when the connection broke, so that nobody knows whether it was done. */
async function send({ url, token, ledger }: Target, name: string, request: object) {
  const answer = await connect(url, name, { request, token }).catch(() => undefined)
  if (!answer) return false
  if (answer.status === 200) ledger.acknowledged++
  else ledger.refusals.push(answer)
  return answer.status === 200
}

async function spend({ url, key, ledger }: Target): Promise<boolean> {
  const assertion = await new SignJWT({})
    .setProtectedHeader({ alg: "RS256", kid: key.keyId })
    .setIssuer(key.userId)
    .setSubject(key.userId)
    .setAudience(url)
    .setJti(`${process.pid}-${++next}`)
    .setIssuedAt()
    .setExpirationTime("30m")
    .sign(createPrivateKey(key.key))
  const status = await trade(url, assertion).catch(() => undefined)
  if (status === 200) ledger.spent.push(assertion)
  return status === 200
}

/** Trades an assertion for a token; answers the status. */
export async function trade(url: string, assertion: string): Promise<number> {
  const grant_type = "urn:ietf:params:oauth:grant-type:jwt-bearer"
  const body = new URLSearchParams({ grant_type, assertion, scope: "openid" })
  const answer = await fetch(`${url}/oauth/v2/token`, { method: "POST", body })
  await answer.text()
  return answer.status
}

/** What the server shows that the ledger denies; empty where every promise was kept. */
export async function broken(target: Target): Promise<readonly string[]> {
  const found: string[] = []
  const shown = new Map<string, string>()
  for (let offset = 0; ; offset += 1000) {
    const request = { query: { offset: `${offset}`, limit: 1000, asc: true } }
    const { status, body } = await connect(target.url, "ListUsers", {
      request,
      token: target.token,
    })
    if (status !== 200) return [`ListUsers answered ${status}`]
    for (const { userId, machine } of body.result ?? []) shown.set(userId, machine?.name)
    if ((body.result ?? []).length < 1000) break
  }
  for (const [id, { isAcknowledged, names, isDeleted }] of target.ledger.users) {
    const name = shown.get(id)
    if (name === undefined && isAcknowledged && !isDeleted) found.push(`${id} was lost`)
    if (name !== undefined && !names.includes(name)) found.push(`${id} is named ${name}`)
    shown.delete(id)
  }
  for (const id of shown.keys()) {
    if (id.startsWith(`u${process.pid}x`)) found.push(`${id} is there again after its deletion`)
  }
  for (const assertion of target.ledger.spent.slice(-3)) {
    if ((await trade(target.url, assertion)) === 200) found.push("an assertion was good twice")
  }
  return found
}
