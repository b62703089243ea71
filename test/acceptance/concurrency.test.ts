import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { addHuman, humanInput, openService, type Service } from "./service.ts"

let service: Service
let organizationId: string

beforeAll(async () => {
  service = await openService()
  organizationId = (await service.get("ListOrganizations")).result[0].id
})
afterAll(() => service?.close())

const indexes = (count: number) => Array.from({ length: count }, (_, at) => at)

describe("concurrent requests", () => {
  test("apply 50 updates of one user, one after the other", async () => {
    const userId = await addHuman(service, organizationId, "busy")
    const before = (await service.get("GetUserByID", { userId })).details
    const replies = await Promise.all(
      indexes(50).map((at) => {
        const human = { profile: { givenName: `Name ${at}` } }
        return service.call("UpdateUser", { userId, human })
      }),
    )
    expect(replies.map(({ status }) => status)).toEqual(indexes(50).map(() => 200))
    const positions = replies.map(({ headers }) => Number(headers.get("x-core-position")))
    expect(new Set(positions).size).toBe(50)
    const { details, user } = await service.get("GetUserByID", { userId })
    expect(Number(details.sequence)).toBe(Number(before.sequence) + 50)
    const last = positions.indexOf(Math.max(...positions))
    expect(user.human.profile.givenName).toBe(`Name ${last}`)
  })

  test("create one user for 20 requests with one login name; 19 are rejected", async () => {
    const username = "coveted"
    const human = humanInput(username)
    const replies = await Promise.all(
      indexes(20).map(() => service.call("CreateUser", { organizationId, username, human })),
    )
    const codes = replies.map(({ status, body }) => (status === 200 ? "made" : body.code)).sort()
    expect(codes).toEqual([...indexes(19).map(() => "already_exists"), "made"])
    const named = { loginNameQuery: { loginName: username } }
    const { result } = await service.get("ListUsers", { queries: [named] })
    expect(result).toHaveLength(1)
  })

  test("create one user for 20 requests with one ID", async () => {
    const replies = await Promise.all(
      indexes(20).map((at) => {
        const username = `same-id-${at}`
        const human = humanInput(username)
        return service.call("CreateUser", { organizationId, userId: "chosen", username, human })
      }),
    )
    const codes = replies.map(({ status, body }) => (status === 200 ? "made" : body.code)).sort()
    expect(codes).toEqual([...indexes(19).map(() => "already_exists"), "made"])
  })

  test("give a released name to one owner at a time", async () => {
    const userId = await addHuman(service, organizationId, "swap-0")
    const renames = indexes(10).map((at) =>
      service.call("UpdateUser", { userId, username: `swap-${at}` }),
    )
    const takes = indexes(10).map((at) => {
      const username = `swap-${at}`
      return service.call("CreateUser", { organizationId, username, human: humanInput(username) })
    })
    const replies = await Promise.all([...renames, ...takes])
    expect(replies.every(({ status }) => status === 200 || status === 409)).toBe(true)
    for (const at of indexes(10)) {
      const named = { loginNameQuery: { loginName: `swap-${at}` } }
      const { result = [] } = await service.get("ListUsers", { queries: [named] })
      expect(result.length).toBeLessThanOrEqual(1)
    }
  })
})

describe("a list read page by page during concurrent creation", () => {
  /** How to create a row of each kind, and how to list the rows. */
  const kinds: readonly [
    string,
    (name: string) => Promise<any>,
    (query: object) => Promise<any>,
  ][] = [
    [
      "of users",
      (username) => service.get("CreateUser", { organizationId, username, machine: { name: "m" } }),
      (query) => service.get("ListUsers", { query }),
    ],
    [
      "of users by their names",
      (username) => service.get("CreateUser", { organizationId, username, machine: { name: "m" } }),
      (query) => service.get("ListUsers", { query, sortingColumn: "USER_FIELD_NAME_USER_NAME" }),
    ],
    [
      "of projects",
      (name) => service.get("CreateProject", { organizationId, name }),
      (pagination) => service.get("ListProjects", { pagination }),
    ],
  ]
  const idsIn = (answer: any): readonly string[] =>
    (answer.result ?? answer.projects ?? []).map((row: any) => row.userId ?? row.projectId)

  const ways = kinds.flatMap(([of, ...kind]) => [
    [`${of}, from the oldest on`, true, ...kind] as const,
    [`${of}, from the newest on`, false, ...kind] as const,
  ])

  test.each(ways)("%s, skips and repeats no row", async (method, asc, make, list) => {
    const made: string[] = []
    let isOver = false
    const creators = indexes(16).map(async (creator) => {
      for (let count = 0; count < 40; count++) {
        const answer = await make(
          `${count % 9}-${creator}-${count}-${method.replaceAll(/\W/g, "")}`,
        )
        made.push(answer.id ?? answer.projectId)
      }
    })
    const ended = Promise.all(creators).finally(() => {
      isOver = true
    })
    let overlapped = 0
    do {
      const before = [...made]
      const seen: string[] = []
      for (;;) {
        const page = idsIn(await list({ offset: `${seen.length}`, limit: 7, asc }))
        seen.push(...page)
        if (page.length < 7) break
      }
      const rows = new Set(seen)
      expect(rows.size).toBe(seen.length)
      expect(before.filter((id) => !rows.has(id))).toEqual([])
      if (made.length > before.length) overlapped++
    } while (!isOver)
    await ended
    expect(overlapped).toBeGreaterThan(0)
  })
})
