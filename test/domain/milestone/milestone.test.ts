// How far an instance has come, as its own events tell.
import { afterEach, beforeEach, expect, test } from "vitest"
import { milestoneReactor } from "../../../src/domain/milestone/reactor.ts"
import { type Reactors, runReactors } from "../../../src/store/index.ts"
import {
  answerOf,
  askToken,
  authorizePath,
  browserOf,
  codeFields,
  openProvider,
  type Provider,
} from "../../oauth/provider.ts"
import { ask } from "../../support/ask.ts"

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

const reached = async () => {
  const { shares } = await import("../../../src/domain/milestone/api.ts")
  const queries = [{ query: { case: "isReachedQuery", value: { reached: true } } }]
  const { result } = await ask(shares, "listMilestones", provider.cx(), {
    queries,
    query: { asc: true },
  })
  return result.map(({ type }: { type: number }) => type)
}

test("its own project and console count for nothing, the first of others once", async () => {
  await reactors.drain()
  // The provider has a project of its own for its applications.
  expect(await reached()).toEqual([1, 3])
  const client = await provider.addClient()
  await reactors.drain()
  expect(await reached()).toEqual([1, 3, 4])
  const visited = await browserOf(provider).signIn(authorizePath(client.id), "olga")
  const { code = "" } = answerOf(visited)
  await askToken(provider, codeFields(code), `${client.id}:${client.secret}`)
  await reactors.drain()
  expect(await reached()).toEqual([1, 2, 3, 4, 5])
  await provider.addClient()
  await reactors.drain()
  const { store, instance } = provider.cx()
  const query = { types: ["milestone.reached"], asc: true, limit: 100, from: undefined }
  expect(await store.events({ ...provider.cx(), instance }, query)).toHaveLength(5)
})
