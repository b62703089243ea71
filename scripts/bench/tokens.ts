// The latency of the token endpoint, of several binaries in interleaved turns:
// `bun scripts/bench/tokens.ts --binary PATH... [--turns N] [--seconds N]`. In each of N turns
// (default 15) every binary answers client_credentials for N seconds (default 2), then 100 N codes,
// in turns that begin with another one. Prints each turn and the median of the ratios to the first
// binary: whatever else the machine does affects a turn of all of them.
import { mkdirSync } from "node:fs"
import { basename, join } from "node:path"
import { parseArgs } from "node:util"
import { openClient } from "../../test/reliability/house.ts"
import { openFamilies } from "../../test/support/family.ts"
import { binary, freePort, setUp, start, temporaryFolder } from "../../test/support/latchkey.ts"
import { call } from "../../test/support/load.ts"
import { type Figures, measure } from "./figure.ts"

const { values } = parseArgs({
  options: {
    binary: { type: "string", multiple: true, default: [binary] },
    turns: { type: "string", default: "15" },
    seconds: { type: "string", default: "2" },
  },
})
const seconds = Number(values.seconds)
const callers = 8
const codesPerSecond = 100

type Kind = "client_credentials" | "code"
type Side = {
  readonly name: string
  readonly measured: Readonly<Record<Kind, () => Promise<Figures>>>
  readonly stop: () => Promise<unknown>
}

const folder = temporaryFolder()
const sides: Side[] = []
const found: { readonly kind: Kind; readonly side: number; readonly figures: Figures }[] = []
try {
  for (const [at, program] of values.binary.entries()) sides.push(await open(program, at))
  for (let turn = 0; turn < Number(values.turns); turn++) {
    await takeTurn("client_credentials", turn)
    await takeTurn("code", turn)
  }
  for (const kind of ["client_credentials", "code"] as const) printRatios(kind)
} finally {
  await Promise.all(sides.map(({ stop }) => stop()))
  folder.remove()
}

async function takeTurn(kind: Kind, turn: number): Promise<void> {
  const order = [...sides.entries()]
  if (turn % 2 === 1) order.reverse()
  for (const [side, { name, measured }] of order) {
    const figures = await measured[kind]()
    found.push({ kind, side, figures })
    console.log(`turn ${turn + 1}, ${kind}, ${name}: ${textOf(figures)}`)
  }
}

async function open(program: string, at: number): Promise<Side> {
  const data = join(folder.path, `${at}`)
  mkdirSync(data, { mode: 0o700 })
  const port = await freePort()
  const key = await setUp(data, `http://localhost:${port}`, program)
  const { url, stop } = await start({ data, port, program, args: ["--limits", "off"] })
  const client = await openClient(url, key)
  const { userId } = key
  const { clientSecret } = (await call(client, "user.AddSecret", { userId })).body
  const { username } = (await call(client, "user.GetUserByID", { userId })).body.user
  const families = await openFamilies(client)
  const credentials = async () => {
    const answer = await fetch(`${url}/oauth/v2/token`, {
      method: "POST",
      body: new URLSearchParams({
        grant_type: "client_credentials",
        scope: "openid",
        client_id: username,
        client_secret: clientSecret,
      }),
    })
    if (answer.status !== 200) throw new Error(`no token: ${await answer.text()}`)
    await answer.arrayBuffer()
  }
  const redeem = async (code: string) => {
    const { status, body } = await families.redeem(code)
    if (status !== 200) throw new Error(`no token: ${JSON.stringify(body)}`)
  }
  return {
    name: `${at + 1} ${basename(program)}`,
    stop,
    measured: {
      client_credentials: () => measure(callers, seconds, credentials),
      code: async () => {
        // Codes are valid for minutes: they are made first, and not timed.
        const codes: string[] = []
        while (codes.length < codesPerSecond * seconds) {
          codes.push(...(await Promise.all(Array.from({ length: callers }, families.code))))
        }
        return measureAll(codes, redeem)
      },
    },
  }
}

/** Takes the time of every call, one for each of the codes. */
async function measureAll(
  codes: readonly string[],
  redeem: (code: string) => Promise<void>,
): Promise<Figures> {
  const times: number[] = []
  const rest = codes.values()
  const began = performance.now()
  const caller = async () => {
    for (const code of rest) {
      const before = performance.now()
      await redeem(code)
      times.push(performance.now() - before)
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
  const elapsed = (performance.now() - began) / 1000
  const sorted = times.toSorted((a, b) => a - b)
  const at = (part: number) => sorted[Math.floor((sorted.length - 1) * part)] ?? 0
  return { perSecond: sorted.length / elapsed, p50: at(0.5), p99: at(0.99), worst: at(1) }
}

function textOf({ perSecond, p50, p99, worst }: Figures): string {
  const [most, half, last] = [worst, p50, p99].map((ms) => `${ms.toFixed(1)} ms`)
  return `${perSecond.toFixed(0)}/s, p50 ${half}, p99 ${last}, worst ${most}`
}

function printRatios(kind: Kind): void {
  const first = found.filter((each) => each.kind === kind && each.side === 0)
  for (const [side, { name }] of sides.entries()) {
    if (side === 0) continue
    const own = found.filter((each) => each.kind === kind && each.side === side)
    const ratioOf = (of: (figures: Figures) => number) =>
      median(own.map(({ figures }, at) => of(figures) / of(first[at]?.figures ?? figures)))
    const [p50, p99] = [ratioOf((each) => each.p50), ratioOf((each) => each.p99)]
    console.log(`${kind}, ${name}: p50 × ${p50.toFixed(2)}, p99 × ${p99.toFixed(2)} (medians)`)
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}
