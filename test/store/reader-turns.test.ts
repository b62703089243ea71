import { expect, test } from "vitest"
import { askerOf } from "../../src/store/search/thread.ts"
import { openHousehold } from "../domain/user/household.ts"
import { ask } from "../support/ask.ts"
import { shares } from "../support/user-modules.ts"

const noThread = () => {
  throw new Error("nothing is asked here")
}

test("lines take turns, however long one is", async () => {
  const { queue } = askerOf(noThread)
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

test("the end comes after all that wait, in whatever line", async () => {
  const { queue, close } = askerOf(noThread)
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

test("the people of one organisation stand in one line, and others in theirs", async () => {
  const world = await openHousehold()
  const done: string[] = []
  const list = async (orgId: string, userId: string) => {
    const caller = { kind: "user", clientId: "", orgId, userId } as const
    await ask(shares, "listUsers", { ...world.cx(), caller }, {})
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
