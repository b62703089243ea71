// Compares the latency of the token endpoint between binaries: `bun scripts/bench/tokens.ts
// --binary PATH... [--turns N] [--seconds N]`. In each of N turns (default 15), every binary
// answers client_credentials requests for N seconds (default 2), then redeems 100 codes per second
// of that time; the order changes with each turn. Prints each turn and the median ratio to the
// first binary: other load on the machine affects all of them.
import { mkdirSync } from "node:fs"
import { basename, join } from "node:path"
import { parseArgs } from "node:util"
import { openClient } from "../../test/reliability/server-folder.ts"
import {
  binary,
  freePort,
  setUp,
  startLatchkey,
  temporaryFolder,
} from "../../test/support/latchkey.ts"
import { call } from "../../test/support/load.ts"
import { openFamilies } from "../../test/support/token-family.ts"
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
type BinaryUnderTest = {
  readonly name: string
  readonly measured: Readonly<Record<Kind, () => Promise<Figures>>>
  readonly stop: () => Promise<unknown>
}

const folder = temporaryFolder()
const targets: BinaryUnderTest[] = []
const results: { readonly kind: Kind; readonly side: number; readonly figures: Figures }[] = []
try {
  for (const [at, program] of values.binary.entries()) targets.push(await openBinary(program, at))
  for (let turn = 0; turn < Number(values.turns); turn++) {
    await runRound("client_credentials", turn)
    await runRound("code", turn)
  }
  for (const kind of ["client_credentials", "code"] as const) printRatios(kind)
} finally {
  await Promise.all(targets.map(({ stop }) => stop()))
  folder.remove()
}

async function runRound(kind: Kind, round: number): Promise<void> {
  const order = [...targets.entries()]
  if (round % 2 === 1) order.reverse()
  for (const [side, { name, measured }] of order) {
    const figures = await measured[kind]()
    results.push({ kind, side, figures })
    console.log(`turn ${round + 1}, ${kind}, ${name}: ${formatFigures(figures)}`)
  }
}

async function openBinary(program: string, at: number): Promise<BinaryUnderTest> {
  const data = join(folder.path, `${at}`)
  mkdirSync(data, { mode: 0o700 })
  const port = await freePort()
  const key = await setUp(data, `http://localhost:${port}`, program)
  const { url, stop } = await startLatchkey({ data, port, program, args: ["--limits", "off"] })
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
        // Codes are valid for minutes: they are created first and not measured.
        const codes: string[] = []
        while (codes.length < codesPerSecond * seconds) {
          codes.push(...(await Promise.all(Array.from({ length: callers }, families.code))))
        }
        return measureAll(codes, redeem)
      },
    },
  }
}

/** Measures the redemption of every code. */
async function measureAll(
  codes: readonly string[],
  redeem: (code: string) => Promise<void>,
): Promise<Figures> {
  const times: number[] = []
  const remaining = codes.values()
  const startedAt = performance.now()
  const caller = async () => {
    for (const code of remaining) {
      const before = performance.now()
      await redeem(code)
      times.push(performance.now() - before)
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
  const elapsed = (performance.now() - startedAt) / 1000
  const sorted = times.toSorted((a, b) => a - b)
  const at = (fraction: number) => sorted[Math.floor((sorted.length - 1) * fraction)] ?? 0
  return { perSecond: sorted.length / elapsed, p50: at(0.5), p99: at(0.99), max: at(1) }
}

function formatFigures({ perSecond, p50, p99, max }: Figures): string {
  const [maxText, medianText, p99Text] = [max, p50, p99].map((ms) => `${ms.toFixed(1)} ms`)
  return `${perSecond.toFixed(0)}/s, p50 ${medianText}, p99 ${p99Text}, worst ${maxText}`
}

function printRatios(kind: Kind): void {
  const first = results.filter((each) => each.kind === kind && each.side === 0)
  for (const [side, { name }] of targets.entries()) {
    if (side === 0) continue
    const ownFigures = results.filter((each) => each.kind === kind && each.side === side)
    const ratioBy = (of: (figures: Figures) => number) =>
      median(ownFigures.map(({ figures }, at) => of(figures) / of(first[at]?.figures ?? figures)))
    const [p50, p99] = [ratioBy((each) => each.p50), ratioBy((each) => each.p99)]
    console.log(`${kind}, ${name}: p50 × ${p50.toFixed(2)}, p99 × ${p99.toFixed(2)} (medians)`)
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}
