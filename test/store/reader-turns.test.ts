import { expect, test } from "vitest"
import { createThreadClient } from "../../src/store/search/thread.ts"
import { openUserWorld } from "../domain/user/household.ts"
import { callOperation } from "../support/call-operation.ts"
import { shares } from "../support/user-modules.ts"

const noThread = () => {
  throw new Error("nothing is asked here")
}

test("queues alternate, however long one is", async () => {
  const { queue } = createThreadClient(noThread)
  const done: string[] = []
  const wait = async (name: string, line?: string) => {
    const end = await queue(line)
    done.push(name)
    end()
  }
  await Promise.all([
    ...["a1", "a2", "a3", "a4"].map((name) => wait(name, "a")),
    wait("b1", "b"),
    wait("c1"),
    wait("b2", "b"),
  ])
  expect(done).toEqual(["a1", "a2", "b1", "c1", "a3", "b2", "a4"])
})

test("the end comes after all pending searches of any queue", async () => {
  const { queue, close } = createThreadClient(noThread)
  const done: string[] = []
  const wait = async (name: string, line: string) => {
    const end = await queue(line)
    done.push(name)
    end()
  }
  const all = ["a1", "a2", "a3"].map((name) => wait(name, "a"))
  await close()
  expect(done).toEqual(["a1", "a2", "a3"])
  await Promise.all(all)
})

test("searches of one organization share a queue, and others have theirs", async () => {
  const world = await openUserWorld()
  const done: string[] = []
  const list = async (orgId: string, userId: string) => {
    const caller = { kind: "user", clientId: "", orgId, userId } as const
    await callOperation(shares, "listUsers", { ...world.cx(), caller }, {})
    done.push(orgId)
  }
  await Promise.all([
    ...Array.from({ length: 20 }, (_, at) => list("a", `${at}`)),
    list("b", "bea"),
    list("c", "cara"),
  ])
  expect(done.indexOf("b")).toBeLessThan(5)
  expect(done.indexOf("c")).toBeLessThan(5)
  await world.close()
})
