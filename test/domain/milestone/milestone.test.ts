// The milestones of an instance, derived from its own events.
import { afterEach, beforeEach, expect, test } from "vitest"
import { milestoneReactor } from "../../../src/domain/milestone/reactor.ts"
import { type Reactors, runReactors } from "../../../src/store/index.ts"
import {
  authorizePath,
  browserOf,
  codeFields,
  openProvider,
  type Provider,
  responseOf,
  sendTokenRequest,
} from "../../oauth/provider.ts"
import { callOperation } from "../../support/call-operation.ts"

let provider: Provider
let reactors: Reactors
beforeEach(async () => {
  provider = await openProvider()
  const call = (instance: string) => ({ ...provider.cx(), ...(instance && { instance }) })
  reactors = runReactors(provider.store, provider.clock, [milestoneReactor(call)])
})
afterEach(async () => {
  await reactors.stop()
  await provider.close()
})

const reachedMilestones = async () => {
  const { shares } = await import("../../../src/domain/milestone/api.ts")
  const queries = [{ query: { case: "isReachedQuery", value: { reached: true } } }]
  const { result } = await callOperation(shares, "listMilestones", provider.cx(), {
    queries,
    query: { asc: true },
  })
  return result.map(({ type }: { type: number }) => type)
}

test("built-in projects and the console are not counted, the first of others once", async () => {
  await reactors.drain()
  // The provider has its own project for its applications.
  expect(await reachedMilestones()).toEqual([1, 3])
  const client = await provider.addClient()
  await reactors.drain()
  expect(await reachedMilestones()).toEqual([1, 3, 4])
  const visited = await browserOf(provider).signIn(authorizePath(client.id), "olga")
  const { code = "" } = responseOf(visited)
  await sendTokenRequest(provider, codeFields(code), `${client.id}:${client.secret}`)
  await reactors.drain()
  expect(await reachedMilestones()).toEqual([1, 2, 3, 4, 5])
  await provider.addClient()
  await reactors.drain()
  const { store, instance } = provider.cx()
  const query = { types: ["milestone.reached"], asc: true, limit: 100, from: undefined }
  expect(await store.events({ ...provider.cx(), instance }, query)).toHaveLength(5)
})
