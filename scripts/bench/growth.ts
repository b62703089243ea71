// Measures how much data a busy week leaves: `bun scripts/bench/growth.ts [DAYS] [SCALE]`. The
// clock is simulated, and one token represents SCALE tokens. The grant types are mixed as in 1,000
// token requests per second. The pruner runs every simulated hour; each day prints one line. Writes
// a temporary folder.

import { addServiceAccount, encodeBasic } from "../../test/oauth/clients.ts"
import {
  authorizePath,
  browserOf,
  codeFields,
  openProvider,
  responseOf,
  sendTokenRequest,
} from "../../test/oauth/provider.ts"
import { addMachine } from "../../test/oauth/service-account.ts"

const [days = 7, scale = 40_000] = process.argv.slice(2).map(Number)
const hourMs = 3_600_000

/** Token requests per second of each kind, 1,000 in total. */
const ratePerKind = { machine: 900, assertion: 40, refresh: 50, signIn: 10 } as const
type TokenKind = keyof typeof ratePerKind

const provider = await openProvider()
const { store, clock } = provider
const grantTypes = ["authorization_code", "refresh_token"] as const
const web = await provider.addClient({ grantTypes: [...grantTypes] })
const basicAuth = `${web.id}:${web.secret}`
const robot = await addServiceAccount(provider, "jwt")
const machine = await addMachine(provider)
const people = await Promise.all(Array.from({ length: 20 }, (_, at) => addPerson(`p${at}`)))

async function addPerson(name: string) {
  await provider.addPerson(name)
  return { name, refresh: "" }
}

let nextSerial = 0
const requests: Readonly<Record<TokenKind, () => Promise<unknown>>> = {
  machine: () =>
    requestToken(
      { grant_type: "client_credentials", scope: "openid" },
      encodeBasic(robot.id, robot.secret),
    ),
  assertion: async () => requestToken(await machine.fields({ jti: `${nextSerial++}` })),
  refresh: async () => {
    const person = people[nextSerial++ % people.length]
    const fields = { grant_type: "refresh_token", refresh_token: person?.refresh ?? "" }
    const { refresh_token } = await requestToken(fields, basicAuth)
    if (person) person.refresh = String(refresh_token)
  },
  signIn: async () => {
    const person = people[nextSerial++ % people.length]
    if (!person) return
    const path = authorizePath(web.id, { scope: "openid profile offline_access" })
    const { code = "" } = responseOf(await browserOf(provider).signIn(path, person.name))
    person.refresh = String((await requestToken(codeFields(code), basicAuth)).refresh_token)
  },
}

async function requestToken(fields: Readonly<Record<string, string>>, basic?: string) {
  const { status, answer } = await sendTokenRequest(provider, fields, basic)
  if (status === 200) return answer
  throw new Error(`no token: ${JSON.stringify(answer)}`)
}

type StreamSize = { readonly stream: string; readonly events: number; readonly bytes: number }

/** Events and states by stream, with the approximate bytes of their rows. */
const listStreams = () =>
  store.database
    .query<StreamSize, []>(
      `SELECT name AS stream, count(*) AS events, sum(60 + length(id) + length(data)
         + ifnull(length(private), 0) + length(editor_user) + length(owner) + length(correlation)
         + ifnull((SELECT length(state) + 60 FROM state
             WHERE state.instance = event.instance AND state.stream = name
               AND state.id = event.id AND state.version = event.version), 0)) AS bytes
       FROM event JOIN name ON code = stream GROUP BY name ORDER BY bytes DESC`,
    )
    .all()

const countClaims = () =>
  store.database.query<{ count: number }, []>("SELECT count(*) AS count FROM claim").get()?.count

/**
 * Streams that exist as long as the session, and streams of the audit log. All others are
 * temporary.
 */
const groups = { signedIn: ["oidc_session", "session", "user_agent"], audit: ["token"] } as const
type Group = keyof typeof groups

const groupOf = (stream: string): Group | undefined =>
  (["signedIn", "audit"] as const).find((group) => groups[group].some((each) => each === stream))

const scaledSeconds = hourMs / 1000
const initialBytes = new Map(listStreams().map(({ stream, bytes }) => [stream, bytes]))
for (const _ of people) await requests.signIn()
const issued: Record<TokenKind, number> = { machine: 0, assertion: 0, refresh: 0, signIn: 0 }
const pending: Record<TokenKind, number> = { machine: 0, assertion: 0, refresh: 0, signIn: 0 }
const tokenKinds = ["machine", "assertion", "refresh", "signIn"] as const

console.log("day      tokens     sessions          audit      temporary   claims × scale")
for (let day = 1; day <= days; day++) {
  for (let hours = 0; hours < 24; hours++) {
    for (const kind of tokenKinds) await issue(kind)
    clock.advance(hourMs)
    const now = clock.now()
    const limits = { now, auditedBefore: now - 90 * 24 * hourMs, position: Number.MAX_SAFE_INTEGER }
    await store.prune({ ...limits, stopped: () => false })
  }
  const bytesIn = (requestedGroup: Group | undefined) =>
    listStreams()
      .filter(({ stream }) => groupOf(stream) === requestedGroup)
      .reduce((sum, { stream, bytes }) => sum + bytes - (initialBytes.get(stream) ?? 0), 0)
  const tokens = tokenKinds.reduce((sum, kind) => sum + issued[kind], 0)
  const sizes = ([...(["signedIn", "audit"] as const), undefined] as const).map((group) =>
    formatBytes(bytesIn(group) * scale),
  )
  const cells = [`${day}`.padEnd(3), formatMillions(tokens * scale), ...sizes]
  console.log([...cells, `${countClaims()}`.padStart(9)].join(""))
}

/** Issues the tokens due in this hour; a fraction carries over to the next. */
async function issue(kind: TokenKind): Promise<void> {
  pending[kind] += (ratePerKind[kind] * scaledSeconds) / scale
  for (; pending[kind] >= 1; pending[kind]--) {
    await requests[kind]()
    issued[kind]++
  }
}

console.log("\nstream                    events         bytes")
for (const { stream, events, bytes } of listStreams()) {
  const grown = bytes - (initialBytes.get(stream) ?? 0)
  if (grown > 0) console.log(`${stream.padEnd(22)}${`${events}`.padStart(10)}${formatBytes(grown)}`)
}

console.log("\nwhat one token has just written")
for (const way of tokenKinds) {
  const [from, start] = [totalBytes(), store.log.durable()]
  for (let times = 0; times < 20; times++) await requests[way]()
  const events = (store.log.durable() - start) / 20
  console.log(
    `${way.padEnd(22)}${events.toFixed(1)} events${formatBytes((totalBytes() - from) / 20)}`,
  )
}
await provider.close()

function totalBytes(): number {
  return listStreams().reduce((sum, { bytes }) => sum + bytes, 0)
}

function formatMillions(count: number): string {
  return `${(count / 1e6).toFixed(0)} M`.padStart(12)
}

function formatBytes(bytes: number): string {
  const text = bytes < 1e5 ? `${bytes.toFixed(0)} B` : `${(bytes / 1e6).toFixed(1)} MB`
  return text.padStart(15)
}
