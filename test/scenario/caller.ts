// Calls of one operation by Connect on one test server, for requests that change nothing.
import type { JsonObject } from "@bufbuild/protobuf"
import type { TestServer } from "./house.ts"
import type { Row } from "./row.ts"
import { type CallAsOwner, createRowResources } from "./things.ts"

export type Reply = {
  readonly code: string
  readonly id: string | undefined
  readonly message: string | undefined
}

export type Call = (body: JsonObject) => Promise<Reply>

/** Calls the test server as its owner; the calls must succeed. */
export const makerIn =
  (house: TestServer): CallAsOwner =>
  async (call, body, more = {}) => {
    const isSystem = /^(system|instance)\./.test(call)
    const who = isSystem ? "Bearer system" : `Bearer user ${house.ownerId} ${house.orgId}`
    const response = await fetch(`${house.url}/core.${call}`, {
      method: "POST",
      headers: {
        authorization: who,
        "content-type": "application/json",
        ...house.headers,
        ...more,
      },
      body: JSON.stringify(body),
    })
    const answer = await response.json()
    if (!response.ok) throw new Error(`${call} ended with ${JSON.stringify(answer)}`)
    return answer
  }

/** Creates the resources of a row, and returns its body and a function that calls its operation. */
export async function callerOf(
  house: TestServer,
  row: Row,
): Promise<{ readonly call: Call; readonly body: JsonObject }> {
  const make = makerIn(house)
  const things = createRowResources(make, house)
  const headers = { ...house.headers, ...(await things.headersOf(row.as ?? "manager")) }
  const body = await things.fill({ ...row.body })
  for (const [call, given] of row.given ?? []) await make(call, await things.fill({ ...given }))
  const call: Call = async (sent) => {
    const response = await fetch(`${house.url}/core.${row.call}`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify(sent),
    })
    const answer = await response.json()
    if (response.ok) return { code: "ok", id: undefined, message: undefined }
    const { code, message } = answer
    return { code, message, id: /\(([\w.]+)\)$/.exec(message)?.[1] }
  }
  return { call, body }
}
