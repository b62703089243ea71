// What a script costs a token: `bun scripts/bench/script.ts [TIMES]`. Tokens are asked for one by
// one, with and without a script by turns, so that whatever else the machine does weighs on both.
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
} finally {
  await server.stop()
  folder.remove()
}

async function tokenTime(): Promise<number> {
  const body = new URLSearchParams({
    grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
    assertion: await assertionOf(server.url, key),
    scope: "openid",
  })
  const begun = performance.now()
  const response = await fetch(`${server.url}/oauth/v2/token`, { method: "POST", body })
  await response.text()
  if (response.status !== 200) throw new Error(`a token was refused: ${response.status}`)
  return performance.now() - begun
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}
