// What a script costs a token: `bun scripts/bench/script.ts [TIMES]`. Tokens are asked for one by
// one, with and without a script by turns, so that whatever else the machine does weighs on both.
// Then a hundred at once, each with a script that works for 5 ms.
import { readdirSync, readFileSync } from "node:fs"
import { connect } from "../../test/acceptance/service.ts"
import {
  assertionOf,
  freePort,
  serviceToken,
  setUp,
  start,
  temporaryFolder,
} from "../../test/support/latchkey.ts"

const times = Number(process.argv[2] ?? 300)
const atOnce = 100
const neededMs = 5
const calibrating = 60
const guess = 200_000
const folder = temporaryFolder()
const data = `${folder.path}/data`
const port = await freePort()
const key = await setUp(data, `http://localhost:${port}`)
const server = await start({ data, port })
try {
  const token = await serviceToken(server.url, key)
  const call = async (name: string, request: object) =>
    (await connect(server.url, name, { request, token })).body
  await call("UpdateUser", {
    userId: key.userId,
    machine: { accessTokenType: "ACCESS_TOKEN_TYPE_JWT" },
  })
  const management = "core.management.v1.ManagementService"
  const script =
    "function f(ctx, api) { api.v1.claims.setClaim('name', ctx.v1.getUser().username) }"
  const { id } = await call(`${management}/CreateAction`, { name: "f", script })
  const moment = { flowType: "2", triggerType: "5" }
  const taken: Record<"without" | "with", number[]> = { without: [], with: [] }
  for (let count = 0; count < times; count++) {
    const which = count % 2 === 0 ? "with" : "without"
    const actionIds = which === "with" ? [id] : []
    await call(`${management}/SetTriggerActions`, { ...moment, actionIds })
    taken[which].push(await tokenTime())
  }
  const [none, one] = [median(taken.without), median(taken.with)]
  console.log(`a token ${none.toFixed(2)} ms, with a script ${one.toFixed(2)} ms`)
  console.log(`a script costs ${(one - none).toFixed(2)} ms at the median (≤ 1.5 ms)`)

  const working = async (rounds: number) => {
    const busy = `function f(ctx, api) {
      let sum = 0
      for (let i = 0; i < ${Math.round(rounds)}; i++) sum += i % 7
      api.v1.claims.setClaim("sum", sum)
    }`
    await call(`${management}/UpdateAction`, { id, name: "f", script: busy })
  }
  await call(`${management}/SetTriggerActions`, { ...moment, actionIds: [id] })
  const workMs = async (rounds: number) => {
    await working(rounds)
    const begun = cpuMs()
    for (let count = 0; count < calibrating; count++) await tokenTime()
    return (cpuMs() - begun) / calibrating
  }
  // Nothing is warm at first; then the work of many rounds against that of none.
  await workMs(guess)
  const perRound = ((await workMs(guess)) - (await workMs(0))) / guess
  const rounds = neededMs / perRound
  await working(rounds)
  console.log(`${neededMs} ms are ${Math.round(rounds)} rounds`)
  for (let turn = 0; turn < 5; turn++) {
    const assertions = await Promise.all(
      Array.from({ length: atOnce }, () => assertionOf(server.url, key)),
    )
    const [began, worked] = [performance.now(), cpuMs()]
    await Promise.all(assertions.map(tokenFor))
    const took = performance.now() - began
    const spent = cpuMs() - worked
    console.log(
      `${atOnce} tokens at once, each with a script of ${neededMs} ms: ` +
        `all in ${took.toFixed(0)} ms (≤ 1000 ms), ${spent.toFixed(0)} ms of CPU`,
    )
  }
} finally {
  await server.stop()
  folder.remove()
}

async function tokenTime(): Promise<number> {
  const assertion = await assertionOf(server.url, key)
  const begun = performance.now()
  await tokenFor(assertion)
  return performance.now() - begun
}

async function tokenFor(assertion: string): Promise<void> {
  const body = new URLSearchParams({
    grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
    assertion,
    scope: "openid",
  })
  const response = await fetch(`${server.url}/oauth/v2/token`, { method: "POST", body })
  const answer = await response.text()
  if (response.status !== 200) throw new Error(`a token was refused: ${answer}`)
}

/** What all threads of the server have worked; as fine as the system counts. */
function cpuMs(): number {
  const tasks = `/proc/${server.process.pid}/task`
  const worked = readdirSync(tasks).map((task) =>
    Number(readFileSync(`${tasks}/${task}/schedstat`, "utf8").split(" ")[0]),
  )
  return worked.reduce((sum, each) => sum + each, 0) / 1e6
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}
