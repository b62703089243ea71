// Measures the cost of an action script per token: `bun scripts/bench/script.ts [TIMES]`. Requests
// tokens alternately with and without a script, so that other load affects both. Then requests 100
// tokens at once, each with a script that runs for 5 ms.
import { readdirSync, readFileSync } from "node:fs"
import { connect } from "../../test/acceptance/service.ts"
import {
  assertionOf,
  freePort,
  serviceToken,
  setUp,
  startLatchkey,
  temporaryFolder,
} from "../../test/support/latchkey.ts"

const repetitions = Number(process.argv[2] ?? 300)
const concurrentTokens = 100
const scriptMs = 5
const calibrationRuns = 60
const initialRounds = 200_000
const folder = temporaryFolder()
const data = `${folder.path}/data`
const port = await freePort()
const key = await setUp(data, `http://localhost:${port}`)
const server = await startLatchkey({ data, port })
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
  const triggerType = { flowType: "2", triggerType: "5" }
  const taken: Record<"without" | "with", number[]> = { without: [], with: [] }
  for (let count = 0; count < repetitions; count++) {
    const which = count % 2 === 0 ? "with" : "without"
    const actionIds = which === "with" ? [id] : []
    await call(`${management}/SetTriggerActions`, { ...triggerType, actionIds })
    taken[which].push(await measureToken())
  }
  const [without, withScript] = [median(taken.without), median(taken.with)]
  console.log(`a token takes ${without.toFixed(2)} ms, ${withScript.toFixed(2)} ms with a script`)
  console.log(`a script costs ${(withScript - without).toFixed(2)} ms in the median (limit 1.5 ms)`)

  const runWork = async (rounds: number) => {
    const busyMs = `function f(ctx, api) {
      let sum = 0
      for (let i = 0; i < ${Math.round(rounds)}; i++) sum += i % 7
      api.v1.claims.setClaim("sum", sum)
    }`
    await call(`${management}/UpdateAction`, { id, name: "f", script: busyMs })
  }
  await call(`${management}/SetTriggerActions`, { ...triggerType, actionIds: [id] })
  const workMs = async (rounds: number) => {
    await runWork(rounds)
    const startedAt = cpuMs()
    for (let count = 0; count < calibrationRuns; count++) await measureToken()
    return (cpuMs() - startedAt) / calibrationRuns
  }
  // Warm up, then compare many rounds with none.
  await workMs(initialRounds)
  const perRound = ((await workMs(initialRounds)) - (await workMs(0))) / initialRounds
  const rounds = scriptMs / perRound
  await runWork(rounds)
  console.log(`${scriptMs} ms correspond to ${Math.round(rounds)} rounds`)
  for (let round = 0; round < 5; round++) {
    const assertions = await Promise.all(
      Array.from({ length: concurrentTokens }, () => assertionOf(server.url, key)),
    )
    const [began, workedMs] = [performance.now(), cpuMs()]
    await Promise.all(assertions.map(requestToken))
    const took = performance.now() - began
    const spent = cpuMs() - workedMs
    console.log(
      `${concurrentTokens} tokens at once, each with a ${scriptMs} ms script: ` +
        `${took.toFixed(0)} ms ` +
        `in total (limit 1000 ms), ${spent.toFixed(0)} ms of CPU`,
    )
  }
} finally {
  await server.stop()
  folder.remove()
}

async function measureToken(): Promise<number> {
  const assertion = await assertionOf(server.url, key)
  const startedAt = performance.now()
  await requestToken(assertion)
  return performance.now() - startedAt
}

async function requestToken(assertion: string): Promise<void> {
  const body = new URLSearchParams({
    grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
    assertion,
    scope: "openid",
  })
  const response = await fetch(`${server.url}/oauth/v2/token`, { method: "POST", body })
  const answer = await response.text()
  if (response.status !== 200) throw new Error(`token request failed: ${answer}`)
}

/** CPU milliseconds of all server threads, at the resolution of the system. */
function cpuMs(): number {
  const tasks = `/proc/${server.process.pid}/task`
  const workedMs = readdirSync(tasks).map((task) =>
    Number(readFileSync(`${tasks}/${task}/schedstat`, "utf8").split(" ")[0]),
  )
  return workedMs.reduce((sum, each) => sum + each, 0) / 1e6
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}
