// How a PostgreSQL response without a row is handled.
import { expect, test } from "vitest"
import type { Append } from "../../src/store/log/log.ts"
import { type PostgresClient, requireRow } from "../../src/store/shared/postgres-client.ts"
import { createReaders } from "../../src/store/shared/postgres-readers.ts"

const client = (answers: (readonly unknown[])[]): PostgresClient => ({
  query: async () => JSON.parse(JSON.stringify(answers.shift() ?? [])),
  listen: async () => undefined,
  close: async () => undefined,
})

const step: Append = {
  instance: "i1",
  time: 0,
  expect: [],
  claims: [],
  events: [
    {
      instance: "i1",
      stream: "account",
      id: "1",
      version: 1,
      type: "account.opened",
      revision: 2,
      data: {},
      private: null,
      time: 0,
      owner: "",
      correlation: "",
      editor: { user: "", client: "" },
      erase: null,
    },
  ],
}

test("a response without a row is a lost connection, and retried", () => {
  expect(requireRow({ has: false })).toEqual({ has: false })
  expect(() => requireRow(undefined)).toThrow(
    expect.objectContaining({ code: "unavailable", id: "store.database_unreachable" }),
  )
})

test("an event type is not readable unless a row says so", async () => {
  const { early } = createReaders(client([[], [{ unread: ["account/account.opened"] }]]), (work) =>
    work(),
  )
  await expect(early([step])).rejects.toMatchObject({ id: "store.database_unreachable" })
  expect(await early([step])).toEqual(new Map([[step, step.events]]))
})
