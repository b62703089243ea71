// What a busy week leaves behind: `bun scripts/bench/growth.ts [DAYS] [SCALE]`. The clock is a
// simulated one, and one token stands for SCALE of them; what tokens are asked for by is a mix of
// a thousand a second. Every hour the pruner runs, every day is a line. Writes a temporary folder.

import { addRobot, basicOf } from "../../test/oauth/clients.ts"
import {
  answerOf,
  askToken,
  authorizePath,
  browserOf,
  codeFields,
  openProvider,
} from "../../test/oauth/provider.ts"
import { addMachine } from "../../test/oauth/service.ts"

const [days = 7, scale = 40_000] = process.argv.slice(2).map(Number)
const hour = 3_600_000

/** Tokens a second of each kind, a thousand together. */
const mix = { machine: 900, assertion: 40, refresh: 50, signIn: 10 } as const
type Way = keyof typeof mix

const provider = await openProvider()
const { store, clock } = provider
const grantTypes = ["authorization_code", "refresh_token"] as const
const web = await provider.addClient({ grantTypes: [...grantTypes] })
const as = `${web.id}:${web.secret}`
const robot = await addRobot(provider, "jwt")
const machine = await addMachine(provider)
const people = await Promise.all(Array.from({ length: 20 }, (_, at) => addPerson(`p${at}`)))

async function addPerson(name: string) {
  await provider.addPerson(name)
  return { name, refresh: "" }
}

let serial = 0
const ways: Readonly<Record<Way, () => Promise<unknown>>> = {
  machine: () =>
    got({ grant_type: "client_credentials", scope: "openid" }, basicOf(robot.id, robot.secret)),
  assertion: async () => got(await machine.fields({ jti: `${serial++}` })),
  refresh: async () => {
    const person = people[serial++ % people.length]
    const fields = { grant_type: "refresh_token", refresh_token: person?.refresh ?? "" }
    const { refresh_token } = await got(fields, as)
    if (person) person.refresh = String(refresh_token)
  },
  signIn: async () => {
    const person = people[serial++ % people.length]
    if (!person) return
    const path = authorizePath(web.id, { scope: "openid profile offline_access" })
    const { code = "" } = answerOf(await browserOf(provider).signIn(path, person.name))
    person.refresh = String((await got(codeFields(code), as)).refresh_token)
  },
}

async function got(fields: Readonly<Record<string, string>>, basic?: string) {
  const { status, answer } = await askToken(provider, fields, basic)
  if (status === 200) return answer
  throw new Error(`no token, but ${JSON.stringify(answer)}`)
}

type Row = { readonly stream: string; readonly events: number; readonly bytes: number }

/** Events and states of every kind, by what is written of them. */
const kinds = () =>
  store.database
    .query<Row, []>(
      `SELECT name AS stream, count(*) AS events, sum(60 + length(id) + length(data)
         + ifnull(length(private), 0) + length(editor_user) + length(owner) + length(correlation)
         + ifnull((SELECT length(state) + 60 FROM state
             WHERE state.instance = event.instance AND state.stream = name
               AND state.id = event.id AND state.version = event.version), 0)) AS bytes
       FROM event JOIN name ON code = stream GROUP BY name ORDER BY bytes DESC`,
    )
    .all()

const claims = () =>
  store.database.query<{ count: number }, []>("SELECT count(*) AS count FROM claim").get()?.count

/** Who is signed in, for as long as they are; and what an audit may ask. All else is passing. */
const groups = { signedIn: ["oidc_session", "session", "user_agent"], audit: ["token"] } as const
type Group = keyof typeof groups

const groupOf = (stream: string): Group | undefined =>
  (["signedIn", "audit"] as const).find((group) => groups[group].some((each) => each === stream))

const secondsEach = hour / 1000
const before = new Map(kinds().map(({ stream, bytes }) => [stream, bytes]))
for (const _ of people) await ways.signIn()
const given: Record<Way, number> = { machine: 0, assertion: 0, refresh: 0, signIn: 0 }
const due: Record<Way, number> = { machine: 0, assertion: 0, refresh: 0, signIn: 0 }
const names = ["machine", "assertion", "refresh", "signIn"] as const

console.log(
  "day      tokens      signed in          audit        passing   claims, times the scale",
)
for (let day = 1; day <= days; day++) {
  for (let hours = 0; hours < 24; hours++) {
    for (const way of names) await give(way)
    clock.advance(hour)
    const now = clock.now()
    const limits = { now, auditedBefore: now - 90 * 24 * hour, position: Number.MAX_SAFE_INTEGER }
    await store.prune({ ...limits, stopped: () => false })
  }
  const of = (wanted: Group | undefined) =>
    kinds()
      .filter(({ stream }) => groupOf(stream) === wanted)
      .reduce((sum, { stream, bytes }) => sum + bytes - (before.get(stream) ?? 0), 0)
  const tokens = names.reduce((sum, way) => sum + given[way], 0)
  const sizes = ([...(["signedIn", "audit"] as const), undefined] as const).map((group) =>
    size(of(group) * scale),
  )
  const cells = [`${day}`.padEnd(3), millions(tokens * scale), ...sizes]
  console.log([...cells, `${claims()}`.padStart(9)].join(""))
}

/** As many as are due of this hour; what is left of one is due with the next. */
async function give(way: Way): Promise<void> {
  due[way] += (mix[way] * secondsEach) / scale
  for (; due[way] >= 1; due[way]--) {
    await ways[way]()
    given[way]++
  }
}

console.log("\nkind                      events         bytes")
for (const { stream, events, bytes } of kinds()) {
  const grown = bytes - (before.get(stream) ?? 0)
  if (grown > 0) console.log(`${stream.padEnd(22)}${`${events}`.padStart(10)}${size(grown)}`)
}

console.log("\nwhat one token leaves, written just now")
for (const way of names) {
  const [from, start] = [total(), store.log.durable()]
  for (let times = 0; times < 20; times++) await ways[way]()
  const events = (store.log.durable() - start) / 20
  console.log(`${way.padEnd(22)}${events.toFixed(1)} events${size((total() - from) / 20)}`)
}
await provider.close()

function total(): number {
  return kinds().reduce((sum, { bytes }) => sum + bytes, 0)
}

function millions(count: number): string {
  return `${(count / 1e6).toFixed(0)} M`.padStart(12)
}

function size(bytes: number): string {
  const text = bytes < 1e5 ? `${bytes.toFixed(0)} B` : `${(bytes / 1e6).toFixed(1)} MB`
  return text.padStart(15)
}
