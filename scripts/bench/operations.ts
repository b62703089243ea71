// The operations that clients run in the benchmarks with several processes, and their CPU cost.
import { readFileSync } from "node:fs"
import { type Client, call, createSingleUseAssertion, sendWrite } from "../../test/support/load.ts"
import type { Families } from "../../test/support/token-family.ts"

export const maxCallers = 16

export type Operations = ReadonlyMap<string, () => Promise<unknown>>

export async function createOperations(client: Client, families: Families): Promise<Operations> {
  const app = await call(client, "application.CreateApplication", {
    projectId: families.projectId,
    name: "API",
    apiConfiguration: {},
  })
  const { clientId, clientSecret } = app.body.apiConfiguration
  const authorization = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString("base64")}`
  const { access_token: token } = (await families.redeem(await families.code())).body
  const refreshed: string[] = []
  for (let count = 0; count < maxCallers; count++) refreshed.push(await families.next())
  return new Map<string, () => Promise<unknown>>([
    ["sign-in", () => families.signIn(fetch)],
    [
      "token",
      async () =>
        requireOk(
          await sendWrite(client, {
            kind: "token",
            assertion: await createSingleUseAssertion(client),
          }),
        ),
    ],
    [
      "introspection",
      async () => {
        const body = new URLSearchParams({ token })
        const init = { method: "POST", headers: { authorization }, body }
        const answer = await fetch(`${client.url}/oauth/v2/introspect`, init)
        if (!(await answer.json()).active) throw new Error("the token is not active")
      },
    ],
    ["search", async () => requireOk(await call(client, "user.ListUsers", { queries: [] }))],
    [
      "refresh",
      async () => {
        const last = refreshed.shift() ?? ""
        const { clientId: of } = families
        const answer = requireOk(
          await sendWrite(client, { kind: "refresh", clientId: of, token: last }),
        )
        refreshed.push(answer.body.refresh_token)
      },
    ],
  ])
}

/** CPU milliseconds that a process has used. */
export function cpuMs(id: number): number {
  try {
    const stat = readFileSync(`/proc/${id}/stat`, "utf8")
    const [user, system] = stat
      .slice(stat.lastIndexOf(")") + 2)
      .split(" ")
      .slice(11, 13)
    const msPerTick = 10
    return (Number(user) + Number(system)) * msPerTick
  } catch {
    return 0
  }
}

export function requireOk<T extends { readonly status: number; readonly body: unknown }>(
  answer: T,
): T {
  if (answer.status === 200) return answer
  throw new Error(`returned ${answer.status}: ${JSON.stringify(answer.body)}`)
}

export function row(label: string, figure: string, details: string): void {
  console.log(`${label.padEnd(52)}${figure.padStart(14)}   ${details}`)
}

export function formatMs(value: number): string {
  return `${value < 1 ? value.toFixed(3) : value.toFixed(2)} ms`
}

export function formatCount(value: number): string {
  return Math.round(value).toLocaleString("en")
}
